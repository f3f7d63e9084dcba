"""Candidates: how they are scored, ranked and accepted, which outcome the best deserves, and why the others lost."""

from collections.abc import Sequence
from typing import Any

from core.text import shortened
from core.types import Candidate, CandidateRecord, Claim, Draft, Outcome, Segment, StopReason, SupportLevel, Verdict
from prompts.answer_check import USEFULNESS
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from run.context import Constraints, Context, Scoring, Weights
from run.state import SelfRAGState

ANSWERED: tuple[Outcome, ...] = ("grounded", "partially_grounded", "direct")
LEVELS: dict[str, SupportLevel] = {"fully supported": "fully", "partially supported": "partially"}
DESCENDING: tuple[SupportLevel, ...] = ("fully", "partially", "no")
SUPPORT_FIRST: dict[SupportLevel | None, int] = {"fully": 3, "partially": 1}
HARD_TIER = 4
# Nodes whose failures make an abstention unfounded, besides the last `grade_documents`, which repeats missing grades.
# Others do no harm: without a route there is a search, and a draft without a rating counts as useful.
PROVING = ("query_table", "rewrite_query", "generate", "hallucination_check")
LONGEST_CLAIM_SHOWN = 200
TAKEN = "The answer has those of its statements that are supported and say something new."
NOTHING_NEW = "It says nothing that the answer has not."


def round_of(state: SelfRAGState, context: Context) -> list[Candidate]:
    """Return this round's drafts as candidates; a check that did not run leaves no claims, or no rating."""
    return [
        candidate(draft, _at(state["claims"], i) or [], _at(state["uses"], i), context.weights, context.scoring)
        for i, draft in enumerate(state["drafts"])
    ]


def candidate(
    draft: Draft, claims: list[Claim], use: Verdict | None, weights: Weights, scoring: Scoring = "paper"
) -> Candidate:
    """Score a draft by the paper's weighted sum (docs/architecture.md), or by support first.

    ISREL is the mean over the draft's passages, and ISSUP over its claims, 0 without any. Each verdict counts as
    Σ weight · probability over its labels, not as a log-probability.
    """
    scores = [SUPPORT.score(claim["verdict"]) for claim in claims]
    support = sum(scores) / len(scores) if scores else 0.0
    usefulness = USEFULNESS.score(use) if use else 0.0
    if scoring == "support-first":
        rating = int(USEFULNESS.leaning(use)) if use else 0
        score = float(5 * SUPPORT_FIRST.get(lowest_support(claims), 0) + rating)
    else:
        score = weights.relevance * draft["relevance"] + weights.support * support + weights.usefulness * usefulness
    return Candidate(draft=draft, claims=claims, support=support, usefulness=usefulness, use=use, score=score)


def best_of(candidates: Sequence[Candidate], constraints: Constraints = "soft") -> Candidate | None:
    """Return the candidate of the highest rank, the earliest of equals; None without any."""
    return max(candidates, key=lambda one: rank(one, constraints), default=None)


def rank(one: Candidate, constraints: Constraints = "soft") -> tuple[int, float]:
    """Return (tier, score), of which the highest is best. Tiers from the top: fully, partly, not supported; declined.

    With hard constraints a candidate that is supported and useful has a tier above all others. A direct answer that
    declines or is rated useless ranks as partly supported, above any draft that no document supports.
    """
    if not one["draft"]["passages"] and not useful(one):
        return (2, one["score"])
    if one["draft"]["declined"]:
        return (0, one["score"])
    if fully_supported(one):
        return (HARD_TIER if constraints == "hard" and useful(one) else 3, one["score"])
    return (2 if any(is_supported(claim) for claim in one["claims"]) else 1, one["score"])


def fully_supported(one: Candidate) -> bool:
    """Whether every claim is fully supported; True for a direct answer, which has no claims."""
    return not one["draft"]["passages"] or lowest_support(one["claims"]) == "fully"


def useful(one: Candidate | CandidateRecord) -> bool:
    """Whether ISUSE is at least 3; a candidate that was not rated counts as 3."""
    return one["use"] is None or int(USEFULNESS.leaning(one["use"])) >= 3


def is_supported(claim: Claim) -> bool:
    """Whether the passages support the claim at least in part."""
    return claim["verdict"]["label"] in LEVELS


