"""Decide whether the question needs the documents (Retrieve)."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from graph.context import Context, Services
from graph.prefetch import prefetch, prefetched
from graph.state import SelfRAGState
from models.calibration import route_features
from nodes.concurrency import off_loop
from nodes.reasons import MODES, of_route
from nodes.retrieve import as_passage
from prompts.decide import RETRIEVE
from prompts.delimiters import as_data


async def decide(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Choose the route: by the critic in mode ``adaptive``, else as the mode says.

    The search runs while the critic is asked. Where a regression was fitted for it, what the search found counts too: a
    question that the documents come near is not one that needs none.
    """
    context = runtime.context
    if context.mode != "never":
        prefetch(services.retriever, state["queries"][0], context.k, context.filter)
    if context.mode != "adaptive":
        route = "direct" if context.mode == "never" else "retrieve"
        reason = {"reason": MODES[context.mode]} if context.explain else {}
        return {"route": route, "decided": {"route": route, "mode": context.mode, **reason}}
    chosen = await services.critic.choose(RETRIEVE, question=as_data(state["question"]))
    chosen = services.fits.routed(chosen, await _search_features(state, services, context))
    threshold = context.effective_thresholds.retrieve
    verdict = RETRIEVE.apply_threshold(chosen, threshold)
    if context.explain:
        verdict = of_route(chosen, verdict, threshold)
    route = RETRIEVE.leaning(verdict)
    return {"decision": verdict, "route": route, "decided": {"route": route, "verdict": verdict}}


async def _search_features(state: SelfRAGState, services: Services, context: Context) -> dict[str, float] | None:
    """Return what the search says of the question; None without a regression for it, or if the search failed."""
    if services.fits.route is None:
        return None
    found = await prefetched(services.retriever, state["queries"][0], context.k, context.filter)
    passages = [as_passage(document) for document in found or ()]
    size = sum(len(passage["text"]) for passage in passages)
    return await off_loop(size, route_features, state["question"], passages)
