import numpy as np
import pytest

from evaluation.calibrating import CUTS
from evaluation.measures.guarantee import BEGIN, highest_risk, labels_needed, least_risk, lowest_cut

DRAWS = 200
LABELS = 1_000


def population(n: int, dice: np.random.Generator, *, steepness: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw confidences, and whether the answers are wrong: at steepness 1 the confidence is the probability."""
    odds = dice.normal(1.0, 2.0, n)
    return 1 / (1 + np.exp(-odds)), dice.random(n) > 1 / (1 + np.exp(-steepness * odds - 0.5))


def counts(confidence: np.ndarray, wrong: np.ndarray) -> list[tuple[int, int]]:
    return [(int((confidence >= cut).sum()), int(wrong[confidence >= cut].sum())) for cut in CUTS]


@pytest.mark.parametrize(("steepness", "risk"), [(1.0, 0.1), (0.6, 0.2), (0.0, 0.35)])
def test_the_risk_is_exceeded_in_at_most_a_tenth_of_the_draws_and_answers_are_not_thrown_away(
    steepness: float, risk: float
) -> None:
    dice = np.random.default_rng(1)
    all_of_them = counts(*population(400_000, dice, steepness=steepness))
    true_risk = [wrong / max(1, answered) for answered, wrong in all_of_them]
    share = [answered / 400_000 for answered, _ in all_of_them]
    best = max((one for one, true in zip(share, true_risk, strict=True) if true <= risk), default=0.0)
    chosen = [lowest_cut(counts(*population(LABELS, dice, steepness=steepness)), risk) for _ in range(DRAWS)]
    exceeded = sum(true_risk[cut] > risk for cut in chosen if cut is not None)
    assert exceeded <= DRAWS / 10
    assert np.mean([0.0 if cut is None else share[cut] for cut in chosen]) >= best - 0.1


FEWEST = BEGIN * labels_needed(0.1)


@pytest.mark.parametrize(
    ("counts", "cut"),
    [
        ([(200, 80), (150, 60), (100, 40)], None),  # every cut has more risk
        ([(400, 10), (200, 60), (100, 1)], 2),  # the lowest has little by chance, but the one above it failed
        ([(FEWEST - 1, 0)], None),
        ([(FEWEST, 0)], 0),
    ],
)
def test_the_lowest_cut_is_above_the_first_that_fails_of_those_with_enough_answers(
    counts: list[tuple[int, int]], cut: int | None
) -> None:
    assert lowest_cut(counts, 0.1) == cut


@pytest.mark.parametrize(("risk", "needed"), [(0.05, 45), (0.1, 22), (0.2, 11)])
def test_so_many_right_answers_show_a_risk(risk: float, needed: int) -> None:
    assert labels_needed(risk) == needed
    assert highest_risk(0, needed) <= risk < highest_risk(0, needed - 1)
    assert least_risk(needed) <= risk < least_risk(needed - 1)
    assert highest_risk(needed, needed) == highest_risk(0, 0) == 1.0
