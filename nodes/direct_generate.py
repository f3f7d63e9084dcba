"""Answer without documents."""

from typing import Any

from langgraph.runtime import Runtime

from core.types import Draft
from grounding.refusals import declines
from nodes.concurrency import off_loop
from prompts.delimiters import as_data
from prompts.direct_generate import DIRECT_GENERATE, MAX_TOKENS
from run.context import Context, Services
from run.state import SelfRAGState, standalone_question


async def direct_generate(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Write one draft without citations; a draft that declines to answer is not rated."""
    text = await services.generator.write(
        DIRECT_GENERATE,
        max_tokens=runtime.context.answer_tokens or MAX_TOKENS,
        temperature=runtime.context.temperature,
        question=as_data(standalone_question(state)),
    )
    declined = await off_loop(len(text), declines, text)
    draft = Draft(text=text, passages=[], relevance=0.0, declined=declined)
    route = "direct" if state["route"] == "direct" else "fallback"
    return {"route": route, "drafts": [draft], "claims": [], "uses": [], "decided": {"text": text}}
