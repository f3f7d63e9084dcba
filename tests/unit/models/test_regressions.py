import math

import pytest

from core.types import Passage, Verdict
from models.calibration import (
    MAX_COVERAGE_BEHIND,
    Fit,
    Fits,
    coverage,
    expit,
    log_odds,
    relevance_features,
    search_features,
    too_unlikely,
)
from tests.scripted import passage


def verdict(**probabilities: float) -> Verdict:
    named = {name.replace("_", " "): p for name, p in probabilities.items()}
    return Verdict(label=max(named, key=lambda name: named[name]), probabilities=named, reason="why")


YES = verdict(relevant=0.9, irrelevant=0.1)
NO = verdict(relevant=0.2, irrelevant=0.8)
UNASKED = Verdict(label="irrelevant", probabilities=None, reason=None)


def test_a_regression_is_the_logistic_function_of_the_weighted_evidence() -> None:
    fit = Fit(intercept=-1.0, coefficients={"log_odds": 2.0, "rank": -0.5})
    assert fit.probability({"log_odds": 1.0, "rank": 2.0, "other": 9.0}) == pytest.approx(0.5)
    assert fit.probability({"log_odds": 3.0, "rank": 0.0}) == pytest.approx(1 / (1 + math.exp(-5)))


def test_evidence_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError, match="rank"):
        Fit(intercept=0, coefficients={"rank": 1}).probability({"log_odds": 1.0})


def test_without_regressions_nothing_changes() -> None:
    support = verdict(fully_supported=0.6, partially_supported=0.3, no_support=0.1)
    assert Fits().relevant([YES, UNASKED], [{}, {}]) == [YES, UNASKED]
    assert Fits().supported(support) == support


def test_relevance_is_what_the_regression_says_and_a_verdict_without_probabilities_stays() -> None:
    fits = Fits(relevance=Fit(intercept=0, coefficients={"log_odds": -1.0}))
    found = fits.relevant([YES, UNASKED], [{"log_odds": 2.0}, {"log_odds": 2.0}])
    assert found[0]["label"] == "irrelevant"
    assert found[0]["probabilities"] == pytest.approx({"relevant": expit(-2), "irrelevant": expit(2)})
    assert found[0]["reason"] == "why"
    assert found[1] == UNASKED


@pytest.mark.parametrize("odds", [-20.0, -0.3, 0.0, 4.0])
@pytest.mark.parametrize(("full", "part"), [(0.5, 0.5), (1.0, 1.0), (0.0, 0.4), (0.3, 0.0), (0.0, 0.0)])
def test_support_moves_between_no_support_and_the_rest_whose_shares_stay(full: float, part: float, odds: float) -> None:
    full, part = full * 0.9, (1 - full * 0.9) * part
    before = verdict(fully_supported=full, partially_supported=part, no_support=1 - full - part)
    after = Fits(support=Fit(intercept=odds, coefficients={})).supported(before)["probabilities"]
    assert after is not None
    assert sum(after.values()) == pytest.approx(1)
    assert after["no support"] == pytest.approx(expit(-odds))
    if full + part:
        assert after["fully supported"] * part == pytest.approx(after["partially supported"] * full, abs=1e-9)


def test_log_odds_of_several_labels_are_of_their_sum_and_bounded() -> None:
    support = verdict(fully_supported=0.5, partially_supported=0.25, no_support=0.25)
    assert log_odds(support, "fully supported", "partially supported") == pytest.approx(math.log(3))
    assert log_odds(verdict(relevant=1.0, irrelevant=0.0), "relevant") == pytest.approx(math.log(9999))
    assert log_odds(UNASKED, "relevant") == 0


def test_what_is_known_of_a_passage() -> None:
    passages = [passage("The tower is 80 m tall.", similarity=None), passage("Rent is paid monthly.", similarity=0.4)]
    first, second = relevance_features("How tall is the old tower?", passages, [NO, YES])
    assert first == pytest.approx(
        {"log_odds": math.log(0.25), "behind_best": math.log(9) - math.log(0.25), "similarity": 0.52, "coverage": 2 / 3}
    )
    assert second == pytest.approx({"log_odds": math.log(9), "behind_best": 0, "similarity": 0.4, "coverage": 0})
    assert relevance_features("How tall is the old tower?", [], []) == []


def test_what_the_search_tells_is_against_the_best_of_it_in_each_respect() -> None:
    passages = [passage("The tower is 80 m tall.", similarity=0.5), passage("Rent is paid monthly.", similarity=0.6)]
    first, second = search_features("How tall is the old tower?", passages)
    assert first == pytest.approx({"similarity": 0.5, "similarity_behind": 0.1, "coverage_behind": 0})
    assert second == pytest.approx({"similarity": 0.6, "similarity_behind": 0, "coverage_behind": MAX_COVERAGE_BEHIND})
    half = search_features("tower rent", [passage("tower rent", similarity=0.5), passage("tower", similarity=0.5)])
    assert half[1]["coverage_behind"] == MAX_COVERAGE_BEHIND < 0.5
    ninth = search_features("a1 b2 c3 d4 e5", [passage("a1 b2 c3 d4 e5"), passage("a1 b2 c3 d4")])
    assert ninth[1]["coverage_behind"] == pytest.approx(0.2)
    assert search_features("How tall is the old tower?", []) == []


@pytest.mark.parametrize(
    ("chances", "cosines", "least", "similar", "spared"),
    [
        ([0.5, 0.09, 0.1], [0.5, 0.5, 0.5], 0.1, 0.2, [False, True, False]),
        ([0.5, 0.4, 0.3], [0.5, 0.2, 0.19], 0.1, 0.2, [False, False, True]),
        ([0.01, 0.02, 0.02], [0.1, 0.1, 0.1], 0.1, 0.2, [True, False, False]),
        ([0.01], [0.1], 1.0, 1.0, [False]),
        ([0.0, 0.5], [-0.9, 0.0], 0.0, -1.0, [False, False]),
        ([], [], 0.1, 0.2, []),
    ],
)
def test_what_is_too_unlikely_is_below_either_least_and_never_the_best(
    chances: list[float], cosines: list[float], least: float, similar: float, spared: list[bool]
) -> None:
    assert too_unlikely(chances, [{"similarity": one} for one in cosines], least, similar) == spared


GATE = Fits(gate=Fit(intercept=0, coefficients={"similarity_behind": -10}))
NEAR, FAR = passage("a", similarity=0.6), passage("b", similarity=0.2)


@pytest.mark.parametrize(
    ("fits", "passages", "least", "unlikely"),
    [
        (GATE, [NEAR, FAR], expit(-4) + 1e-6, {"b"}),
        (GATE, [NEAR, FAR], expit(-4) - 1e-6, set()),
        (GATE, [FAR], 0.9, set()),
        (GATE, [NEAR, FAR, passage("c", similarity=None)], 0.9, set()),
        (GATE, [], 0.9, set()),
        (Fits(), [NEAR, FAR], 0.9, set()),
    ],
)
def test_a_passage_is_hopeless_when_the_gate_knows_it_and_gives_it_too_little(
    fits: Fits, passages: list[Passage], least: float, unlikely: set[str]
) -> None:
    assert fits.unlikely("Why?", passages, least, -1.0) == unlikely


def test_a_share_of_nothing_is_nothing() -> None:
    assert coverage(set(), {"a"}) == 0
    assert coverage({"a", "b"}, {"b"}) == 0.5
