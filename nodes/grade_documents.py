"""Judge each passage on its own (ISREL) and keep those relevant to the question."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from core.types import Passage, Verdict
from graph.context import Context, Services
from graph.state import SelfRAGState
from models.calibration import relevance_features
from nodes.concurrency import gather, off_loop
from nodes.reasons import explained, of_relevance
from prompts.delimiters import as_data, readable
from prompts.grade_documents import RELEVANCE

NOT_GRADED = Verdict(
    label="irrelevant", probabilities=None, reason="Not graded: another passage matches the question far better."
)


async def grade_documents(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Grade all passages concurrently, each unabridged; one graded for an earlier query keeps its verdict.

    In the search with the question itself, passages that cannot matter are not graded. In a search with a rewritten
    query all are, including those left out before: the first search led to no answer, so its comparisons count for
    little.
    """
    context = runtime.context
    known = {identity: verdict for identity, verdict in state["verdicts"].items() if verdict != NOT_GRADED}
    size = sum(len(passage["text"]) for passage in state["passages"])
    unlikely = await off_loop(size, unlikely_ids, state, services, context)
    skipped = dict.fromkeys(unlikely, NOT_GRADED)
    ungraded = [passage for passage in state["passages"] if passage["id"] not in known | skipped]
    verdicts = await gather(
        services.critic.choose(RELEVANCE, question=as_data(state["question"]), passage=readable(passage))
        for passage in ungraded
    )
    features = await off_loop(size, relevance_features, state["question"], ungraded, verdicts)
    verdicts = services.fits.relevant(verdicts, features)
    graded = {
        passage["id"]: RELEVANCE.apply_threshold(verdict, context.effective_thresholds.relevant)
        for passage, verdict in zip(ungraded, verdicts, strict=True)
    }
    if context.explain:
        reasons = await gather(_explained(graded[one["id"]], one, state, services) for one in ungraded)
        graded = dict(zip(graded, reasons, strict=True))
    all_graded = skipped | state["verdicts"] | graded
    relevant = [
        passage["id"] for passage in state["passages"] if RELEVANCE.leaning(all_graded[passage["id"]]) == "relevant"
    ]
    grades = [
        {key: passage[key] for key in ("id", "source", "page", "row")} | {"verdict": all_graded[passage["id"]]}
        for passage in state["passages"]
    ]
    return {
        "verdicts": all_graded,
        "relevant": relevant,
        "decided": {"relevant": len(relevant), "grades": grades},
    }


async def _explained(verdict: Verdict, passage: Passage, state: SelfRAGState, services: Services) -> Verdict:
    question = state["question"]
    known = await off_loop(len(passage["text"]), of_relevance, verdict["label"], question, passage)
    inputs = {"question": as_data(question), "passage": readable(passage)}
    return await explained(services.critic, RELEVANCE, verdict, known, **inputs)


def unlikely_ids(state: SelfRAGState, services: Services, context: Context) -> set[str]:
    """Return the ids of the passages not worth a call; none unless the search was for the question itself."""
    if state["searched"] > 1:
        return set()
    thresholds = context.effective_thresholds
    return services.fits.unlikely(state["question"], state["passages"], thresholds.graded, thresholds.similar)
