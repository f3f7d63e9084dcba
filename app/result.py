"""The result of a question as ``--json`` prints it, made from the final state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph.state import Candidate, Citation, SelfRAGState
from nodes.select import holds
from prompts.choice import Verdict


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


def _claims(best: Candidate, citations: list[Citation]) -> list[dict[str, Any]]:
    passages = {passage["id"]: passage["text"] for passage in best["draft"]["passages"]}
    numbers = {(one["passage"], one["start"], one["end"]): one["id"] for one in citations}
    shown = []
    for claim in best["claims"]:
        quote = claim["quote"]
        cited = quote is not None and holds(claim)
        number = numbers.get((passages[quote["passage"]], quote["start"], quote["end"])) if cited and quote else None
        verdict: Mapping[str, Any] | Verdict = claim["verdict"]
        shown.append({"text": claim["text"], **verdict, "citations": [number] if number else []})
    return shown
