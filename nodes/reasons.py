"""Give each verdict a reason that agrees with its final label: what code knows, else what the critic says."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.passages import stated_by
from core.types import UNKNOWN, Passage, Quote, Verdict
from grounding.reasons import Sign, contradicts, either, first_sentence, missing_words, quoted, sentence_for
from prompts.choice import Choice
from prompts.decide import RETRIEVE
from run.context import CriticLike

MODES = {
    "always": "Mode always searches for every question.",
    "never": "Mode never answers every question without documents.",
}
NO_VERDICT = "The critic gave no verdict."


async def verdict_with_reason(
    critic: CriticLike,
    choice: Choice,
    verdict: Verdict,
    known: str | None = None,
    *,
    otherwise: str | None = None,
    **inputs: Any,
) -> Verdict:
    """Return the verdict with ``known`` as its reason; where there is none, ask the critic.

    A critic's reason that contradicts the label, is about another question, or could not be had, is replaced by
    ``otherwise``, or by what the label means. An unknown verdict keeps its own reason.
    """
    if verdict["label"] == UNKNOWN:
        return with_reason(verdict, verdict["reason"] or NO_VERDICT)
    if known is None:
        asked = await critic.explain(choice, verdict, **inputs)
        said = first_sentence(asked["reason"] or "")
        # Whether the label approves, by its weight between the lowest and the highest.
        lowest, highest = min(choice.weights.values()), max(choice.weights.values())
        share = (choice.weights[verdict["label"]] - lowest) / (highest - lowest)
        sign: Sign = "positive" if share == 1 else "negative" if share <= 0.25 else "partial"
        wrong = said is None or contradicts(said, sign) or _strays(said, choice, inputs)
        known = otherwise if wrong else said
    return with_reason(verdict, known or choice.reasons[verdict["label"]])


def with_reason(verdict: Verdict, reason: str) -> Verdict:
    return Verdict(label=verdict["label"], probabilities=verdict["probabilities"], reason=reason)


def _strays(reason: str, choice: Choice, inputs: Mapping[str, Any]) -> bool:
    """True if the reason has words of the prompt's examples that the inputs lack: a small model confuses the two."""
    blank = dict.fromkeys(choice.messages.input_variables, "")
    system, *examples, _ = (one.text for one in choice.messages.format_messages(**blank))
    known = [system, *choice.reasons.values(), *inputs.values()]
    return missing_words(reason, known) != missing_words(reason, [*known, *examples])


def of_route(chosen: Verdict, verdict: Verdict, threshold: float) -> Verdict:
    """Return ``verdict`` with its reason: the kind of request or, if ``chosen`` has another label, the threshold."""
    label = verdict["label"]
    if label == UNKNOWN:
        return with_reason(verdict, verdict["reason"] or NO_VERDICT)
    if label == chosen["label"]:
        return with_reason(verdict, RETRIEVE.reasons[chosen.get("reply", label)])
    found = f"The probability that it needs the documents, {RETRIEVE.score(verdict):.3f},"
    reached = "reaches" if label == RETRIEVE.positive else "is below"
    return with_reason(verdict, f"{found} {reached} the threshold of {threshold:.3f}.")


def of_relevance(label: str, question: str, passage: Passage) -> str | None:
    """Return the label's reason: what the passage says, or words of the question that it lacks; None without one."""
    if label == "relevant":
        said = sentence_for(question, passage)
        return f"It says: {quoted(said)}" if said else None
    missing = missing_words(question, [stated_by(passage)])
    return f"It does not contain {either(missing)}." if missing else None


def of_support(label: str, claim: str, quote: Quote, passages: Sequence[Passage]) -> tuple[str | None, str | None]:
    """Return a reason for a verdict on a claim, and a second one for when the critic is asked and gives none.

    The first is what a passage says, or which words of the claim no passage has; None if the critic must be asked.
    """
    text = next(passage["text"] for passage in passages if passage["id"] == quote["passage"])
    said = quoted(text[quote["start"] : quote["end"]])
    if label == "fully supported":
        return f"A passage says: {said}", None
    missing = missing_words(claim, list(map(stated_by, passages)))
    absent = f"No passage contains {either(missing)}." if missing else None
    if label == "no support":
        return absent, f"The nearest that a passage says is: {said}"
    return absent and f"A passage says: {said} {absent}", f"A passage says only: {said}"
