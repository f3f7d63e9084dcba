from typing import Any

import numpy as np
import pytest

from core.types import Verdict
from evaluation.records import Example, Gold
from models.calibration import expit
from tests.scripted import draft, passage, verdict
from training.fit_critic import Row, claim_rows, fitted, passage_rows, thresholds

TOWER = "The tower is 80 m tall. It was built in 1911."
LEASE = "The lease runs for five years. The rent is paid monthly."
ASKED = Example(
    "a", "How tall is the tower?", answerable=True, references=("80 m",), gold=(Gold(source="tower.txt", text="80 m"),)
)
UNANSWERABLE = Example("b", "Who built the tower?", answerable=False, plausible=("1911",))


def yes(p: float) -> Verdict:
    return verdict("relevant", {"relevant": p, "irrelevant": 1 - p})


def trace(text: str, quote: tuple[int, int]) -> dict[str, Any]:
    """A question whose draft is one claim, with its quote in the first passage."""
    support = {"fully supported": 0.7, "partially supported": 0.1, "no support": 0.2}
    texts = {"tower.txt": TOWER, "lease.txt": LEASE, "rope.txt": "80 m of rope"}
    passages = [passage(found, id=name, source=name, similarity=0.5) for name, found in texts.items()]
    claim = {
        "text": text,
        "context": "",
        "verdict": verdict("fully supported", support),
        "quote": {"passage": "tower.txt", "start": quote[0], "end": quote[1]},
    }
    return {
        "passages": passages,
        "verdicts": {"tower.txt": yes(0.9), "lease.txt": verdict("irrelevant"), "rope.txt": yes(0.6)},
        "drafts": [draft(text) | {"passages": passages[:1]}],
        "claims": [[claim]],
    }


TRACES = {"a": trace("It is 80 m tall.", (0, 23)), "b": trace("It was built in 1911.", (24, 45))}


def test_a_passage_is_positive_when_it_is_of_the_gold_source_and_holds_the_answer() -> None:
    rows = passage_rows([ASKED, UNANSWERABLE], TRACES)
    # The rope holds the answer's words by chance and is left out; the lease was not graded.
    assert [one.label for one in rows] == [True, False, False]
    assert [one.evidence["behind_best"] == 0 for one in rows] == [True, True, False]


def test_a_claim_is_right_when_its_draft_holds_a_reference_of_an_answerable_question() -> None:
    assert [one.label for one in claim_rows([ASKED, UNANSWERABLE], TRACES)] == [True, False]


def test_the_regression_finds_what_tells_right_from_wrong_and_ignores_noise() -> None:
    random = np.random.default_rng(1)
    signal, noise = random.normal(size=400), random.normal(size=400)
    labels = [bool(one) for one in random.random(400) < 1 / (1 + np.exp(-(3 * signal - 1)))]
    evidence = [
        {"signal": float(a), "noise": float(b), "log_odds": float(b)} for a, b in zip(signal, noise, strict=True)
    ]
    rows = [Row(evidence[i], labels[i], str(i % 10), str(i)) for i in range(400)]
    fit, _, lines = fitted("test", rows, ("signal", "noise"))
    assert fit.coefficients["signal"] == pytest.approx(3, abs=0.8)
    assert abs(fit.coefficients["noise"]) < 0.4
    assert fit.probability({"signal": 1.0, "noise": 0.0}) == pytest.approx(expit(2), abs=0.1)
    assert "400 rows" in lines[0]


def test_thresholds_keep_the_right_drafts_and_stop_the_most_of_the_others() -> None:
    examples = [Example(str(i), "?", answerable=i < 10) for i in range(20)]
    relevant = {str(i): 0.3 if i < 10 else 0.04 + 0.02 * (i - 10) for i in range(20)}
    supported = {str(i): 0.4 if i < 10 else 0.5 for i in range(20)}
    claims = [Row({}, i < 10, "", str(i)) for i in range(20)]
    levels, _ = thresholds(examples, relevant, supported, claims)
    assert 0.22 < levels["relevant"] <= 0.3
    assert levels["supported"] <= 0.4
