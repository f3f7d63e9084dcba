"""Keep the best candidate by score, without a model call."""

from typing import Any

from langgraph.runtime import Runtime

from run.candidates import best_of, round_of, supported, useful, with_round
from run.context import Context, Services
from run.state import SelfRAGState


async def select(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Rank this round's drafts with the best so far; accept the best if it is supported and useful.

    Where ``decide`` took a question for one that needs no documents, and the direct answer declines or is rated
    useless, the documents are searched once after all; unless they do better, that answer stands.
    """
    context = runtime.context
    round_ = round_of(state, context)
    before = [state["best"]] if state["best"] else []
    best = best_of([*before, *round_], context.constraints)
    accepted = best is not None and supported(best) and useful(best)
    declined = bool(round_) and all(one["draft"]["declined"] for one in round_)
    reconsidered = context.mode == "adaptive" and state["route"] == "direct" and bool(round_) and not accepted
    decided: dict[str, Any] = {
        "accepted": accepted,
        "support": best["support"] if best else None,
        "usefulness": best["usefulness"] if best else None,
    }
    update: dict[str, Any] = {
        "candidates": with_round(state.get("candidates", []), [*before, *round_], context.constraints),
        "best": best,
        "accepted": accepted,
        "drafts_left": 0 if declined else state["drafts_left"],
        "decided": decided,
    }
    if reconsidered:
        update |= {"route": "retrieve", "rewrites_left": 0, "drafts": [], "claims": [], "uses": []}
        update |= {"drafts_left": context.effective_limits.drafts, "decided": decided | {"reconsidered": True}}
    return update