def lowest_support(claims: Sequence[Claim]) -> SupportLevel | None:
    """Return the lowest support of the claims, None without any."""
    return max((support_level(claim) for claim in claims), key=DESCENDING.index, default=None)


def confidence(one: Candidate) -> float | None:
    """Return the calibrated probability that the draft is right: the least P(full) + P(partial) of its claims.

    A claim that a rule refused counts as 0. None without claims, or if the critic gives no probabilities.
    """
    found = []
    for claim in one["claims"]:
        p = p_supported(claim["verdict"])
        if p is None and claim["verdict"]["label"] != "no support":
            return None
        found.append(p or 0.0)
    return min(found, default=None)


def relabel_conditional(one: Candidate, least: float) -> Candidate:
    """Relabel claims that leave out a condition as partially supported, if P(full) + P(partial) is below ``least``."""
    why, claims = "The passage puts a condition on it, which it leaves out.", []
    for claim in one["claims"]:
        p = p_supported(claim["verdict"])
        claims.append(_partially(claim, why) if claim.get("conditions") and p is not None and p < least else claim)
    return {**one, "claims": claims}


def relabel_unnamed(one: Candidate, names: list[str]) -> Candidate:
    """Relabel claims as partially supported, since none of the quoted documents has these names of the question."""
    why = f"None of the quoted documents mentions {', '.join(names)}."
    claims: list[Claim] = [
        {**_partially(claim, why), "unnamed": names} if is_supported(claim) else claim for claim in one["claims"]
    ]
    return {**one, "claims": claims}


def _partially(claim: Claim, why: str) -> Claim:
    """Return a claim as partially supported if it is fully supported, otherwise as it is."""
    if claim["verdict"]["label"] != "fully supported":
        return claim
    return {**claim, "verdict": {**claim["verdict"], "label": "partially supported", "reason": why}}


def p_supported(verdict: Verdict) -> float | None:
    """Return P(full) + P(partial); None where the critic gives no probabilities."""
    return 1 - verdict["probabilities"]["no support"] if verdict["probabilities"] else None


def weakest(claims: Sequence[Claim]) -> Claim:
    """Return the first of the claims with the lowest support."""
    return max(claims, key=lambda claim: DESCENDING.index(support_level(claim)))


def support_level(claim: Claim) -> SupportLevel:
    """Return the claim's support: "no" for a claim that could not be checked."""
    return LEVELS.get(claim["verdict"]["label"], "no")


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else None


def outcome_of(state: SelfRAGState, context: Context) -> tuple[Outcome, StopReason]:
    """Return the outcome that the best candidate deserves, and why the run ended: the table in docs/json.md.

    With hard constraints a candidate with an unsupported claim, or rated below 3, is no answer.
    """
    best = state["best"]
    stop = state["stops"][0]["reason"] if state["stops"] else None
    if best is None:
        return ("stopped", stop) if stop else ("abstained", "nothing_relevant")
    # With fallback ``passages`` the draft is from passages of which none was judged relevant.
    read = [state["verdicts"].get(passage["id"]) for passage in best["draft"]["passages"]]
    if read and all(one and not RELEVANCE.is_positive(one) for one in read):
        stop = stop or "fallback"
    no_answer = best["draft"]["declined"] and bool(best["draft"]["passages"])
    if context.constraints == "hard" and not no_answer and not (fully_supported(best) and useful(best)):
        return "abstained", stop or ("not_useful" if fully_supported(best) else "claims_unsupported")
    if not best["draft"]["passages"]:
        if context.mode == "never":
            return "direct", stop or "mode_never"
        return "direct", stop or ("fallback" if state["route"] == "fallback" else "not_needed")
    if no_answer:
        return "abstained", stop or "declined"
    if fully_supported(best):
        return "grounded", stop or ("accepted" if useful(best) else "not_useful")
    if any(is_supported(claim) for claim in best["claims"]):
        return "partially_grounded", stop or "claims_unsupported"
    return "abstained", stop or "claims_unsupported"


def failure_of(state: SelfRAGState) -> str | None:
    """Return why a model call failed that an abstention may be due to; None if none failed, or a limit came first.

    One missing verdict or draft is enough: it may have been decisive.
    """
    if state["stops"]:
        return state["stops"][0]["failure"]
    graded = [step for step in state["path"] if step["node"] == "grade_documents"]
    steps = [*(step for step in state["path"] if step["node"] in PROVING), *graded[-1:]]
    return next((failure for step in steps if (failure := step["decided"].get("failure"))), None)


