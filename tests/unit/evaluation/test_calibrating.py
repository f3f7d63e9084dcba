from dataclasses import replace

import numpy as np
import pytest

from core.errors import RequestError
from evaluation.calibrating import CUTS, FOLDS, JudgedReply, Trial, fit_calibration, fit_of, folds, usable
from evaluation.records import Example
from models.calibration import Fit, Fits, expit, logit
from run.context import Thresholds
from tests.scripted import verdict

NOTHING = JudgedReply(answered=False, right=False)


def trials(n: int, *, slope: float = 1.0, intercept: float = 0.0, seed: int = 1, groups: int = 40) -> list[Trial]:
    """Answers whose log-odds of being right are ``slope`` times those of the confidence, plus ``intercept``."""
    dice = np.random.default_rng(seed)
    made = []
    for number in range(n):
        odds = float(dice.normal(0.5, 2.0))
        right = bool(dice.random() < expit(slope * odds + intercept))
        said = JudgedReply(answered=True, right=right)
        at = tuple(said if expit(odds) >= cut else NOTHING for cut in CUTS)
        references = ("yes",) if right or number % 2 else ()
        example = Example(str(number), "?", answerable=bool(references), references=references)
        made.append(Trial(example, f"document {number % groups}", f"passage {number}", expit(odds), at[0], at))
    return [one for one in made if one.at[0].answered]


def test_a_known_distortion_is_found_and_taken_back() -> None:
    made = fit_calibration(trials(1_500, slope=2.5, intercept=-3.0))
    assert made.slope == pytest.approx(2.5, rel=0.15)
    assert made.intercept == pytest.approx(-3.0, rel=0.15)
    assert made.better
    assert made.after.calibration_error < 0.05 < made.before.calibration_error


def test_a_confidence_that_is_right_already_is_left_alone() -> None:
    assert not fit_calibration(trials(60, seed=4)).better


def test_the_questions_of_one_document_are_told_apart_by_their_passages() -> None:
    assert fit_calibration(trials(400, slope=2.5, intercept=-3.0, groups=1)).better


def test_a_confidence_that_is_higher_for_wrong_answers_is_left_alone() -> None:
    """A falling scale would refuse the answers that the cut was measured on, and give the others."""
    made = fit_calibration(trials(400, slope=-1.0))
    assert made.slope < 0
    assert made.after.log_loss.value < made.before.log_loss.value
    assert not made.better


def test_right_answers_above_and_wrong_ones_below_give_no_infinite_slope() -> None:
    rows = [
        replace(one, at=(JudgedReply(answered=True, right=one.confidence > 0.5),) * len(CUTS)) for one in trials(40)
    ]
    slope, intercept = fit_of(rows)
    assert 0 < slope < 50
    assert abs(intercept) < 50


def test_verdicts_of_a_run_are_scaled_with_or_without_probabilities_and_the_cut_stays_where_it_was() -> None:
    made = fit_calibration(trials(400, slope=0.5, intercept=1.0))
    base = Fits(support=Fit(intercept=0.3, coefficients={"log_odds": 0.7}))
    raw = verdict("fully supported", {"fully supported": 0.6, "partially supported": 0.2, "no support": 0.2})
    before = base.supported(raw)["probabilities"]
    after = made.fits(base).supported(raw)["probabilities"]
    assert before is not None
    assert after is not None
    wanted = expit(made.slope * logit(1 - before["no support"]) + made.intercept)
    assert 1 - after["no support"] == pytest.approx(wanted)
    thresholds = made.thresholds(Thresholds(relevant=0.4, supported=0.28, verified=0.3, segment=0.3, not_english=0.5))
    assert thresholds.supported == pytest.approx(expit(made.slope * logit(CUTS[made.cut]) + made.intercept))
    assert thresholds.verified == thresholds.segment == pytest.approx(expit(made.slope * logit(0.3) + made.intercept))
    assert (thresholds.relevant, thresholds.yes_or_no, thresholds.not_english) == (0.4, 0.0, 0.0)
    labels = ("no support", "partially supported", "fully supported")
    bare = [made.fits(Fits()).supported(verdict(label))["probabilities"] for label in labels]
    none, part, full = (1 - (found or {"no support": 1.0})["no support"] for found in bare)
    assert full > part > none > 0
    assert made.fits(Fits()).supported(verdict("unknown")) == verdict("unknown")


def test_the_guaranteed_cut_keeps_to_the_risk_where_the_labels_can_show_it() -> None:
    kept = fit_calibration(trials(400, slope=1.5), risk=0.1).guarantee
    assert kept is not None
    assert kept.risk == kept.asked == 0.1
    assert kept.wrong / kept.answered < 0.1
    few = fit_calibration(trials(60, slope=4.0), risk=0.02).guarantee
    assert few is not None
    assert few.risk > few.asked == 0.02


def test_no_cut_is_guaranteed_where_the_surest_answers_are_wrong() -> None:
    with pytest.raises(RequestError, match=r"sure to keep the share of wrong answers to 0\.10"):
        fit_calibration(trials(500, slope=0.0), risk=0.1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (trials(3), "there are 3 answers"),
        ([one for one in trials(200) if one.at[0].right], "answers are right"),
        ([one for one in trials(200) if not one.at[0].right], "answers are wrong"),
    ],
)
def test_labels_on_which_nothing_can_be_fitted(given: list[Trial], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        fit_calibration(given)


def test_a_document_is_in_one_fold_and_the_folds_are_alike() -> None:
    names = [f"document {number % 13}" for number in range(130)]
    found = folds(names)
    sizes = [sum(found[name] == fold for name in names) for fold in range(FOLDS)]
    assert max(sizes) - min(sizes) <= 10


def test_only_what_says_what_is_right_is_a_label() -> None:
    answer, none = Example("1", "a?", references=("x",)), Example("2", "b?", answerable=False)
    assert usable([answer, none, Example("3", "c?"), Example("4", "d?", answerable=True)]) == [answer, none]
