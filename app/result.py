"""The result of a question as ``--json`` prints it, made from the final state."""

from __future__ import annotations

from typing import Any

from graph.candidates import is_supported

from core.types import Candidate, Citation, Claim
from graph.state import SelfRAGState


def result_of(state: SelfRAGState) -> dict[str, Any]:
    """One JSON-serialisable object; its keys and types are the contract of the design."""
    best = state["best"] if state["outcome"] in ("grounded", "partially_grounded", "direct", "abstained") else None
    cited = bool(best and best["draft"]["passages"])
    return {
        "question": state["question"],
        "answer": state["answer"],
        "outcome": state["outcome"],
        "stop_reason": state["stop_reason"],
        "queries": state["queries"],
        "decision": state["decision"],
        "retrieved": len(state["passages"]),
        "relevant": len(state["relevant"]),
        "support": best["support"] if best and cited and best["claims"] else None,
        "usefulness": best["usefulness"] if best and best["use"] else None,
        "claims": _claims(best, state["citations"]) if best else [],
        "citations": state["citations"],
        "path": [{"node": step["node"], "seconds": step["seconds"], **step["decided"]} for step in state["path"]],
        "usage": {**state["usage"], "seconds": round(state["seconds"], 3)},
    }


def citation_of(claim: Claim, best: Candidate, citations: list[Citation]) -> int | None:
    """The number of the citation that carries the claim; None for a claim that does not hold."""
    quote = claim["quote"]
    if quote is None or not is_supported(claim):
        return None
    text = next(passage["text"] for passage in best["draft"]["passages"] if passage["id"] == quote["passage"])
    place = (text, quote["start"], quote["end"])
    return next((one["id"] for one in citations if (one["passage"], one["start"], one["end"]) == place), None)


def _claims(best: Candidate, citations: list[Citation]) -> list[dict[str, Any]]:
    shown = []
    for claim in best["claims"]:
        number = citation_of(claim, best, citations)
        shown.append({"text": claim["text"], **claim["verdict"], "citations": [number] if number else []})
    return shown
