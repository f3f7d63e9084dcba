"""Candidates: how they are scored, ranked and accepted, and which outcome the best of them deserves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.types import Candidate, Claim, Draft, Outcome, StopReason, Verdict
from graph.context import Constraints, Context, Weights
from graph.state import SelfRAGState
from prompts.answer_check import USEFULNESS
from prompts.hallucination_check import SUPPORT


def round_of(state: SelfRAGState, weights: Weights) -> list[Candidate]:
    """Return the present round's drafts with what the checks found; a check that did not run found nothing."""
    return [
        candidate(draft, _at(state["claims"], i) or [], _at(state["uses"], i), weights)
        for i, draft in enumerate(state["drafts"])
    ]


def candidate(draft: Draft, claims: list[Claim], use: Verdict | None, weights: Weights) -> Candidate:
    """Score a draft as the paper does: f = w_rel · ISREL + w_sup · ISSUP + w_use · ISUSE.

    ISREL is the mean over the draft's passages, ISSUP over its claims, and 0 where there are none. Each is
    Σ weight · probability over the labels of its verdict; none is a log-probability.
    """
    scores = [SUPPORT.score(claim["verdict"]) for claim in claims]
    support = sum(scores) / len(scores) if scores else 0.0
    usefulness = USEFULNESS.score(use) if use else 0.0
    score = weights.relevance * draft["relevance"] + weights.support * support + weights.usefulness * usefulness
    return Candidate(draft=draft, claims=claims, support=support, usefulness=usefulness, use=use, score=score)


def best_of(candidates: Sequence[Candidate], constraints: Constraints = "soft") -> Candidate | None:
    """Return the candidate of the highest rank, the earlier of equals."""
    return max(candidates, key=lambda one: rank(one, constraints), default=None)


def rank(one: Candidate, constraints: Constraints = "soft") -> tuple[int, float]:
    """Rank by support first and by score second; a draft that declines comes last.

    With hard constraints a candidate that is supported and useful comes before all others.
    """
    if one["draft"]["declined"]:
        return (0, one["score"])
    if supported(one):
        return (4 if constraints == "hard" and useful(one) else 3, one["score"])
    return (2 if any(is_supported(claim) for claim in one["claims"]) else 1, one["score"])


def supported(one: Candidate) -> bool:
    """Whether every claim is fully supported; a direct answer has none to support."""
    if not one["draft"]["passages"]:
        return True
    return bool(one["claims"]) and all(claim["verdict"]["label"] == "fully supported" for claim in one["claims"])


def useful(one: Candidate) -> bool:
    """Whether ISUSE is at least 3; a candidate that was not rated counts as 3."""
    return one["use"] is None or int(USEFULNESS.leaning(one["use"])) >= 3


def is_supported(claim: Claim) -> bool:
    """Whether the passages support the claim at least in part."""
    return claim["verdict"]["label"] in ("fully supported", "partially supported")


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else None


def outcome_of(state: SelfRAGState, context: Context) -> tuple[Outcome, StopReason]:
    """Return the outcome that the best candidate deserves, and why the run ended: the table in docs/architecture.md.

    With hard constraints a candidate with an unsupported claim, or rated below 3, is no answer.
    """
    best = state["best"]
    stop = state["stops"][0]["reason"] if state["stops"] else None
    if best is None:
        return ("stopped", stop) if stop else ("abstained", "nothing_relevant")
    if context.constraints == "hard" and not best["draft"]["declined"] and not (supported(best) and useful(best)):
        return "abstained", stop or ("not_useful" if supported(best) else "claims_unsupported")
    if not best["draft"]["passages"]:
        if context.mode == "never":
            return "direct", stop or "mode_never"
        return "direct", stop or ("fallback" if state["route"] == "fallback" else "not_needed")
    if best["draft"]["declined"]:
        return "abstained", stop or "declined"
    if supported(best):
        return "grounded", stop or ("accepted" if useful(best) else "not_useful")
    if any(is_supported(claim) for claim in best["claims"]):
        return "partially_grounded", stop or "claims_unsupported"
    return "abstained", stop or "claims_unsupported"
