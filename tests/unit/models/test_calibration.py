import math
from pathlib import Path
from typing import Any

import pytest

from app.compose import calibration_of, services_of
from app.settings import Settings
from core.types import Passage, Verdict
from models import calibration
from models.calibration import (
    EMBEDDED,
    MAX_COVERAGE_BEHIND,
    MINILM,
    Fit,
    Fits,
    expit,
    log_odds,
    relevance_features,
    route_features,
    search_features,
)
from models.model_files import CHAT_MODEL, EMBEDDING_MODEL
from run.context import Thresholds
from tests.scripted import ScriptedRetriever, passage


def verdict(**probabilities: float) -> Verdict:
    named = {name.replace("_", " "): p for name, p in probabilities.items()}
    return Verdict(label=max(named, key=lambda name: named[name]), probabilities=named, reason="why")


YES, NO = verdict(relevant=0.9, irrelevant=0.1), verdict(relevant=0.2, irrelevant=0.8)
UNASKED = Verdict(label="irrelevant", probabilities=None, reason=None)
TOWER, RENT = "The tower is 80 m tall.", "Rent is paid monthly."


@pytest.mark.parametrize(
    ("made", "sha256", "command"),
    [(EMBEDDED, CHAT_MODEL.sha256, "training.fit_critic"), (MINILM, EMBEDDING_MODEL.sha256, "training.fit_gate")],
)
def test_a_calibration_belongs_to_its_model_and_says_where_it_comes_from(made: Any, sha256: str, command: str) -> None:
    assert made.sha256 == sha256
    assert command in made.provenance["command"]
    assert "1-24" in made.provenance["command"], "tuned on another part than is reported on"
    assert Thresholds(**made.thresholds)
    assert MINILM.provenance["lost_held_out"] == "0"


def test_the_embedded_regressions_ask_for_evidence_that_there_is_and_believe_what_is_plain() -> None:
    fits, levels = EMBEDDED.fits, EMBEDDED.thresholds
    assert fits.relevance is not None
    passages = [passage(TOWER, similarity=0.8), passage(RENT, similarity=0.1)]
    sure, doubtful = relevance_features("How tall is the tower?", passages, [YES, NO])
    assert fits.relevance.probability(sure) > levels["relevant"] > fits.relevance.probability(doubtful)
    likely = verdict(fully_supported=0.7, partially_supported=0.1, no_support=0.2)
    denied = verdict(fully_supported=0.02, partially_supported=0.01, no_support=0.97)
    both = [fits.supported(one)["probabilities"] or {} for one in (likely, denied)]
    p_supported, p_denied = (1 - one["no support"] for one in both)
    assert p_supported > levels["supported"] > p_denied
    assert p_supported > levels["verified"]


def test_a_passage_whose_similarity_is_not_known_counts_as_a_usual_one() -> None:
    fit, least = EMBEDDED.fits.relevance, EMBEDDED.thresholds["relevant"]
    assert fit is not None
    undecided = verdict(relevant=0.4, irrelevant=0.6)
    none, usual, far = (passage("A child ticket costs 6 euros.", similarity=one) for one in (None, 0.52, 0.0))
    found = [relevance_features("How much is a child ticket?", [one], [undecided])[0] for one in (none, usual, far)]
    assert found[0] == found[1]
    assert fit.probability(found[0]) > least > fit.probability(found[2])


@pytest.mark.parametrize(
    ("critic", "path", "calibrated"),
    [("embedded", None, True), ("gpt-4o-mini", None, False), ("embedded", "/models/other.gguf", False)],
)
def test_another_model_has_none(critic: str, path: str | None, calibrated: bool) -> None:
    settings = Settings(selfrag_model_path=path)  # type: ignore[arg-type]
    assert (calibration_of(critic, settings) is not None) == calibrated


