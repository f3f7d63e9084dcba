"""What a candidate is worth and what a run may claim, by the design alone and none of the graph's own functions."""

from typing import Any

from run.context import Context
from run.state import SelfRAGState

SUPPORT = {"fully supported": 1.0, "partially supported": 0.5, "no support": 0.0, "unknown": 0.0}
USEFULNESS = {"1": -1.0, "2": -0.5, "3": 0.0, "4": 0.5, "5": 1.0, "unknown": 0.0}
RELEVANCE = {"relevant": 1.0, "irrelevant": 0.0, "unknown": 0.0}


def score(verdict: Any, weights: dict[str, float]) -> float:
    """The expected weight of a verdict; of its label where there are no probabilities."""
    if verdict is None:
        return 0.0
    if verdict["probabilities"]:
        return float(sum(weights[label] * p for label, p in verdict["probabilities"].items()))
    return weights[verdict["label"]]


def labels_of(candidate: Any) -> list[str]:
    return [claim["verdict"]["label"] for claim in candidate["claims"]]


def is_supported(candidate: Any) -> bool:
    labels = labels_of(candidate)
    return not candidate["draft"]["passages"] or (bool(labels) and set(labels) == {"fully supported"})


def is_useful(candidate: Any) -> bool:
    return candidate["use"] is None or candidate["use"]["label"] not in ("1", "2")


def is_partly_supported(candidate: Any) -> bool:
    return bool({"fully supported", "partially supported"} & set(labels_of(candidate)))


def rank_of(candidate: Any, context: Any) -> tuple[int, float]:
    weights, draft = context.weights, candidate["draft"]
    supports = [score(claim["verdict"], SUPPORT) for claim in candidate["claims"]]
    support = sum(supports) / len(supports) if supports else 0.0
    use = score(candidate["use"], USEFULNESS)
    if context.scoring == "support-first":
        labels = set(labels_of(candidate))
        all_full, none_without = labels == {"fully supported"}, labels <= {"fully supported", "partially supported"}
        steps = 3 if all_full else 1 if labels and none_without else 0
        rating = candidate["use"]["label"] if candidate["use"] else "0"
        return _tier_of(candidate, context), 5 * steps + int(rating.replace("unknown", "3"))
    total = weights.relevance * draft["relevance"] + weights.support * support + weights.usefulness * use
    return _tier_of(candidate, context), total


def _tier_of(candidate: Any, context: Any) -> int:
    if not candidate["draft"]["passages"] and not is_useful(candidate):
        return 2
    if candidate["draft"]["declined"]:
        return 0
    if is_supported(candidate):
        return 4 if context.constraints == "hard" and is_useful(candidate) else 3
    return 2 if is_partly_supported(candidate) else 1


def deserved(final: SelfRAGState, context: Context) -> tuple[str, str | None]:
    """The outcome by the design's table, and the reason for it where nothing stopped the run."""
    outcome, reason = _with_the_verdicts(final, context)
    return ("stopped", "model_failed") if outcome == "abstained" and _lacks_verdicts(final) else (outcome, reason)


def _lacks_verdicts(final: SelfRAGState) -> bool:
    """Whether the model failed at what a no rests on, before any limit; a later search asks for missing grades."""
    if _stopped_before_the_end(final):
        return final["stops"][0]["reason"] == "model_failed"
    failed = [step["node"] for step in final["path"] if step["decided"].get("failure")]
    graded = [step["decided"].get("failure") for step in final["path"] if step["node"] == "grade_documents"]
    beside = {"contextualize", "decide", "grade_documents", "answer_check", "compare_answers", "finish"}
    return bool(set(failed) - beside or any(graded[-1:]))


def _stopped_before_the_end(final: SelfRAGState) -> bool:
    optional = ("contextualize", "compare_answers", "finish")
    return any("stop" in step["decided"] for step in final["path"] if step["node"] not in optional)


def _with_the_verdicts(final: SelfRAGState, context: Context) -> tuple[str, str | None]:
    best = final["best"]
    if best is None:
        return ("stopped", None) if _stopped_before_the_end(final) else ("abstained", "nothing_relevant")
    outcome, reason = _of_candidate(best, final, context)
    verdicts = [final["verdicts"].get(one["id"]) for one in best["draft"]["passages"]]
    if verdicts and all(one and one["label"] != "relevant" for one in verdicts):
        assert context.fallback == "passages"
        return outcome, "fallback"
    return outcome, reason


def _of_candidate(best: Any, final: SelfRAGState, context: Context) -> tuple[str, str]:
    if best["draft"]["declined"] and best["draft"]["passages"]:
        return "abstained", "declined"
    if context.constraints == "hard" and not is_supported(best):
        return "abstained", "claims_unsupported"
    if context.constraints == "hard" and not is_useful(best):
        return "abstained", "not_useful"
    if not best["draft"]["passages"]:
        by_route = "fallback" if final["route"] == "fallback" else "not_needed"
        return "direct", "mode_never" if context.mode == "never" else by_route
    if is_supported(best):
        return "grounded", "accepted" if is_useful(best) else "not_useful"
    return "partially_grounded" if is_partly_supported(best) else "abstained", "claims_unsupported"
