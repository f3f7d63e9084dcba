"""Judge each passage on its own (ISREL) and keep those relevant to the question."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from core.passages import characters_of, is_narrowed
from core.types import UNKNOWN, Naming, Passage, Verdict
from grounding.descriptions import may_describe
from grounding.links import linked_pairs
from models.calibration import relevance_features
from nodes.concurrency import gather, off_loop
from nodes.reasons import of_relevance, verdict_with_reason, with_reason
from prompts.delimiters import as_data, readable
from prompts.grade_documents import RELEVANCE
from run.context import Context, Services
from run.state import SelfRAGState, asks_for_long_answer, is_joined, standalone_question

LIKELY = 0.4  # P(relevant) of the best passage from which a name is looked up only after a draft
MOST_PAIRS = 2  # that are graded in one search
TOGETHER = "It answers only together with another passage."
NOT_GRADED = Verdict(
    label="irrelevant", probabilities=None, reason="Not graded: another passage matches the question far better."
)


async def grade_documents(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Grade all passages concurrently, each unabridged; a passage graded for an earlier query keeps its verdict.

    After the search for the question itself, passages that the search shows to be unlikely are not graded. After a
    search for a rewritten query all are graded, also those skipped before, because the first search led to no answer.
    If no passage is relevant by itself, or the relevant ones led to no answer, pairs of passages that share a name are
    graded, since an answer may rest on two places; pairs are not graded again after a table query. At most ``k``
    passages are relevant: those of this search first, then by score. If no score reaches the threshold ``pursued``,
    there is one more draft at most, and no more search except for the name of what the question describes.
    """
    context = runtime.context
    known = {name: one for name, one in state["verdicts"].items() if one != NOT_GRADED and one["label"] != UNKNOWN}
    size = characters_of(state["passages"])
    unlikely = await off_loop(size, unlikely_ids, state, services, context)
    skipped = dict.fromkeys(unlikely, NOT_GRADED)
    ungraded = [passage for passage in state["passages"] if passage["id"] not in known | skipped]
    texts = [readable(one) for one in ungraded]
    verdicts = await grades_of(standalone_question(state), ungraded, texts, services, context)
    graded = {passage["id"]: verdict for passage, verdict in zip(ungraded, verdicts, strict=True)}
    if context.explain:
        reasons = await gather(_with_reason(graded[one["id"]], one, state, services) for one in ungraded)
        graded = dict(zip(graded, reasons, strict=True))
    all_graded = skipped | state["verdicts"] | graded
    passages, kept, linked = state["passages"], set(state.get("kept", [])), []
    none = not any(RELEVANCE.is_positive(all_graded[one["id"]]) for one in passages)
    again = [one["node"] for one in state["path"][-2:]] == ["grade_documents", "query_table"]
    if not again and (none or (state["searched"] > 1 and not state.get("subject"))):
        linked = await _linked(state, all_graded, services, context)
        all_graded |= {one["id"]: verdict for one, verdict in linked}
        there = {one["id"] for one in passages}
        earlier = [one for one, _ in linked if one["id"] not in there]
        passages = [*earlier, *passages]
        kept |= {one["id"] for one in earlier}
    most = len(passages) if state.get("whole") else context.k
    positive = [one["id"] for one in passages if RELEVANCE.is_positive(all_graded[one["id"]])]
    first = sorted(positive, key=lambda one: (one in kept, -RELEVANCE.score(all_graded[one])))[:most]
    relevant = [one for one in positive if one in first]
    least = context.effective_thresholds.pursued
    pursued = best_score(all_graded) >= least
    grades = [
        {key: passage[key] for key in ("id", "source", "page", "row")} | {"verdict": all_graded[passage["id"]]}
        for passage in passages
    ]
    return {
        "passages": passages,
        "kept": [one["id"] for one in passages if one["id"] in kept],
        "verdicts": all_graded,
        "relevant": relevant,
        "describes": when_to_name(state, all_graded),
        "rewrites_left": state["rewrites_left"] if pursued else 0,
        "drafts_left": state["drafts_left"] if pursued else min(1, state["drafts_left"]),
        "decided": {"relevant": len(relevant), "grades": grades, "linked": len(linked)},
    }