def test_every_adapter_there_is_is_used() -> None:
    assert {path.stem for path in calibration.adapter_file("any").parent.glob("*.gguf")} == set(EMBEDDED.adapters)


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_without_an_intact_adapter_nothing_is_calibrated_and_one_warning_says_so(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for choice in EMBEDDED.adapters:
        copy = bytearray(calibration.adapter_file(choice).read_bytes())
        copy[-1] ^= 1
        (tmp_path / f"{choice}.gguf").write_bytes(copy)
    if damage == "missing":
        next(tmp_path.glob("*.gguf")).unlink()
    monkeypatch.setattr(calibration, "adapter_file", lambda choice: tmp_path / f"{choice}.gguf")
    calibration.adapters_are_intact.cache_clear()
    try:
        assert [calibration_of("embedded", Settings(selfrag_model_path=None)) for _ in range(2)] == [None, None]
    finally:
        calibration.adapters_are_intact.cache_clear()
    (warned,) = caplog.records
    assert "install Self-RAG again" in warned.getMessage()


def test_the_gate_spares_what_is_behind_in_meaning_and_in_words_and_no_passage_for_either_alone() -> None:
    question, levels = "How tall is the old tower?", Thresholds(**MINILM.thresholds)
    tower = passage("The old tower is 80 m tall.", similarity=0.7)
    described = passage("It rises 80 metres above the town.", similarity=0.6)
    named = passage("An old tower, and how tall it is, is all they ask for.", similarity=0.45)
    lease = passage("Rent is paid monthly.", similarity=0.3)
    unlikely = MINILM.fits.unlikely(question, [tower, described, named, lease], levels.graded, levels.similar)
    assert unlikely == {lease["id"]}


@pytest.mark.parametrize(
    ("chat", "embedding", "gated"),
    [("gpt-4o-mini", None, True), ("other", None, True), ("gpt-4o-mini", "openai:text-embedding-3-small", False)],
)
def test_the_gate_is_on_with_any_chat_model_and_off_with_another_embedding_model(
    chat: str, embedding: str | None, gated: bool
) -> None:
    settings = Settings(
        openai_base_url="http://127.0.0.1:9/v1",
        openai_api_key="none",
        selfrag_chat_model=chat,
        selfrag_embedding_model=embedding,
    )
    made = services_of(settings, ScriptedRetriever())
    assert (made.fits.gate is not None) == gated
    assert (made.thresholds.graded > 0) == (made.thresholds.similar > -1) == gated


ROUTE = Fits(route=Fit(intercept=-1.0, coefficients={"log_odds": 1.0, "similarity": 2.0, "coverage": 1.0}))
UNSURE = Verdict(label="direct", probabilities={"retrieve": 0.4, "direct": 0.6}, reason=None)
NEARBY = {"similarity": 0.8, "coverage": 0.5}


def test_what_the_search_finds_counts_in_the_route() -> None:
    near = ROUTE.routed(UNSURE, NEARBY)
    p = expit(-1 + log_odds(UNSURE, "retrieve") + 2.1)
    assert near["label"] == "retrieve"
    assert near["probabilities"] == pytest.approx({"retrieve": p, "direct": 1 - p})
    assert ROUTE.routed(UNSURE, {"similarity": 0.0, "coverage": 0.0})["label"] == "direct"


@pytest.mark.parametrize(
    ("fits", "asked", "features"), [(Fits(), UNSURE, {}), (ROUTE, UNASKED, NEARBY), (ROUTE, UNSURE, None)]
)
def test_without_a_regression_probabilities_or_a_search_the_critic_decides(
    fits: Fits, asked: Verdict, features: dict[str, float] | None
) -> None:
    assert fits.routed(asked, features) == asked


def test_how_near_a_search_comes_is_its_best_cosine_and_coverage() -> None:
    found = [passage("The rent is due in March.", similarity=0.2), passage("The sea is salt.", similarity=0.7)]
    assert route_features("When is the rent due?", found) == {"similarity": 0.7, "coverage": 1.0}
    assert route_features("Why?", []) is None
    assert route_features("Why?", [passage("a"), passage("b", similarity=0.5)]) is None


def test_words_of_the_headings_above_a_passage_count_as_covered() -> None:
    text = passage("Newline in constant.")
    above = passage("Newline in constant.", title="Compiler errors", heading="C2001")
    plain, sectioned = (
        relevance_features("What is compiler error C2001?", [one], [YES])[0]["coverage"] for one in (text, above)
    )
    assert (plain, sectioned) == (0.0, 1.0)


def test_a_regression_is_the_logistic_function_of_the_weighted_evidence() -> None:
    fit = Fit(intercept=-1.0, coefficients={"log_odds": 2.0, "rank": -0.5})
    assert fit.probability({"log_odds": 1.0, "rank": 2.0, "other": 9.0}) == pytest.approx(0.5)
    assert fit.probability({"log_odds": 3.0, "rank": 0.0}) == pytest.approx(1 / (1 + math.exp(-5)))
    with pytest.raises(KeyError, match="rank"):
        fit.probability({"log_odds": 1.0})


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
    passages = [passage(TOWER, similarity=None), passage(RENT, similarity=0.4)]
    first, second = relevance_features("How tall is the old tower?", passages, [NO, YES])
    assert first == pytest.approx(
        {"log_odds": math.log(0.25), "behind_best": math.log(9) - math.log(0.25), "similarity": 0.52, "coverage": 2 / 3}
    )
    assert second == pytest.approx({"log_odds": math.log(9), "behind_best": 0, "similarity": 0.4, "coverage": 0})
    assert relevance_features("How tall is the old tower?", [], []) == []


def test_what_the_search_tells_is_against_the_best_of_it_in_each_respect() -> None:
    passages = [passage(TOWER, similarity=0.5), passage(RENT, similarity=0.6)]
    first, second = search_features("How tall is the old tower?", passages)
    assert first == pytest.approx({"similarity": 0.5, "similarity_behind": 0.1, "coverage_behind": 0})
    assert second == pytest.approx({"similarity": 0.6, "similarity_behind": 0, "coverage_behind": MAX_COVERAGE_BEHIND})
    half = search_features("tower rent", [passage("tower rent", similarity=0.5), passage("tower", similarity=0.5)])
    assert half[1]["coverage_behind"] == MAX_COVERAGE_BEHIND < 0.5
    ninth = search_features("a1 b2 c3 d4 e5", [passage("a1 b2 c3 d4 e5"), passage("a1 b2 c3 d4")])
    assert ninth[1]["coverage_behind"] == pytest.approx(0.2)
    assert search_features("How tall is the old tower?", []) == []


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
