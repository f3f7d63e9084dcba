"""Decide whether the question needs the documents (Retrieve)."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from graph.context import Context, Services
from graph.state import SelfRAGState
from prompts.decide import RETRIEVE
from prompts.delimiters import as_data


async def decide(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Choose the route: by the critic in mode ``adaptive``, else as the mode says."""
    context = runtime.context
    if context.mode != "adaptive":
        route = "direct" if context.mode == "never" else "retrieve"
        return {"route": route, "decided": {"route": route, "mode": context.mode}}
    verdict = await services.critic.choose(RETRIEVE, explain=context.explain, question=as_data(state["question"]))
    verdict = RETRIEVE.apply_threshold(verdict, context.effective_thresholds.retrieve)
    route = RETRIEVE.leaning(verdict)
    return {"decision": verdict, "route": route, "decided": {"route": route, "verdict": verdict}}
