"""Check one claim against passages: by rules first, which save the critic's call, then by the critic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.passages import characters_of
from core.types import UNKNOWN, Claim, Passage, Quote, Verdict
from core.words import STOP_WORDS
from grounding.answers import both_ways, is_yes_or_no
from grounding.claims import LONGEST_CLAIM, Statement, with_lead_in
from grounding.conditions import states_condition_as_fact
from grounding.language import is_english, language_of
from grounding.quotes import find_quote, find_second_quote, missing_facts
from grounding.table_rows import is_unranked, of_another_cell, of_another_row
from models.calibration import expit, logit
from nodes.concurrency import gather, off_loop
from nodes.reasons import of_support, verdict_with_reason
from prompts.delimiters import as_data, delimited
from prompts.explain import CRITICISE
from prompts.hallucination_check import SUPPORT
from run.candidates import LEVELS, p_supported
from run.context import Context, Services


@dataclass(frozen=True)
class Evidence:
    """What claims are checked against: the question that they answer, and the passages.

    ``elsewhere`` are other retrieved passages, perhaps unread by the generator: a name of the question that is in one
    of them counts as known. ``asked`` is the question for the critic, if it differs from the one for the rules.
    """

    question: str
    passages: list[Passage]
    elsewhere: Sequence[Passage] = ()
    asked: str = ""

    @property
    def size(self) -> int:
        return characters_of((*self.passages, *self.elsewhere))


async def check_claim(
    one: Statement, evidence: Evidence, services: Services, context: Context, *, text_size: int = 0
) -> Claim:
    """Check a claim; return it with its verdict and quote. ``text_size`` is the length of the text that it is from.

    If a fact of the claim is in no passage, or no quote fits, the critic is not called. A bare yes or no has no words
    to compare with a quote: it is judged `beside_the_opposite`, and must reach the threshold ``yes_or_no``. What is
    quoted from a passage in another language than English must reach ``not_english``.
    """
    is_bare, thresholds = is_yes_or_no(one.text), context.effective_thresholds
    passages, size = evidence.passages, evidence.size + max(text_size, len(one.text))
    ruled = await off_loop(size, quotes_or_reason, one, passages, evidence.question, evidence.elsewhere)
    if isinstance(ruled, str):
        return unsupported(one, ruled)
    quoted = next(passage["text"] for passage in passages if passage["id"] == ruled[0]["passage"])
    if is_bare or not await off_loop(size, is_english, quoted):
        least = thresholds.yes_or_no if is_bare else thresholds.not_english
        context = supported_from(max(thresholds.supported, least), context)
    asked = _prompt_inputs(one.text, one.context, evidence)
    if is_bare:
        verdict = await beside_the_opposite(one, ruled[0], evidence, services, context)
    else:
        verdict = await support_of(asked, services, context)
    if context.explain:
        whole = with_lead_in(one.text, one.context)
        known, otherwise = await off_loop(size, of_support, verdict["label"], whole, ruled[0], passages)
        verdict = await verdict_with_reason(services.critic, SUPPORT, verdict, known, otherwise=otherwise, **asked)
    checked = Claim(text=one.text, context=one.context, verdict=verdict, quote=ruled[0])
    both = verdict["label"] in LEVELS and len(ruled) > 1
    return {**checked, "second_quote": ruled[1]} if both else checked


async def check_statement(one: Statement, evidence: Evidence, services: Services, context: Context) -> Claim:
    """Check a statement by itself with `check_claim`, whatever question it answers.

    The threshold for its support is ``verified`` or, if higher, ``caution``.
    """
    asked = asked_alone(with_lead_in(one.text, one.context))
    least = max(context.effective_thresholds.verified, context.caution or 0.0)
    return await check_claim(one, replace(evidence, asked=asked), services, supported_from(least, context))


def supported_from(least: float, context: Context) -> Context:
    """Return the context with ``least`` as the threshold ``supported``, and without ``caution``."""
    thresholds = context.effective_thresholds.model_copy(update={"supported": least})
    return context.model_copy(update={"caution": None, "thresholds": thresholds})


def asked_alone(text: str) -> str:
    """Turn a statement into a question, "Is it true that …?", since the critic's prompt judges answers to questions."""
    first, _, rest = text.rstrip(" .!。！").partition(" ")
    return f"Is it true that {first.lower() if first.casefold() in STOP_WORDS else first} {rest}?"


