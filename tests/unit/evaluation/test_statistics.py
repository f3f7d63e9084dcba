import random
from itertools import product
from statistics import fmean

import numpy as np
import pytest

from evaluation.measures.statistics import (
    Difference,
    auc,
    auc_estimate,
    aurc,
    difference,
    exact_share,
    mean,
    median,
    ratio,
    reliability,
    risk_coverage,
)

SCORES = [0.1, 0.4, 0.35, 0.8, 0.4]
LABELS = [False, False, True, True, True]


def drawn(count: int, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [source.random() for _ in range(count)]


def test_auc_counts_ties_half() -> None:
    # Positives .35, .8, .4 against negatives .1, .4: wins 1 + 2 + 1, one tie, of 6 pairs.
    assert auc(LABELS, SCORES) == pytest.approx(4.5 / 6)
    assert auc([True, False], [0.5, 0.5]) == 0.5


def test_aucs_resamples_keep_the_number_of_each_class() -> None:
    positive, negative = [0.2, 0.5, 0.8, 0.9], [0.1, 0.4, 0.6, 0.7]
    exact = [
        fmean(float(one > other) for one, other in product(ones, others))
        for ones in product(positive, repeat=4)
        for others in product(negative, repeat=4)
    ]
    low, high = np.percentile(exact, (2.5, 97.5))
    found = auc_estimate([True] * 4 + [False] * 4, positive + negative)
    assert (found.low, found.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_scores_of_one_example_are_drawn_together() -> None:
    examples = [number for number in range(30) for _ in range(6)]
    scores = [level + 0.001 * place for level in drawn(30, 4) for place in range(6)]
    labels = [number % 2 == 0 for number in examples]
    alone, together = auc_estimate(labels, scores), auc_estimate(labels, scores, [str(number) for number in examples])
    assert alone.value == together.value
    assert (together.high or 0) - (together.low or 0) > 1.7 * ((alone.high or 0) - (alone.low or 0))


def test_the_interval_of_a_mean_is_as_wide_as_theory_says() -> None:
    found = mean([0.0, 1.0] * 100)
    # 1.96 · sqrt(¼ / 200) = 0.069
    assert (found.low, found.high) == (pytest.approx(0.5 - 0.069, abs=0.01), pytest.approx(0.5 + 0.069, abs=0.01))


def test_p_is_that_of_the_sign_flip_test() -> None:
    # Five differences of one sign: 2 of 32 assignments are as extreme.
    ones = [1.0] * 5
    found = difference(([0.9, 0.8, 0.7, 0.9, 0.6], ones), ([0.1, 0.2, 0.3, 0.1, 0.2], ones))
    assert found.value == pytest.approx(0.6)
    assert found.p == pytest.approx(2 / 32, abs=0.01)
    assert (found.low or 0) > 0


def test_the_permutation_of_ratios_exchanges_whole_examples() -> None:
    # One system abstains from both of two unlikely examples, the other from neither: 2 of 4 exchanges are as extreme,
    # the other two leave each with half, a difference of 0.
    found = difference(([2, 2], [2, 2]), ([0, 0], [1, 1]))
    assert found.value == 1
    assert found.p == pytest.approx(0.5, abs=0.02)


def test_calibration_by_hand() -> None:
    found = reliability([False] * 4 + [True] + [True] * 5, [0.1] * 5 + [0.9] * 5)
    assert [(one.score, one.share, one.n) for one in found.bins] == [
        (pytest.approx(0.1), pytest.approx(0.2), 5),
        (pytest.approx(0.9), 1.0, 5),
    ]
    assert found.error == pytest.approx(0.5 * 0.1 + 0.5 * 0.1)
    assert found.brier == pytest.approx((4 * 0.01 + 0.81 + 5 * 0.01) / 10)


def test_equal_scores_share_a_bin_and_bins_are_of_about_equal_count() -> None:
    tied = reliability([True, False] * 25, [1.0] * 50)
    assert [one.n for one in tied.bins] == [50]
    spread = reliability([value > 0.5 for value in drawn(100)], drawn(100, 5))
    assert [one.n for one in spread.bins] == [10] * 10
    assert [one.n for one in reliability([True] * 3, [0.1, 0.2, 0.3]).bins] == [3]


def test_risk_over_coverage_by_hand() -> None:
    found = risk_coverage([0.9, 0.8, 0.8, 0.1], [False, True, False, True], unanswered=1)
    assert [(one.threshold, one.coverage, one.risk) for one in found] == [
        (0.9, 0.2, 0.0),
        (0.8, pytest.approx(0.6), pytest.approx(1 / 3)),
        (0.1, pytest.approx(0.8), 0.5),
    ]


def test_equal_confidences_have_the_risk_of_all_whatever_their_order() -> None:
    level = np.full(4, 0.5)
    for wrong in ([1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]):
        assert aurc(level, np.array(wrong)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("wins", "n", "low", "high"),
    [(8, 10, 0.443905, 0.974789), (0, 5, 0, 0.521824), (5, 5, 0.478176, 1), (300, 1000, 0.271721, 0.329462)],
)
def test_a_share_has_the_interval_of_clopper_and_pearson(wins: int, n: int, low: float, high: float) -> None:
    found = exact_share(wins, n)
    assert (found.value, found.n) == (wins / n, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-5), pytest.approx(high, abs=1e-5))


def test_without_enough_to_go_by_nothing_is_known_and_nothing_fails() -> None:
    for labels in ([], [True], [False, False]):
        scores = [0.5] * len(labels)
        assert (auc(labels, scores), auc_estimate(labels, scores).value) == (None, None)
    for found in (ratio([0, 0], [0, 0]), median([]), exact_share(0, 0)):
        assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)
    assert difference(([], []), ([], [])).value is None
    assert difference(([0.0], [0.0]), ([1.0], [1.0])).p is None
    assert (reliability([], []).bins, risk_coverage([], [])) == ((), ())


def test_a_difference_taken_the_other_way_round_swaps_its_bounds() -> None:
    assert -Difference(0.5, 0.25, 0.75, 9, 0.01) == Difference(-0.5, -0.75, -0.25, 9, 0.01)
    assert -Difference(None, None, None, 0, None) == Difference(None, None, None, 0, None)
