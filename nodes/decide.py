"""Decide whether the question needs the documents (Retrieve)."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from graph.context import Context, Services
from graph.prefetch import cancel_prefetch, prefetch
from graph.state import SelfRAGState
from nodes.reasons import MODES, of_route
from prompts.decide import RETRIEVE
from prompts.delimiters import as_data


async def decide(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Choose the route: by the critic in mode ``adaptive``, else as the mode says.

    The search starts while the critic is asked, and is cancelled if it is not needed.
    """
    context = runtime.context
    if context.mode != "never":
        prefetch(services.retriever, state["queries"][0], context.k, context.filter)
    if context.mode != "adaptive":
        route = "direct" if context.mode == "never" else "retrieve"
        reason = {"reason": MODES[context.mode]} if context.explain else {}
        return {"route": route, "decided": {"route": route, "mode": context.mode, **reason}}
    chosen = await services.critic.choose(RETRIEVE, question=as_data(state["question"]))
    threshold = context.effective_thresholds.retrieve
    verdict = RETRIEVE.apply_threshold(chosen, threshold)
    if context.explain:
        verdict = of_route(chosen, verdict, threshold)
    route = RETRIEVE.leaning(verdict)
    if route == "direct":
        cancel_prefetch(services.retriever)
    return {"decision": verdict, "route": route, "decided": {"route": route, "verdict": verdict}}
