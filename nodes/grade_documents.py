"""Judge each passage by itself (ISREL) and keep those that are relevant to the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from evidence.fit import relevance_evidence
from evidence.passages import as_data
from graph.context import Context, Services
from graph.state import Passage, SelfRAGState
from nodes.together import together
from prompts.choice import Verdict
from prompts.grade_documents import RELEVANCE


async def grade_documents(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Grade all passages at once, each whole; one graded for an earlier query keeps its verdict."""
    context = runtime.context
    known = state["verdicts"]
    hopeless = {} if state["searched"] > 1 else unlike(state["passages"], context.levels.similar)
    ungraded = [passage for passage in state["passages"] if passage["id"] not in known | hopeless]
    verdicts = await together(
        services.critic.choose(
            RELEVANCE,
            explain=context.explain,
            question=as_data(state["question"]),
            passage=as_data(passage["text"]),
        )
        for passage in ungraded
    )
    verdicts = services.fits.relevant(verdicts, relevance_evidence(state["question"], ungraded, verdicts))
    graded = {
        passage["id"]: RELEVANCE.settle(verdict, context.levels.relevant)
        for passage, verdict in zip(ungraded, verdicts, strict=True)
    }
    all_graded = known | hopeless | graded
    relevant = [
        passage["id"] for passage in state["passages"] if RELEVANCE.leaning(all_graded[passage["id"]]) == "relevant"
    ]
    grades = [
        {key: passage[key] for key in ("source", "page", "row")} | {"verdict": all_graded[passage["id"]]}
        for passage in state["passages"]
    ]
    return {
        "verdicts": all_graded,
        "relevant": relevant,
        "decided": {"relevant": len(relevant), "grades": grades},
    }


def unlike(passages: Sequence[Passage], least: float) -> dict[str, Verdict]:
    """The passages that the search found for their words alone, too unlike the question to be worth a call."""
    return {
        passage["id"]: Verdict(label="irrelevant", probabilities=None, reason="Not graded: unlike the question.")
        for passage in passages
        if passage["similarity"] is not None and passage["similarity"] < least
    }
