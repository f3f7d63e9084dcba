"""Report the best candidate with the outcome that its checks justify."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from core.text import shortened
from core.types import Candidate, Citation, Claim, Outcome, Quote, StopReason
from graph.candidates import ANSWERED, explained, is_supported, outcome_of, support_level, weakest
from graph.context import Context, Services
from graph.state import SelfRAGState
from grounding.claims import claim_ends
from nodes.concurrency import off_loop

NOT_FROM_DOCUMENTS = "This is not from your documents, which do not answer the question."
MARKS = {
    "partially supported": " [only partly supported by the documents]",
    "no support": " [not supported by the documents]",
    "unknown": " [not checked against the documents]",
}


async def finish(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Set the outcome, the reason for stopping, the answer, its citations, and why each candidate was chosen or not."""
    outcome, reason = outcome_of(state, runtime.context)
    best = state["best"]
    if best is not None and outcome in ANSWERED:
        answer, citations = await off_loop(len(best["draft"]["text"]), marked, best), citations_of(best)
        if state["route"] == "fallback":
            answer = f"{NOT_FROM_DOCUMENTS}\n\n{answer}"
    else:
        answer, citations = sentence(state["question"], outcome, reason, best), []
    return {
        "outcome": outcome,
        "stop_reason": reason,
        "answer": answer,
        "citations": citations,
        "candidates": explained(state.get("candidates", []), best, outcome, runtime.context.constraints),
        "decided": {"outcome": outcome, "stop_reason": reason},
    }


def sentence(question: str, outcome: Outcome, reason: StopReason, best: Candidate | None = None) -> str:
    """Write the sentence that says that there is no answer, and why.

    Where the documents support a part of the ``best`` candidate, which hard constraints still refuse, it names the
    claim that failed.
    """
    asked = shortened(question, 200)
    if reason in ("claims_unsupported", "fallback") and best and any(map(is_supported, best["claims"])):
        failed = weakest(best["claims"])
        if support_level(failed) != "fully":
            text = shortened(failed["text"], 200).rstrip(".")
            return f"No answer to “{asked}”: one was drafted, but the documents do not fully support “{text}”."
    why = {
        "nothing_relevant": "nothing found in them answers it",
        "declined": "what was found in them does not say",
        "claims_unsupported": "an answer was drafted, but they do not support it",
        "not_useful": "an answer was drafted, but it does not give what is asked",
        "fallback": "nothing found in them was judged relevant, and a draft from the best of it did not hold",
        "limit_calls": "the limit on model calls was reached before an answer was confirmed",
        "limit_tokens": "the limit on tokens was reached before an answer was confirmed",
        "limit_seconds": "the limit on time was reached before an answer was confirmed",
        "model_failed": "the model failed before an answer was confirmed",
    }[reason]
    judged = reason in ("nothing_relevant", "declined", "claims_unsupported", "fallback")
    if outcome == "abstained" and judged:  # an interrupted run cannot speak for the documents
        return f"The documents do not answer “{asked}”: {why}."
    return f"No answer to “{asked}”: {why}."


def marked(best: Candidate, numbers: Sequence[Sequence[int]] = ()) -> str:
    """Return the draft with a mark after each unsupported claim and, if given, each claim's numbers after it."""
    text = best["draft"]["text"]
    ends = claim_ends(text, [claim["text"] for claim in best["claims"]])
    notes = [
        "".join(f" [{number}]" for number in own) + MARKS.get(claim["verdict"]["label"], "")
        for claim, own in zip(best["claims"], numbers or [()] * len(best["claims"]), strict=True)
    ]
    begins = [0, *ends]
    parts = [text[begin:end] + note for begin, end, note in zip(begins, ends, notes, strict=False)]
    return "".join([*parts, text[begins[-1] :]])


def quotes_of(claim: Claim) -> list[Quote]:
    """Return the claim's quotes: none, one, or one in each of two passages."""
    second = claim.get("second_quote")
    return [quote for quote in (claim["quote"], second) if quote]


def citations_of(best: Candidate) -> list[Citation]:
    """Return the quotes of the supported claims, each once, numbered from 1 in the order of the claims."""
    passages = {passage["id"]: passage for passage in best["draft"]["passages"]}
    citations: list[Citation] = []
    seen: set[tuple[str, int, int]] = set()
    for quote in (quote for claim in best["claims"] if is_supported(claim) for quote in quotes_of(claim)):
        key = (quote["passage"], quote["start"], quote["end"])
        if key in seen:
            continue
        seen.add(key)
        passage = passages[quote["passage"]]
        citations.append(
            Citation(
                id=len(citations) + 1,
                source=passage["source"],
                title=passage.get("title"),
                heading=passage.get("heading"),
                page=passage["page"],
                row=passage["row"],
                passage=passage["text"],
                quote=passage["text"][quote["start"] : quote["end"]],
                start=quote["start"],
                end=quote["end"],
            )
        )
    return citations
