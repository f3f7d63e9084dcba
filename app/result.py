"""The result of a question: what ``ask`` returns and what ``--json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from core.types import Candidate, Citation, Claim, Outcome, StopReason, Usage, Verdict
from graph.candidates import is_supported
from graph.state import SelfRAGState

if TYPE_CHECKING:
    from app.picture import Picture


class ResultClaim(BaseModel):
    """A statement of the answer, its verdict, and the ids of the citations that carry it."""

    model_config = ConfigDict(frozen=True)

    text: str
    label: str
    probabilities: dict[str, float] | None
    reason: str | None
    citations: list[int]


class ResultUsage(Usage):
    """What the question cost, and how long it took."""

    seconds: float


class Result(BaseModel):
    """The answer with its evidence, its cost and the path that led to it; docs/architecture.md explains each field.

    ``model_dump(mode="json")`` is what ``--json`` prints.
    """

    model_config = ConfigDict(frozen=True)

    question: str
    answer: str
    outcome: Outcome | None
    stop_reason: StopReason | None
    queries: list[str]
    decision: Verdict | None
    retrieved: int
    relevant: int
    support: float | None
    usefulness: float | None
    claims: list[ResultClaim]
    citations: list[Citation]
    path: list[dict[str, Any]]
    usage: ResultUsage

    def picture(self) -> Picture:
        """Draw the way that the run took; a notebook shows the picture, and its ``save(path)`` writes it."""
        from app.picture import run_picture

        return run_picture(self)


def result_of(state: SelfRAGState) -> Result:
    """Make the result of the graph's final state."""
    best = state["best"] if state["outcome"] in ("grounded", "partially_grounded", "direct", "abstained") else None
    cited = bool(best and best["draft"]["passages"])
    return Result.model_construct(
        question=state["question"],
        answer=state["answer"],
        outcome=state["outcome"],
        stop_reason=state["stop_reason"],
        queries=state["queries"],
        decision=state["decision"],
        retrieved=len(state["passages"]),
        relevant=len(state["relevant"]),
        support=best["support"] if best and cited and best["claims"] else None,
        usefulness=best["usefulness"] if best and best["use"] else None,
        claims=_claims(best, state["citations"]) if best else [],
        citations=state["citations"],
        path=[{"node": step["node"], "seconds": step["seconds"], **step["decided"]} for step in state["path"]],
        usage=ResultUsage(**state["usage"], seconds=round(state["seconds"], 3)),
    )


def citation_of(claim: Claim, best: Candidate, citations: list[Citation]) -> int | None:
    """Return the id of the citation that carries the claim; None for a claim that is not supported."""
    quote = claim["quote"]
    if quote is None or not is_supported(claim):
        return None
    text = next(passage["text"] for passage in best["draft"]["passages"] if passage["id"] == quote["passage"])
    place = (text, quote["start"], quote["end"])
    return next((one["id"] for one in citations if (one["passage"], one["start"], one["end"]) == place), None)


def _claims(best: Candidate, citations: list[Citation]) -> list[ResultClaim]:
    numbers = [citation_of(claim, best, citations) for claim in best["claims"]]
    return [
        ResultClaim(text=claim["text"], **claim["verdict"], citations=[number] if number else [])
        for claim, number in zip(best["claims"], numbers, strict=True)
    ]
