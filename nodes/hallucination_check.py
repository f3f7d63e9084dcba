"""Judge whether each claim of each draft follows from the passages that its generator read (ISSUP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from core.types import Claim, Draft, Passage, Quote, Verdict
from graph.candidates import LEVELS
from graph.context import Context, Services
from graph.state import SelfRAGState, standalone_question
from grounding.claims import LONGEST_CLAIM, Statement, statements, with_lead_in
from grounding.quotes import find_quote, find_second_quote, missing_facts
from models.calibration import support_features
from nodes.concurrency import gather, off_loop
from nodes.generate import inputs_of
from nodes.reasons import explained, of_support
from prompts.delimiters import as_data
from prompts.explain import CRITICISE
from prompts.generate import MAX_TOKENS
from prompts.hallucination_check import SUPPORT

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
    if draft["declined"]:
        return []
    passages, text = draft["passages"], draft["text"]
    size = len(text) + sum(len(one["text"]) for one in (*passages, *state["passages"]))
    graded = [state["verdicts"][one["id"]] for one in passages if one["id"] in state["verdicts"]]
    question, inputs = standalone_question(state), inputs_of(state, passages)
    found = await off_loop(len(text), statements, text)

    async def claim(one: Statement) -> Claim:
        """Check one claim: rules first, which save the critic's call if a fact is in no passage or no quote fits."""
        ruled = await off_loop(size, rule, one, passages, question, state["passages"])
        if isinstance(ruled, str):
            return _unsupported(one, ruled)
        # The sentence that a pronoun refers to is put before the claim, so that the critic can resolve it.
        shown = with_lead_in(one.text, one.context)
        shown = shown if shown != one.text else f"{one.context} {shown}".strip()
        asked = inputs | {"claim": as_data(shown)}
        verdict = await support_of(asked, graded, services, context)
        if context.explain:
            whole = with_lead_in(one.text, one.context)
            known, otherwise = await off_loop(size, of_support, verdict["label"], whole, ruled, passages)
            verdict = await explained(services.critic, SUPPORT, verdict, known, otherwise=otherwise, **asked)
        elif state["drafts_left"] > 0 and SUPPORT.leaning(verdict) != "fully supported":
            verdict = await services.critic.explain(SUPPORT, verdict, prompt=CRITICISE, **asked)
        checked = Claim(text=one.text, context=one.context, verdict=verdict, quote=ruled)
        if verdict["label"] not in LEVELS:
            return checked
        second = await off_loop(size, find_second_quote, one.text, passages, ruled)
        return {**checked, "second_quote": second} if second else checked

    checked = await gather(claim(one) for one in found[:MOST_CLAIMS])
    return checked + [_unsupported(one, "There are too many statements to check each.") for one in found[MOST_CLAIMS:]]


def rule(one: Statement, passages: list[Passage], question: str, elsewhere: list[Passage]) -> Quote | str:
    """Return the quote that supports the statement, or the reason why none can."""
    if len(one.context) + len(one.text) > LONGEST_CLAIM:
        return "The statement is too long to check."
    missing = missing_facts(with_lead_in(one.text, one.context), passages, question, elsewhere=elsewhere)
    if missing:
        return f"{', '.join(missing)} stands in no passage."
    return find_quote(one.text, passages, question, one.context) or "No passage says this."


async def support_of(
    asked: Mapping[str, Any], grades: Sequence[Verdict], services: Services, context: Context
) -> Verdict:
    """Return the critic's verdict on a claim, calibrated by the grades of the passages, by the threshold."""
    verdict = await services.critic.choose(SUPPORT, **asked)
    fitted = services.fits.supported(verdict, support_features(verdict, grades))
    return apply_support_threshold(fitted, context.effective_thresholds.supported)


def apply_support_threshold(verdict: Verdict, least: float) -> Verdict:
    """Relabel the verdict by ``least``, a threshold for P(full) + P(partial); 0 leaves it unchanged."""
    probabilities = verdict["probabilities"]
    if not least or not probabilities:
        return verdict
    kept = {label: p for label, p in probabilities.items() if label != "no support"}
    label = max(kept, key=lambda name: kept[name]) if sum(kept.values()) >= least else "no support"
    return Verdict(label=label, probabilities=probabilities, reason=verdict["reason"])


def _unsupported(one: Statement, reason: str) -> Claim:
    verdict = Verdict(label="no support", probabilities=None, reason=reason)
    return Claim(text=one.text, context=one.context, verdict=verdict, quote=None)