def with_round(
    records: Sequence[CandidateRecord], candidates: Sequence[Candidate], constraints: Constraints
) -> list[CandidateRecord]:
    """Return the records and, as a new round, a record of each candidate that has none yet."""
    number = records[-1]["round"] + 1 if records else 1
    new = [one for one in candidates if not any(_is_record_of(record, one) for record in records)]
    return [*records, *(_recorded(one, number, constraints) for one in new)]


def with_reasons(
    records: Sequence[CandidateRecord],
    best: Candidate | None,
    outcome: Outcome,
    constraints: Constraints,
    segments: Sequence[Segment] = (),
) -> list[CandidateRecord]:
    """Return the records with ``chosen`` and a ``reason`` of one sentence; an abstention chooses none.

    In a long answer the drafts from which its ``segments`` were taken are chosen.
    """
    if best is None:
        return list(records)
    updated, taken = [], [(one["drafted"], [each["id"] for each in one["passages"]]) for one in segments]
    for one in records:
        chosen = outcome in ANSWERED and (_is_record_of(one, best) or (one["text"], one["passages"]) in taken)
        if segments:
            reason = TAKEN if chosen else _fault(one, constraints) or NOTHING_NEW
        else:
            reason = _why_chosen(one) if chosen else _why_not(one, best, outcome, constraints)
        updated.append(CandidateRecord(**{**one, "chosen": chosen, "reason": reason}))
    return updated


def _recorded(one: Candidate, number: int, constraints: Constraints) -> CandidateRecord:
    return CandidateRecord(
        round=number,
        text=one["draft"]["text"],
        passages=_ids(one),
        relevance=one["draft"]["relevance"],
        claims=one["claims"],
        support=one["support"],
        usefulness=one["usefulness"],
        use=one["use"],
        score=one["score"],
        declined=one["draft"]["declined"],
        tier=rank(one, constraints)[0],
        chosen=False,
        reason="",
    )


def _is_record_of(record: CandidateRecord, one: Candidate) -> bool:
    """Whether the record is of this candidate: no two drafts of a question have the same text and passages."""
    return (record["text"], record["passages"]) == (one["draft"]["text"], _ids(one))


def _ids(one: Candidate) -> list[str]:
    return [passage["id"] for passage in one["draft"]["passages"]]


def _why_chosen(one: CandidateRecord) -> str:
    if not one["passages"]:
        return "It is the answer without documents."
    score = f"of such candidates it has the best score, {one['score']:.3f}."
    if lowest_support(one["claims"]) != "fully":
        return f"No candidate has all its claims fully supported, but some; {score}"
    useful_too = ", it is not rated below 3" if one["tier"] == HARD_TIER else ""
    return f"All its claims are fully supported{useful_too}, and {score}"


def _why_not(one: CandidateRecord, best: Candidate, outcome: Outcome, constraints: Constraints) -> str:
    fault = _fault(one, constraints)
    if fault and not (outcome in ANSWERED and one["tier"] == rank(best, constraints)[0]):
        return fault
    tie = ", which came first" if one["score"] == best["score"] else ""
    return f"It ranks below another candidate by score: {one['score']:.3f} against {best['score']:.3f}{tie}."


def _fault(one: CandidateRecord, constraints: Constraints) -> str | None:
    """Return in a sentence what is wrong with a candidate; None if it can be an answer with no claim marked."""
    if not one["passages"] and (one["declined"] or not useful(one)):
        return "It was written without documents, and does not give what is asked."
    if one["declined"]:
        return "It says that the passages do not give the answer."
    if one["passages"] and not one["claims"]:
        return "Its claims were not checked."
    if lowest_support(one["claims"]) in ("no", "partially"):
        worst = weakest(one["claims"])
        label = worst["verdict"]["label"]
        found = {"partially supported": "is only partly supported", "unknown": "could not be checked"}
        text = shortened(worst["text"], LONGEST_CLAIM_SHOWN).rstrip(".")
        return f"One of its claims {found.get(label, 'is not supported')}: “{text}”."
    if constraints == "hard" and one["use"] and not useful(one):
        return f"It is rated {one['use']['label']}, and hard constraints require 3."
    return None
