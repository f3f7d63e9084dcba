"""The model that judges: one label from a short list, by token probability if the server reports it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate

from core.types import UNKNOWN, Verdict
from models.chat import Chat, usable_text
from models.failures import TransientModelError, UnusableRequestError
from models.usage import LimitReachedError, NodeBudget, unlimited
from prompts.choice import Choice
from prompts.explain import EXPLAIN

ReplyFormat = Literal["logprobs", "schema", "text"]
TOP_LOGPROBS = 20
MIN_MASS = 0.05
MAX_MISSES = 3
STRUCTURED_TOKENS = 400
REASON_TOKENS = 60
REPLY_FORMATS: tuple[ReplyFormat, ...] = ("logprobs", "schema", "text")


@dataclass
class FormatSelection:
    """The reply format this model is asked for, found at the first calls and kept for later calls.

    ``proven`` is True once this format gave a verdict. Until then a first token that is no label may be the first word
    of reasoning: many chat templates write its opening ``<think>`` themselves. ``misses`` counts the verdicts in a row
    for which this format failed and a later one worked.
    """

    current: ReplyFormat = "logprobs"
    proven: bool = False
    misses: int = 0

    def remaining(self) -> tuple[ReplyFormat, ...]:
        """Return the formats that may still work, the current one first."""
        return REPLY_FORMATS[REPLY_FORMATS.index(self.current) :]

    def accepts(self, used: ReplyFormat, verdict: Verdict) -> bool:
        """Mark the current format as proven if it gave a label; return False if the reply may be reasoning."""
        if used == self.current and verdict["label"] != UNKNOWN:
            self.proven, self.misses = True, 0
        return self.proven or used != "logprobs"

    def record_fallback(self, used: ReplyFormat, *, thought: bool) -> None:
        """Record that ``used`` worked after the current format failed; switch to ``used`` if that happens too often.

        A proven format may fail `MAX_MISSES` times in a row; an unproven one once if the model reasoned (``thought``).
        """
        if used not in self.remaining()[1:]:
            return
        self.misses += 1
        if self.misses > (MAX_MISSES if self.proven else thought):
            self.current, self.proven, self.misses = used, False, 0


@dataclass(frozen=True)
class Critic:
    """Chooses one label. It never raises for an unusable reply: the verdict is then ``unknown``."""

    chat: Chat
    format_selection: FormatSelection = field(default_factory=FormatSelection)
    budget: NodeBudget = field(default_factory=unlimited)

    def with_budget(self, budget: NodeBudget) -> Critic:
        """Return a copy whose calls are charged to ``budget``. Without one, calls have no limit."""
        return replace(self, budget=budget)

    async def choose(self, choice: Choice, **inputs: Any) -> Verdict:
        """Ask for one label of ``choice``, with ``inputs`` in its prompt, and return the verdict.

        A call that fails after its retries, or that the budget does not allow, gives ``unknown``; the budget keeps the
        failure. Raises `ModelError` only for what no retry mends: the server cannot be reached, or refuses the key or
        the model.
        """
        messages = choice.messages.format_messages(**inputs)
        try:
            return await self._verdict(choice, messages)
        except LimitReachedError as reached:
            return choice.unknown(f"Not asked: {reached.reason}.")
        except (TransientModelError, UnusableRequestError) as failure:
            self.budget.failure = str(failure)
            return choice.unknown(self.budget.failure)

    async def explain(
        self, choice: Choice, verdict: Verdict, *, prompt: ChatPromptTemplate = EXPLAIN, **inputs: Any
    ) -> Verdict:
        """Add the critic's reason, in one sentence, to the verdict; leave it out if that call fails."""
        if verdict["label"] == UNKNOWN:
            return verdict
        label = verdict["label"]
        word = next((word for word, meant in choice.replies.items() if meant == label), "")
        why = prompt.format_messages(verdict=f"{label}. {choice.reasons.get(label, '')}".strip())
        ask = [*choice.messages.format_messages(**inputs), AIMessage(word), *why]
        try:
            reply = await self.chat.ask(ask, self.budget, max_tokens=REASON_TOKENS, tags=["nostream"])
            answer = usable_text(reply, self.chat.name, REASON_TOKENS, self.chat.secrets)
        except (LimitReachedError, TransientModelError):
            return verdict
        reason = " ".join(answer.split()) or None
        return Verdict(label=verdict["label"], probabilities=verdict["probabilities"], reason=reason)

    async def _verdict(self, choice: Choice, messages: list[BaseMessage]) -> Verdict:
        """Use the first reply format that works.

        Raises `UnusableRequestError` for a request refused in every form, e.g. for its length.
        """
        refusal, thought = "The model does not support this request.", False
        for reply_format in self.format_selection.remaining():
            try:
                verdict = await self._ask(choice, messages, reply_format)
            except UnusableRequestError as error:
                refusal = str(error)
                continue
            if verdict is None:
                continue
            if not self.format_selection.accepts(reply_format, verdict):
                refusal, thought = verdict["reason"] or refusal, True
                continue
            if verdict["label"] != UNKNOWN:
                self.format_selection.record_fallback(reply_format, thought=thought)
            return verdict
        raise UnusableRequestError(refusal)

    async def _ask(self, choice: Choice, messages: list[BaseMessage], reply_format: ReplyFormat) -> Verdict | None:
        """Ask for one verdict by ``reply_format``; return None if this model does not support it."""
        if reply_format == "logprobs":
            bind: dict[str, Any] = {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
            if choice.name in self.chat.adapters:
                bind["extra_body"] = {"lora": [{"id": self.chat.adapters[choice.name], "scale": 1.0}]}
            reply = await self.chat.ask(messages, self.budget, max_tokens=1, tags=["nostream"], bind=bind)
            top = first_token(reply)
            if top is None or any(token.strip().startswith(("<think", "<|")) for token in top):
                return None
            return by_probability(choice, top)
        if reply_format == "schema":
            bind = {"response_format": schema_of_word(choice.name, "label", list(choice.replies))}
            ask = messages
        else:
            bind = {}
            words = ", ".join(choice.replies)
            ask = [*messages[:-1], HumanMessage(f"{messages[-1].text}\nReply with one word of: {words}.")]
        reply = await self.chat.ask(ask, self.budget, max_tokens=STRUCTURED_TOKENS, tags=["nostream"], bind=bind)
        return by_reply(choice, usable_text(reply, self.chat.name, STRUCTURED_TOKENS, self.chat.secrets))


def first_token(reply: AIMessage) -> Mapping[str, float] | None:
    """Return the log-probability of each candidate for the first token; None if the server reports no valid ones."""
    found: dict[str, float] = {}
    try:
        top = reply.response_metadata["logprobs"]["content"][0]["top_logprobs"]
    except (LookupError, TypeError):
        return None
    for entry in top if isinstance(top, list) else ():
        token, value = (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None)
        if isinstance(token, str) and isinstance(value, int | float) and value <= 1e-6:
            with suppress(OverflowError):  # an integer that no float can hold
                found[token] = max(found.get(token, -math.inf), float(value))
    return found or None


def by_probability(choice: Choice, top: Mapping[str, float]) -> Verdict:
    """Return the verdict by the probabilities of a first token; "Yes", "yes" and " yes" count as one word."""
    mass = dict.fromkeys(choice.labels, 0.0)
    replies = dict.fromkeys(choice.replies, 0.0)
    for token, logprob in top.items():
        word = token.strip().casefold()
        begun = [reply for reply in choice.replies if word and reply.startswith(word)]
        if len({choice.replies[reply] for reply in begun}) == 1:
            mass[choice.replies[begun[0]]] += math.exp(logprob)
        if len(begun) == 1:
            replies[begun[0]] += math.exp(logprob)
    total = sum(mass.values())
    if total < MIN_MASS:
        return choice.unknown("The reply was none of the labels.")
    probabilities = {label: value / total for label, value in mass.items()}
    label = max(probabilities, key=lambda name: probabilities[name])
    return _with_reply(choice, Verdict(label=label, probabilities=probabilities, reason=None), replies)


def schema_of_word(name: str, key: str, words: list[str]) -> dict[str, Any]:
    """Return the JSON schema of a reply that has one of the words under the key, and nothing else."""
    schema = {
        "type": "object",
        "properties": {key: {"type": "string", "enum": words}},
        "required": [key],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def by_reply(choice: Choice, text: str) -> Verdict:
    """Parse the label from a written reply: the bare word, or the ``label`` of a JSON object."""
    begin, end = text.find("{"), text.rfind("}") + 1
    if 0 <= begin < end:
        try:
            values = json.loads(text[begin:end])
        except (ValueError, RecursionError):
            return choice.unknown("The reply was malformed JSON.")
        value = values.get("label") if isinstance(values, dict) else None
        text = str(value) if isinstance(value, str | int) else ""
    label = choice.label_of(text)
    if label == UNKNOWN:
        return choice.unknown("The reply was none of the labels.")
    return _with_reply(choice, Verdict(label=label, probabilities=None, reason=None), {choice.word_of(text): 1.0})


def _with_reply(choice: Choice, verdict: Verdict, replies: Mapping[str, float]) -> Verdict:
    """Add the most probable reply word to the verdict if several words mean its label."""
    words = [word for word, label in choice.replies.items() if label == verdict["label"]]
    best = max(words, key=lambda word: replies.get(word, 0.0))
    return {**verdict, "reply": best} if len(words) > 1 and replies.get(best) else verdict
