"""Judge how well each draft serves the question (ISUSE)."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from core.types import Draft, Verdict
from graph.context import Context, Services
from graph.state import SelfRAGState
from nodes.concurrency import gather, others_first
from prompts.answer_check import USEFULNESS
from prompts.delimiters import as_data


async def answer_check(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Rate every draft at once, from 1 to 5."""
    await others_first()  # where calls are short, an answer that is not rated beats one that is not checked
    uses = await gather(_use(draft, state, services, runtime.context.explain) for draft in state["drafts"])
    return {"uses": uses, "decided": {"usefulness": uses}}


async def _use(draft: Draft, state: SelfRAGState, services: Services, explain: bool) -> Verdict:
    if draft["declined"]:
        return Verdict(label="1", probabilities=None, reason="The draft declines.")
    return await services.critic.choose(
        USEFULNESS, explain=explain, question=as_data(state["question"]), answer=as_data(draft["text"])
    )
