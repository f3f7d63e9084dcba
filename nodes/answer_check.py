"""Judge how well each draft serves the question (ISUSE)."""

from typing import Any

from langgraph.runtime import Runtime

from core.types import Draft, Verdict
from grounding.claims import statements
from models.usage import Reserve
from nodes.concurrency import gather, off_loop
from nodes.reasons import verdict_with_reason
from prompts.answer_check import USEFULNESS
from prompts.delimiters import as_data
from run.context import Context, Services
from run.state import SelfRAGState, standalone_question


async def answer_check(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Rate all drafts concurrently, from 1 to 5, reserving the calls that the concurrent support check needs.

    If too few calls are left for both, a checked answer without a rating is better than a rated one without checks.
    """
    if services.budget:
        checked = [draft["text"] for draft in state["drafts"] if draft["passages"] and not draft["declined"]]
        claims = [await off_loop(len(text), statements, text) for text in checked]
        services.budget.reserve = Reserve(calls=sum(map(len, claims)))
    uses = await gather(_use(draft, state, services, runtime.context.explain) for draft in state["drafts"])
    return {"uses": uses, "decided": {"usefulness": uses}}


async def _use(draft: Draft, state: SelfRAGState, services: Services, explain: bool) -> Verdict:
    if draft["declined"]:
        return Verdict(label="1", probabilities=None, reason="The draft declines.")
    question, answer = as_data(standalone_question(state)), as_data(draft["text"])
    verdict = await services.critic.choose(USEFULNESS, question=question, answer=answer)
    if not explain:
        return verdict
    return await verdict_with_reason(services.critic, USEFULNESS, verdict, question=question, answer=answer)
