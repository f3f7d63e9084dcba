"""Judge whether each claim of each draft follows from the passages that its generator read (ISSUP)."""

from typing import Any

from langgraph.runtime import Runtime

from core.types import Claim, Draft
from grounding.answers import repeats_question
from grounding.claims import statements
from nodes.check_claim import Evidence, check_claim, check_statement, unsupported
from nodes.concurrency import gather, off_loop
from prompts.generate import MAX_TOKENS
from run.candidates import is_supported
from run.context import Context, Services
from run.state import SelfRAGState, question_alone, standalone_question

MOST_CLAIMS = MAX_TOKENS  # a draft of the default length cannot have more: each claim takes at least one token


async def hallucination_check(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Give every claim, concurrently, a verdict and the verbatim quote that supports it."""
    claims = await gather(_claims_of(draft, state, services, runtime.context) for draft in state["drafts"])
    shown = [
        {"text": claim["text"], "verdict": claim["verdict"], "quoted": claim["quote"] is not None}
        for one in claims
        for claim in one
    ]
    return {"claims": claims, "decided": {"claims": shown}}


async def _claims_of(draft: Draft, state: SelfRAGState, services: Services, context: Context) -> list[Claim]:
    """Check each statement as an answer to the question, and by itself what says more than the answer."""
    if draft["declined"]:
        return []
    text = draft["text"]
    evidence = Evidence(standalone_question(state), draft["passages"], state["passages"])
    found = await off_loop(len(text), statements, text)
    if await off_loop(len(text), repeats_question, text, question_alone(state)):
        return [unsupported(one, "It only repeats the question.") for one in found]
    redrafts = state["drafts_left"] > 0
    checked = await gather(
        check_claim(one, evidence, services, context, criticise=redrafts, text_size=len(text))
        for one in found[:MOST_CLAIMS]
    )
    if any(is_supported(claim) for claim in checked):
        beside = [
            at for at, claim in enumerate(checked) if claim["verdict"]["label"] == "no support" and claim["quote"]
        ]
        alone = await gather(check_statement(found[at], evidence, services, context) for at in beside)
        for at, claim in zip(beside, alone, strict=True):
            checked[at] = claim if is_supported(claim) else checked[at]
    return checked + [unsupported(one, "There are too many statements to check each.") for one in found[MOST_CLAIMS:]]
