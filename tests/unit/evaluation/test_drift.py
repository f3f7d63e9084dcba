import numpy as np
import pytest

from evaluation.measures.drift import Drift, drift, same_distribution

LABELLED = np.random.default_rng(0).beta(4, 2, 80).tolist()


def of(n: int, a: float, b: float, seed: int = 1) -> list[float]:
    return np.random.default_rng(seed).beta(a, b, n).tolist()  # type: ignore[no-any-return]


def test_what_is_like_the_labels_is_no_drift() -> None:
    assert drift(LABELLED, of(100, 4, 2), 20, 2, 0.1).sentences == []
    assert same_distribution(LABELLED, LABELLED) == 1.0


def test_another_distribution_of_the_confidence_is_noticed() -> None:
    found = drift(LABELLED, of(100, 2, 4), 0, 0, 0.1)
    assert (found.moved, found.worse) == (True, False)
    assert "100 answers" in found.sentences[0]


def test_more_wrong_answers_than_the_risk_are_noticed_and_few_may_be_chance() -> None:
    assert not drift(LABELLED, [], 4, 3, 0.1).worse
    found = drift(LABELLED, [], 30, 12, 0.1)
    assert (found.moved, found.worse) == (False, True)
    assert "30 judged answers since the calibration 12 are not right" in found.sentences[0]


def test_a_few_answers_say_nothing_of_their_distribution() -> None:
    assert drift(LABELLED, [0.01] * 9, 0, 0, 0.1) == Drift(9, 0, 0, 0.1, moved=False, worse=False)


def test_p_is_as_small_as_it_says_and_no_smaller() -> None:
    """Of draws from one distribution a share p has a p so small: for 60 and 45 values, in 2,000 draws."""
    dice = np.random.default_rng(3)
    ps = [same_distribution(dice.random(60).tolist(), dice.random(45).tolist()) for _ in range(2_000)]
    assert np.mean(np.array(ps) < 0.05) == pytest.approx(0.05, abs=0.015)


def test_chance_alone_hardly_ever_gives_an_alarm() -> None:
    """In weekly checks of 40 years; a sum over all days is at most one a year, as each check is at `ALARM`."""
    dice = np.random.default_rng(4)
    years = 0
    for _ in range(40):
        labelled, answers, wrong = dice.random(80).tolist(), dice.random(3 * 365).tolist(), dice.random(365) < 0.1
        checks = (drift(labelled, answers[: 3 * day], day, int(wrong[:day].sum()), 0.1) for day in range(1, 365, 7))
        years += any(one.moved or one.worse for one in checks)
    assert years <= 4
