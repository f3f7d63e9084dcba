from pathlib import Path

import pytest

from app.compose import calibration_of, services_of
from app.settings import Settings
from core.types import Verdict
from models import calibration
from models.calibration import EMBEDDED, MINILM, Fit, Fits, expit, log_odds, relevance_features, route_features
from models.model_files import CHAT_MODEL, EMBEDDING_MODEL
from run.context import Thresholds
from tests.scripted import ScriptedRetriever, passage

SURE = Verdict(label="relevant", probabilities={"relevant": 0.99, "irrelevant": 0.01}, reason=None)
DOUBTFUL = Verdict(label="irrelevant", probabilities={"relevant": 0.2, "irrelevant": 0.8}, reason=None)
SUPPORTED = Verdict(
    label="fully supported",
    probabilities={"fully supported": 0.7, "partially supported": 0.1, "no support": 0.2},
    reason=None,
)
DENIED = Verdict(
    label="no support",
    probabilities={"fully supported": 0.02, "partially supported": 0.01, "no support": 0.97},
    reason=None,
)


def test_it_belongs_to_the_embedded_model_and_says_where_it_comes_from() -> None:
    assert EMBEDDED.sha256 == CHAT_MODEL.sha256
    assert "training.fit_critic" in EMBEDDED.provenance["command"]
    assert "1-24" in EMBEDDED.provenance["command"], "tuned on another part than is reported on"
    assert Thresholds(**EMBEDDED.thresholds)


def test_its_regressions_ask_for_evidence_that_there_is_and_believe_what_is_plain() -> None:
    fits, levels = EMBEDDED.fits, EMBEDDED.thresholds
    assert fits.relevance is not None
    assert fits.support is not None
    passages = [passage("The tower is 80 m tall.", similarity=0.8), passage("Rent is paid monthly.", similarity=0.1)]
    sure, doubtful = relevance_features("How tall is the tower?", passages, [SURE, DOUBTFUL])
    assert fits.relevance.probability(sure) > levels["relevant"] > fits.relevance.probability(doubtful)
    both = [fits.supported(one)["probabilities"] or {} for one in (SUPPORTED, DENIED)]
    p_supported, p_denied = (1 - one["no support"] for one in both)
    assert p_supported > levels["supported"] > p_denied
    assert p_supported > levels["verified"]


def test_a_passage_whose_similarity_is_not_known_counts_as_a_usual_one() -> None:
    fit, least = EMBEDDED.fits.relevance, EMBEDDED.thresholds["relevant"]
    assert fit is not None
    undecided = Verdict(label="irrelevant", probabilities={"relevant": 0.46, "irrelevant": 0.54}, reason=None)
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


def test_the_gate_belongs_to_the_embedding_model_and_says_where_it_comes_from() -> None:
    assert MINILM.sha256 == EMBEDDING_MODEL.sha256
    assert "training.fit_gate" in MINILM.provenance["command"]
    assert "1-24" in MINILM.provenance["command"], "tuned on another part than is reported on"
    assert MINILM.provenance["lost_held_out"] == "0"
    assert Thresholds(**MINILM.thresholds)


def test_the_gate_spares_what_is_behind_in_meaning_and_in_words_and_no_passage_for_either_alone() -> None:
    question, levels = "How tall is the old tower?", Thresholds(**MINILM.thresholds)
    tower = passage("The old tower is 80 m tall.", similarity=0.7)
    described = passage("It rises 80 metres above the town.", similarity=0.6)
    named = passage("An old tower, and how tall it is, is all they ask for.", similarity=0.45)
    lease = passage("Rent is paid monthly.", similarity=0.3)
    assert MINILM.fits.unlikely(question, [tower, described, named, lease], levels.graded, levels.similar) == {
        lease["id"]
    }


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


def test_what_the_search_finds_counts_in_the_route() -> None:
    unsure = Verdict(label="direct", probabilities={"retrieve": 0.4, "direct": 0.6}, reason=None)
    near = ROUTE.routed(unsure, {"similarity": 0.8, "coverage": 0.5})
    assert near["label"] == "retrieve"
    assert near["probabilities"] == pytest.approx(
        {
            "retrieve": expit(-1 + log_odds(unsure, "retrieve") + 2.1),
            "direct": expit(1 - log_odds(unsure, "retrieve") - 2.1),
        }
    )
    assert ROUTE.routed(unsure, {"similarity": 0.0, "coverage": 0.0})["label"] == "direct"


@pytest.mark.parametrize(
    ("fits", "verdict", "features"),
    [
        (Fits(), Verdict(label="direct", probabilities={"retrieve": 0.4, "direct": 0.6}, reason=None), {}),
        (ROUTE, Verdict(label="direct", probabilities=None, reason=None), {"similarity": 0.8, "coverage": 0.5}),
        (ROUTE, Verdict(label="direct", probabilities={"retrieve": 0.4, "direct": 0.6}, reason=None), None),
    ],
)
def test_without_a_regression_probabilities_or_a_search_the_critic_decides(
    fits: Fits, verdict: Verdict, features: dict[str, float] | None
) -> None:
    assert fits.routed(verdict, features) == verdict


def test_how_near_a_search_comes_is_its_best_cosine_and_coverage() -> None:
    found = [passage("The rent is due in March.", similarity=0.2), passage("The sea is salt.", similarity=0.7)]
    assert route_features("When is the rent due?", found) == {"similarity": 0.7, "coverage": 1.0}
    assert route_features("Why?", []) is None
    assert route_features("Why?", [passage("a"), passage("b", similarity=0.5)]) is None


def test_words_of_the_headings_above_a_passage_count_as_covered() -> None:
    text = passage("Newline in constant.")
    above = passage("Newline in constant.", title="Compiler errors", heading="C2001")
    plain, sectioned = (
        relevance_features("What is compiler error C2001?", [one], [SURE])[0]["coverage"] for one in (text, above)
    )
    assert (plain, sectioned) == (0.0, 1.0)
