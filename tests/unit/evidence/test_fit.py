import math

import pytest

from evidence.fit import Fit, Fits, coverage, expit, log_odds, relevance_evidence, support_evidence
from prompts.choice import Verdict
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
    assert Fits().supported(support, {}) == support


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
    fits = Fits(support=Fit(intercept=odds, coefficients={}))
    after = fits.supported(before, {})["probabilities"]
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
    first, second = relevance_evidence("How tall is the old tower?", passages, [NO, YES])
    assert first == pytest.approx(
        {"log_odds": math.log(0.25), "behind_best": math.log(9) - math.log(0.25), "similarity": 0, "coverage": 2 / 3}
    )
    assert second == pytest.approx({"log_odds": math.log(9), "behind_best": 0, "similarity": 0.4, "coverage": 0})
    assert relevance_evidence("How tall is the old tower?", [], []) == []


def test_what_is_known_of_a_claim() -> None:
    support = verdict(fully_supported=0.5, partially_supported=0.0, no_support=0.5)
    assert support_evidence(support, [NO, YES, UNASKED]) == pytest.approx({"log_odds": 0, "relevance": math.log(9)})
    assert support_evidence(support, [])["relevance"] == 0


def test_a_share_of_nothing_is_nothing() -> None:
    assert coverage(set(), {"a"}) == 0
    assert coverage({"a", "b"}, {"b"}) == 0.5