async def criticised(claim: Claim, evidence: Evidence, services: Services) -> Claim:
    """Add what the critic says is wrong to a claim that is not fully supported, unless a rule has given a reason."""
    if claim["quote"] is None or SUPPORT.leaning(claim["verdict"]) == "fully supported":
        return claim
    asked = _prompt_inputs(claim["text"], claim["context"], evidence)
    verdict = await services.critic.explain(SUPPORT, claim["verdict"], prompt=CRITICISE, **asked)
    return {**claim, "verdict": verdict}


def _prompt_inputs(text: str, context: str, evidence: Evidence) -> dict[str, str]:
    # The sentence that a pronoun refers to is put before the claim, so that the critic can resolve it.
    shown = with_lead_in(text, context)
    shown = shown if shown != text else f"{context} {shown}".strip()
    return {
        "question": as_data(evidence.asked or evidence.question),
        "passages": delimited(evidence.passages),
        "claim": as_data(shown),
    }


def quotes_or_reason(
    one: Statement, passages: Sequence[Passage], question: str, elsewhere: Sequence[Passage]
) -> list[Quote] | str:
    """Return the one or two quotes that support the statement, or the reason why none can."""
    if len(one.context) + len(one.text) > LONGEST_CLAIM:
        return "The statement is too long to check."
    missing = missing_facts(with_lead_in(one.text, one.context), passages, question, elsewhere=elsewhere)
    if missing:
        return f"{', '.join(missing)} stands in no passage."
    # A bare yes or no has no words of its own.
    said, least = (question, 0.0) if is_yes_or_no(one.text) else (one.text, None)
    quote = find_quote(said, passages, question, one.context, least)
    if quote is None:
        return "No passage says this."
    sources = {one["id"]: one["text"] for one in passages}
    text = sources[quote["passage"]]
    if states_condition_as_fact(one.text, text):
        return "It says as a fact what the passage says as a condition."
    quoted = text[quote["start"] : quote["end"]]
    if reason := of_another_row(quoted, text, question) or of_another_cell(one.text, quoted, question):
        return reason
    if is_unranked(quoted, question):
        return "One row does not tell which is the most."
    second = find_second_quote(one.text, passages, quote)
    return [quote, second] if second else [quote]


async def beside_the_opposite(
    one: Statement, quote: Quote, evidence: Evidence, services: Services, context: Context
) -> Verdict:
    """Judge a bare yes or no, and its opposite, by the quote's passage alone, and weigh one against the other.

    The log-odds of the verdict are those of the statement minus those of the opposite.
    """
    read = replace(evidence, passages=[passage for passage in evidence.passages if passage["id"] == quote["passage"]])
    words = both_ways(one.text, language_of(evidence.question))
    verdict, other = await gather(
        support_of(_prompt_inputs(word, one.context, read), services, context) for word in words
    )
    p, q = p_supported(verdict), p_supported(other)
    if p is None or q is None:
        refused = Verdict(label="no support", probabilities=None, reason="The critic takes the opposite for true too.")
        return {"no support": verdict, UNKNOWN: other}.get(other["label"], refused)
    p = expit(logit(p) - logit(q))
    probabilities = {"fully supported": p, "partially supported": 0.0, "no support": 1 - p}
    label = verdict["label"] if p >= 0.5 else "no support"
    return labelled({**verdict, "label": label, "probabilities": probabilities}, context)


async def support_of(asked: Mapping[str, Any], services: Services, context: Context) -> Verdict:
    """Return the critic's verdict on a claim, calibrated, and relabelled by the threshold for P(full) + P(partial)."""
    return labelled(services.fits.supported(await services.critic.choose(SUPPORT, **asked)), context)


def labelled(verdict: Verdict, context: Context) -> Verdict:
    """Return the verdict relabelled by the threshold for P(full) + P(partial); unchanged if no threshold is set."""
    least, probabilities = context.effective_thresholds.supported, verdict["probabilities"]
    if not least or not probabilities:
        return verdict
    kept = {label: p for label, p in probabilities.items() if label != "no support"}
    label = max(kept, key=lambda name: kept[name]) if sum(kept.values()) >= least else "no support"
    return Verdict(label=label, probabilities=probabilities, reason=verdict["reason"])


def unsupported(one: Statement, reason: str) -> Claim:
    """Return the statement as a claim that a rule found unsupported."""
    verdict = Verdict(label="no support", probabilities=None, reason=reason)
    return Claim(text=one.text, context=one.context, verdict=verdict, quote=None)
