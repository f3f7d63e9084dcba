"""Keep the best candidate by score. No model is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from core.types import Candidate, Claim, Draft, Verdict
from graph.context import Constraints, Context, Services, Weights
from graph.state import SelfRAGState
from prompts.answer_check import USEFULNESS
from prompts.hallucination_check import SUPPORT


async def select(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Rank this round's drafts with the best so far; accept it when it is supported and useful."""
    context = runtime.context
    round_ = round_of(state, context.weights)
    before = [state["best"]] if state["best"] else []
    best = best_of([*before, *round_], context.constraints)
    accepted = best is not None and supported(best) and useful(best)
    declined = bool(round_) and all(one["draft"]["declined"] for one in round_)
    return {
        "best": best,
        "accepted": accepted,
        "drafts_left": 0 if declined else state["drafts_left"],
        "decided": {
            "accepted": accepted,
            "support": best["support"] if best else None,
            "usefulness": best["usefulness"] if best else None,
        },
    }


def round_of(state: SelfRAGState, weights: Weights) -> list[Candidate]:
    """The present round's drafts with what the checks found; a check that did not run found nothing."""
    return [
        candidate(draft, _at(state["claims"], i) or [], _at(state["uses"], i), weights)
        for i, draft in enumerate(state["drafts"])
    ]


def candidate(draft: Draft, claims: list[Claim], use: Verdict | None, weights: Weights) -> Candidate:
    """The draft with the paper's scores: f = w_rel · ISREL + w_sup · ISSUP + w_use · ISUSE.

    ISREL is the mean over the draft's passages, ISSUP over its claims, and 0 where there are none. Each is
    Σ weight · probability over the labels of its verdict; none is a log-probability.
    """
    scores = [SUPPORT.score(claim["verdict"]) for claim in claims]
    support = sum(scores) / len(scores) if scores else 0.0
    usefulness = USEFULNESS.score(use) if use else 0.0
    score = weights.relevance * draft["relevance"] + weights.support * support + weights.usefulness * usefulness
    return Candidate(draft=draft, claims=claims, support=support, usefulness=usefulness, use=use, score=score)


def best_of(candidates: Sequence[Candidate], constraints: Constraints = "soft") -> Candidate | None:
    """The candidate of the highest rank, the earlier of equals."""
    return max(candidates, key=lambda one: rank(one, constraints), default=None)


def rank(one: Candidate, constraints: Constraints = "soft") -> tuple[int, float]:
    """What may be claimed of a candidate comes first, its score second; a draft that declines is last.

    With hard constraints one that may be given as an answer comes before all others.
    """
    if one["draft"]["declined"]:
        return (0, one["score"])
    if supported(one):
        return (4 if constraints == "hard" and useful(one) else 3, one["score"])
    return (2 if any(is_supported(claim) for claim in one["claims"]) else 1, one["score"])


def supported(one: Candidate) -> bool:
    """Whether nothing in the candidate is unsupported; a direct answer has no claims to support."""
    if not one["draft"]["passages"]:
        return True
    return bool(one["claims"]) and all(claim["verdict"]["label"] == "fully supported" for claim in one["claims"])


def useful(one: Candidate) -> bool:
    """Whether ISUSE is at least 3; one that was not rated counts as 3."""
    return one["use"] is None or int(USEFULNESS.leaning(one["use"])) >= 3


def is_supported(claim: Claim) -> bool:
    """Whether the passages support the claim at least in part."""
    return claim["verdict"]["label"] in ("fully supported", "partially supported")


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else None
