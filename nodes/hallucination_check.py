"""Judge whether each claim of each draft follows from the passages that its generator read (ISSUP)."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from evidence.claims import Statement, statements, whole
from evidence.fit import support_evidence
from evidence.passages import as_data
from evidence.quotes import find_quote, missing_facts
from graph.context import Context, Services, Thresholds
from graph.state import Claim, Draft, SelfRAGState
from nodes.generate import inputs_of
from nodes.together import together
from prompts.choice import Verdict
from prompts.hallucination_check import SUPPORT


async def hallucination_check(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Give every claim, all at once, a verdict and the verbatim quote that carries it."""
    explain = runtime.context.explain or state["drafts_left"] > 0
    levels = runtime.context.levels
    claims = await together(_claims_of(draft, state, services, levels, explain) for draft in state["drafts"])
    shown = [
        {"text": claim["text"], "verdict": claim["verdict"], "quoted": claim["quote"] is not None}
        for one in claims
        for claim in one
    ]
    return {"claims": claims, "decided": {"claims": shown}}


async def _claims_of(
    draft: Draft, state: SelfRAGState, services: Services, levels: Thresholds, explain: bool
) -> list[Claim]:
    if draft["declined"]:
        return []
    graded = [state["verdicts"][one["id"]] for one in draft["passages"] if one["id"] in state["verdicts"]]
    return await together(
        _claim(one, draft, state, services, levels, explain, graded) for one in statements(draft["text"])
    )


async def _claim(
    one: Statement,
    draft: Draft,
    state: SelfRAGState,
    services: Services,
    levels: Thresholds,
    explain: bool,
    graded: list[Verdict],
) -> Claim:
    """Code rules out what it can before the critic is asked: facts that stand nowhere, and no quote at all."""
    passages, question = draft["passages"], state["question"]
    text = whole(one.text, one.context)
    missing = missing_facts(text, passages, question, elsewhere=state["passages"])
    if missing:
        return _unsupported(one, f"{', '.join(missing)} stands in no passage.")
    quote = find_quote(one.text, passages, question, one.context)
    if quote is None:
        return _unsupported(one, "No passage says this.")
    # A pronoun's sentence goes before it, so that the critic knows what is spoken of.
    shown = text if text != one.text else f"{one.context} {text}".strip()
    inputs = inputs_of(state, passages) | {"claim": as_data(shown)}
    verdict = await services.critic.choose(SUPPORT, **inputs)
    verdict = settled(services.fits.supported(verdict, support_evidence(verdict, graded)), levels.supported)
    if explain and SUPPORT.leaning(verdict) != "fully supported":
        verdict = await services.critic.explain(SUPPORT, verdict, **inputs)
    return Claim(text=one.text, context=one.context, verdict=verdict, quote=quote)


def settled(verdict: Verdict, least: float) -> Verdict:
    """The verdict, with ``no support`` for one whose P(full) + P(partial) is below ``least``, if that is above 0."""
    probabilities = verdict["probabilities"]
    if not least or not probabilities:
        return verdict
    kept = {label: p for label, p in probabilities.items() if label != "no support"}
    label = max(kept, key=lambda name: kept[name]) if sum(kept.values()) >= least else "no support"
    return Verdict(label=label, probabilities=probabilities, reason=verdict["reason"])


def _unsupported(one: Statement, reason: str) -> Claim:
    verdict = Verdict(label="no support", probabilities=None, reason=reason)
    return Claim(text=one.text, context=one.context, verdict=verdict, quote=None)