async def grades_of(
    question: str, passages: Sequence[Passage], texts: Sequence[str], services: Services, context: Context
) -> list[Verdict]:
    """Return calibrated verdicts on ``passages``; the critic reads them as ``texts``."""
    verdicts = await gather(
        services.critic.choose(RELEVANCE, question=as_data(question), passage=text) for text in texts
    )
    size = sum(map(len, texts))
    features = await off_loop(size, relevance_features, question, passages, verdicts)
    threshold = context.effective_thresholds.relevant
    return [RELEVANCE.apply_threshold(one, threshold) for one in services.fits.relevant(verdicts, features)]


async def _linked(
    state: SelfRAGState, verdicts: Mapping[str, Verdict], services: Services, context: Context
) -> list[tuple[Passage, Verdict]]:
    """Return the two passages of the first linked pair that is relevant, each with the pair's verdict; else nothing.

    At least one of a pair is from this search. Pairs of the passages with the best scores are tried first.
    """
    question, found = standalone_question(state), state.get("found", state["passages"])
    ranked = sorted(found, key=lambda one: -RELEVANCE.score(verdicts.get(one["id"], NOT_GRADED)))
    pairs = await off_loop(characters_of(ranked), linked_pairs, question, ranked)
    here = {one["id"] for one in state["passages"]}
    known = {one["id"] for one in found if RELEVANCE.is_positive(verdicts.get(one["id"]))}
    new = [pair for pair in pairs if (ids := {one["id"] for one in pair}) & here and not ids <= known]
    for pair in new[:MOST_PAIRS]:
        text = "\n\n".join(map(readable, pair))
        cosine = max((one["similarity"] for one in pair if one["similarity"] is not None), default=None)
        joined = Passage(id="", text=text, source="", page=None, row=None, similarity=cosine)
        (verdict,) = await grades_of(question, [joined], [text], services, context)
        if RELEVANCE.is_positive(verdict):
            return [(one, with_reason(verdict, TOGETHER)) for one in pair]
    return []


async def _with_reason(verdict: Verdict, passage: Passage, state: SelfRAGState, services: Services) -> Verdict:
    question = standalone_question(state)
    known = await off_loop(len(passage["text"]), of_relevance, verdict["label"], question, passage)
    inputs = {"question": as_data(question), "passage": readable(passage)}
    return await verdict_with_reason(services.critic, RELEVANCE, verdict, known, **inputs)


def best_score(verdicts: Mapping[str, Verdict]) -> float:
    """Return the highest P(relevant), or 1 without any verdict."""
    return max(map(RELEVANCE.score, verdicts.values()), default=1.0)


def when_to_name(state: SelfRAGState, verdicts: Mapping[str, Verdict]) -> Naming | None:
    """Tell whether to look up the name of what the question describes before or after a draft; None for neither.

    What names the row of a table describes nothing.
    """
    if state["searched"] > 1 or not state["rewrites_left"] or is_joined(state):
        return None
    if not may_describe(standalone_question(state)) or any(map(is_narrowed, state["passages"])):
        return None
    return "before a draft" if best_score(verdicts) < LIKELY else "after a draft"


def unlikely_ids(state: SelfRAGState, services: Services, context: Context) -> set[str]:
    """Return the ids of passages too unlikely to be graded; none unless the search was for the question itself."""
    if state["searched"] > 1 or is_joined(state) or asks_for_long_answer(state):
        return set()
    thresholds = context.effective_thresholds
    found = services.fits.unlikely(standalone_question(state), state["passages"], thresholds.graded, thresholds.similar)
    return found - {one["id"] for one in state["passages"] if is_narrowed(one)}
