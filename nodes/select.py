"""Keep the best candidate by score, without a model call."""

from typing import Any

from langgraph.runtime import Runtime

from core.passages import characters_of
from core.types import Segment
from grounding.lengths import asks_for_a_list
from nodes.concurrency import off_loop
from nodes.finish import open_cases, quotes_of
from run.candidates import best_of, fully_supported, round_of, useful, with_round
from run.context import Context, Services
from run.segments import accepted_in, candidate_of_segments, next_of
from run.state import SelfRAGState, in_segments, things_of


async def select(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Rank this round's drafts with the best so far; accept the best if it is supported and useful.

    Where ``decide`` took a question for one that needs no documents, and the direct answer declines or is rated
    useless, the documents are searched once after all; if that gives nothing better, the direct answer stands. A long
    answer gets what is supported and new, and goes on or ends.
    """
    context = runtime.context
    if in_segments(state):
        return _accept_segments(state, context)
    round_ = round_of(state, context)
    before = [state["best"]] if state["best"] else []
    best = best_of([*before, *round_], context.constraints)
    accepted = best is not None and fully_supported(best) and useful(best)
    if best and accepted and state["drafts_left"] > 0:
        accepted = not await off_loop(
            characters_of(state["passages"]), open_cases, best["draft"], best["claims"], state, context
        )
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


def _accept_segments(state: SelfRAGState, context: Context) -> dict[str, Any]:
    """Add to a long answer what this round's drafts say that is supported and new, and say what follows."""
    round_ = round_of(state, context)
    segments, left_out = accepted_in(state, context)
    onward = next_of(state, segments, context)
    as_list = asks_for_a_list(state["question"])
    best = candidate_of_segments(
        segments, context, things=things_of(state), as_list=as_list, headed=as_list or bool(state.get("whole"))
    )
    new = segments[len(state.get("segments", [])) :]
    return {
        "candidates": with_round(state.get("candidates", []), round_, context.constraints),
        "segments": segments,
        "left_out": left_out,
        "onward": onward,
        "best": best or best_of([*([state["best"]] if state["best"] else []), *round_], context.constraints),
        "accepted": bool(segments),
        "decided": {
            "accepted": bool(new),
            "support": best["support"] if best else None,
            "usefulness": None,
            "segments": list(map(_segment_with_places, new)),
            "onward": onward,
        },
    }


def _segment_with_places(one: Segment) -> dict[str, Any]:
    """Return a segment as it is shown when it is accepted: its text and its quotes, each with where it stands."""
    passages = {passage["id"]: passage for passage in one["passages"]}
    quotes = [
        {key: passages[quote["passage"]][key] for key in ("source", "page", "row")}
        | {"quote": passages[quote["passage"]]["text"][quote["start"] : quote["end"]]}
        for claim in one["claims"]
        for quote in quotes_of(claim)
    ]
    return {"text": one["text"], "quotes": quotes}
