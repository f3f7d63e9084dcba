"""Whatever does not hold is found: each way to claim too much, or to spend too much, by itself."""

from copy import deepcopy
from typing import Any, cast

import pytest

from run.context import Context, Limits
from run.state import SelfRAGState
from tests.integration.graph.invariants import violations
from tests.scripted import candidate_of, claim, draft, explained_of, passage, state, verdict

AIR, SEA = "Air scatters blue light.", "The sea is salty."
CONTEXT = Context(limits=Limits(model_calls=8, tokens=1000))
SPENT: dict[str, Any] = {"model_calls": 6, "input_tokens": 400, "cached_input_tokens": 0, "output_tokens": 9}
QUESTION = "Why is the sky blue?"


def grounded(**changes: Any) -> SelfRAGState:
    """A run that ends well, but for the ``changes``."""
    best = candidate_of(draft(AIR, [AIR, SEA]), [claim(AIR, within=AIR)])
    citation = {"id": 1, "source": "notes.txt", "page": None, "row": None, "passage": AIR, "quote": AIR}
    steps = "decide retrieve grade_documents generate hallucination_check answer_check select finish".split()
    final = state(
        QUESTION,
        best=best | {"use": verdict("5")},
        outcome="grounded",
        stop_reason="accepted",
        answer=AIR,
        citations=[citation | {"start": 0, "end": len(AIR)}],
        passages=[passage(AIR)],
        usage=SPENT | {"estimated": False},
        path=[{"node": node, "seconds": 0.1, "decided": {}, **(SPENT if node == "generate" else {})} for node in steps],
        seconds=1.0,
    )
    final = cast("SelfRAGState", {**final, **changes})
    shown = final["best"]
    candidates = explained_of(shown, final["outcome"] or "stopped") if shown else []
    found = shown["draft"]["passages"] if shown else []
    return cast("SelfRAGState", {**final, "candidates": candidates, "found": found, **changes})


def test_a_run_that_ended_well_violates_nothing() -> None:
    assert violations(grounded(), QUESTION, CONTEXT) == []


def spent(**figures: int) -> dict[str, Any]:
    return {"usage": {**grounded()["usage"], **figures}}


def cited(**changes: Any) -> dict[str, Any]:
    return {"citations": [{**grounded()["citations"][0], **changes}]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (spent(model_calls=9), "9 calls were made of 8"),
        (spent(input_tokens=992), "1001 tokens were spent of 1000"),
        (spent(output_tokens=-1), "usage is negative"),
        (spent(model_calls=5), "the steps did not spend what the run did"),
        ({"candidates": []}, "chosen are []"),
        ({"candidates": grounded()["candidates"] * 2}, "a candidate is listed twice"),
        ({"found": []}, "the passages found are not each there once"),
        ({"question": "Why?"}, "the question was rewritten"),
        ({"queries": [QUESTION, "a", "b", "c"]}, "a loop was not bounded: 4 queries"),
        ({"path": grounded()["path"] * 9}, "a loop was not bounded: 1 queries"),
        ({"queries": [QUESTION, "a", "A"]}, "a query was searched for twice"),
        ({"path": grounded()["path"][:-1]}, "did not finish once"),
        ({"passages": (1,)}, "not serialisable"),
        ({"outcome": "partially_grounded"}, "partially_grounded is claimed where the verdicts give grounded"),
        ({"stop_reason": "declined"}, "declined is given for grounded"),
        ({"stops": [{"reason": "limit_calls", "failure": None}]}, "accepted is given for grounded"),
        ({"best": None, "outcome": "abstained", "stop_reason": "nothing_relevant"}, "what is no answer cites"),
        (cited(start=1), "a quote is not verbatim"),
        (cited(quote="Air scatters red light."), "a quote is not verbatim"),
        (cited(passage=SEA, quote=SEA, end=len(SEA)), "what is cited carries no claim"),
        (cited(id=2), "citations are not numbered"),
        ({"citations": []}, "the quote of a claim that holds is not cited"),
        ({"answer": f"{AIR} [not supported by the documents]"}, "0 claims are no support and 1 are marked so"),
    ],
)
def test_what_does_not_hold_is_named(changes: dict[str, Any], said: str) -> None:
    found = violations(grounded(**deepcopy(changes)), QUESTION, CONTEXT)
    assert any(said in one for one in found), found


def test_a_claim_that_holds_without_a_quote_is_named() -> None:
    final = grounded(best=candidate_of(draft(AIR, [AIR]), [claim(AIR)]) | {"use": None}, citations=[])
    assert violations(final, QUESTION, CONTEXT) == [f"a claim holds without a quote: {AIR}"]


def test_an_abstention_that_hands_out_the_draft_is_named() -> None:
    best = candidate_of(draft(AIR, [AIR]), [claim(AIR, "no support")]) | {"use": verdict("5")}
    final = grounded(best=best, citations=[], outcome="abstained", stop_reason="claims_unsupported")
    assert violations(final, QUESTION, CONTEXT) == ["a draft stands in what is no answer"]
