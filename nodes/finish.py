"""Report the best candidate with the outcome that its checks justify."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from langgraph.runtime import Runtime

from core.text import location, shortened
from core.types import Candidate, Citation, Conflict, DocumentAnswer, Outcome, Passage, Quote, StopReason
from graph.candidates import ANSWERED, explained, is_supported, outcome_of, support_level, weakest
from graph.context import Context, Services
from graph.state import SelfRAGState
from grounding.answers import LONGEST_ANSWER
from grounding.claims import claim_ends
from nodes.concurrency import off_loop

NOT_FROM_DOCUMENTS = "This is not from your documents, which do not answer the question."
DISAGREE = "The documents disagree:"
MOST_SOURCES = 3  # of one answer that are named
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
        conflicts, citations = conflicts_of(state.get("differing", []), citations, state.get("found", []))
        if state["route"] == "fallback":
            answer = f"{NOT_FROM_DOCUMENTS}\n\n{answer}"
        if conflicts:
            answer = f"{answer}\n\n{disagreement(conflicts, citations)}"
    else:
        answer, citations, conflicts = sentence(state["question"], outcome, reason, best), [], []
    return {
        "outcome": outcome,
        "stop_reason": reason,
        "answer": answer,
        "citations": citations,
        "conflicts": conflicts,
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


def marked(best: Candidate, numbers: Sequence[int | None] = ()) -> str:
    """Return the draft with a mark after each unsupported claim and, if given, each claim's number after it."""
    text = best["draft"]["text"]
    ends = claim_ends(text, [claim["text"] for claim in best["claims"]])
    notes = [
        (f" [{number}]" if number else "") + MARKS.get(claim["verdict"]["label"], "")
        for claim, number in zip_longest(best["claims"], numbers)
    ]
    begins = [0, *ends]
    parts = [text[begin:end] + note for begin, end, note in zip(begins, ends, notes, strict=False)]
    return "".join([*parts, text[begins[-1] :]])


def citations_of(best: Candidate) -> list[Citation]:
    """Return the quotes of the supported claims, each once, numbered from 1 in the order of the claims."""
    passages = {passage["id"]: passage for passage in best["draft"]["passages"]}
    citations: list[Citation] = []
    for claim in best["claims"]:
        quote = claim["quote"]
        if quote is not None and is_supported(claim):
            _cited(quote, passages[quote["passage"]], citations)
    return citations


def conflicts_of(
    groups: Sequence[Sequence[DocumentAnswer]], citations: Sequence[Citation], found: Sequence[Passage]
) -> tuple[list[Conflict], list[Citation]]:
    """Return the answers that differ, each with the ids of its citations, and all citations, new ones at the end."""
    passages, cited = {passage["id"]: passage for passage in found}, list(citations)
    conflicts = [
        Conflict(
            answer=group[0]["answer"],
            citations=[_cited(one["quote"], passages[one["quote"]["passage"]], cited) for one in group],
        )
        for group in groups
    ]
    return conflicts, cited


def disagreement(conflicts: Sequence[Conflict], citations: Sequence[Citation], *, numbers: bool = False) -> str:
    """Write a line for each answer that documents give, with their names, dates and perhaps citations."""
    by_id = {citation["id"]: citation for citation in citations}
    lines = [DISAGREE]
    for conflict in conflicts:
        ids = conflict["citations"]
        sources = [_dated(by_id[one]) + (f" [{one}]" if numbers else "") for one in ids[:MOST_SOURCES]]
        more = [f"and {len(ids) - MOST_SOURCES} more"] if len(ids) > MOST_SOURCES else []
        lines.append(f"- {shortened(conflict['answer'], LONGEST_ANSWER)} ({'; '.join([*sources, *more])})")
    return "\n".join(lines)


def _dated(citation: Citation) -> str:
    date = citation.get("date")
    return location(citation["source"], citation["page"], citation["row"]) + (f", {date}" if date else "")


def _cited(quote: Quote, passage: Passage, citations: list[Citation]) -> int:
    """Return the id of the quote's citation, which is added if there is none."""
    place = (passage["source"], passage["page"], passage["row"], passage["text"], quote["start"], quote["end"])
    for one in citations:
        if (one["source"], one["page"], one["row"], one["passage"], one["start"], one["end"]) == place:
            return one["id"]
    citations.append(
        Citation(
            id=len(citations) + 1,
            source=passage["source"],
            page=passage["page"],
            row=passage["row"],
            passage=passage["text"],
            quote=passage["text"][quote["start"] : quote["end"]],
            start=quote["start"],
            end=quote["end"],
            date=passage.get("date"),
        )
    )
    return len(citations)
