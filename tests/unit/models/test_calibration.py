import pytest

from app.compose import calibration_of
from app.settings import Settings
from evidence.fit import relevance_evidence, support_evidence
from graph.context import Thresholds
from models.calibration import EMBEDDED
from models.files import CHAT_MODEL
from prompts.choice import Verdict

SURE = Verdict(label="relevant", probabilities={"relevant": 0.99, "irrelevant": 0.01}, reason=None)
DOUBTFUL = Verdict(label="irrelevant", probabilities={"relevant": 0.2, "irrelevant": 0.8}, reason=None)
SUPPORTED = Verdict(
    label="fully supported",
    probabilities={"fully supported": 0.95, "partially supported": 0.03, "no support": 0.02},
    reason=None,
)


def test_it_belongs_to_the_embedded_model_and_says_where_it_comes_from() -> None:
    assert EMBEDDED.sha256 == CHAT_MODEL.sha256
    assert "benchmarks.fit_critic" in EMBEDDED.provenance["command"]
    assert "1-24" in EMBEDDED.provenance["command"], "tuned on another part than is reported on"
    assert Thresholds(**EMBEDDED.thresholds)


def test_its_regressions_ask_for_evidence_that_there_is_and_believe_what_is_plain() -> None:
    fits, levels = EMBEDDED.fits, EMBEDDED.thresholds
    assert fits.relevance is not None
    assert fits.support is not None
    question, text = "How tall is the tower?", "The tower is 80 m tall."
    sure = relevance_evidence(question, text, SURE, 4.6, 0.8, 0)
    doubtful = relevance_evidence(question, "Rent is paid monthly.", DOUBTFUL, 4.6, 0.1, 3)
    assert fits.relevance.probability(sure) > levels["relevant"] > fits.relevance.probability(doubtful)
    for relevance, holds in ((3.0, True), (-4.0, False)):
        evidence = support_evidence(question, "It is 80 m tall.", text, SUPPORTED, relevance)
        assert (fits.support.probability(evidence) >= levels["supported"]) == holds


@pytest.mark.parametrize(
    ("critic", "path", "calibrated"),
    [("embedded", None, True), ("gpt-4o-mini", None, False), ("embedded", "/models/other.gguf", False)],
)
def test_another_model_has_none(critic: str, path: str | None, calibrated: bool) -> None:
    settings = Settings(selfrag_model_path=path)  # type: ignore[arg-type]
    assert (calibration_of(critic, settings) is not None) == calibrated
