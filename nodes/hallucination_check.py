"""Judge whether each claim of each draft follows from the passages that its generator read (ISSUP)."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from evidence.claims import split_claims
from evidence.passages import as_data
from evidence.quotes import find_quote, missing_facts
from graph.context import Context, Services
from graph.state import Claim, Draft, SelfRAGState
from nodes.generate import inputs_of
from nodes.together import together
from prompts.choice import Verdict
from prompts.hallucination_check import SUPPORT


async def hallucination_check(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Give every claim, all at once, a verdict and the verbatim quote that carries it."""
    explain = runtime.context.explain or state["drafts_left"] > 0
    claims = await together(_claims_of(draft, state, services, explain) for draft in state["drafts"])
    shown = [
        {"text": claim["text"], "verdict": claim["verdict"], "quoted": claim["quote"] is not None}
        for one in claims
        for claim in one
    ]
    return {"claims": claims, "decided": {"claims": shown}}


async def _claims_of(draft: Draft, state: SelfRAGState, services: Services, explain: bool) -> list[Claim]:
    if draft["declined"]:
        return []
    return await together(_claim(text, draft, state, services, explain) for text in split_claims(draft["text"]))


async def _claim(text: str, draft: Draft, state: SelfRAGState, services: Services, explain: bool) -> Claim:
    """Code rules out what it can before the critic is asked: facts that stand nowhere, and no quote at all."""
    passages = draft["passages"]
    missing = missing_facts(text, passages, state["question"])
    if missing:
        return _unsupported(text, f"{', '.join(missing)} stands in no passage.")
    quote = find_quote(text, passages, state["question"])
    if quote is None:
        return _unsupported(text, "No passage says this.")
    inputs = inputs_of(state, passages) | {"draft": as_data(draft["text"]), "claim": as_data(text)}
    verdict = await services.critic.choose(SUPPORT, **inputs)
    if explain and SUPPORT.leaning(verdict) != "fully supported":
        verdict = await services.critic.explain(SUPPORT, verdict, **inputs)
    return Claim(text=text, verdict=verdict, quote=quote)


def _unsupported(text: str, reason: str) -> Claim:
    return Claim(text=text, verdict=Verdict(label="no support", probabilities=None, reason=reason), quote=None)
