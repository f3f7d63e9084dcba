"""The model that writes: drafts, queries and direct answers."""

import math
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import ChatPromptTemplate

from core.errors import ModelError
from core.text import is_blank
from models.chat import Chat, usable_text
from models.failures import TransientModelError, UnusableRequestError
from models.usage import NodeBudget, unlimited

ANSWER_TAG = "answer"


@dataclass(frozen=True)
class Generator:
    """Writes a text from a prompt."""

    chat: Chat
    budget: NodeBudget = field(default_factory=unlimited)

    def with_budget(self, budget: NodeBudget) -> Self:
        return replace(self, budget=budget)

    async def write(
        self,
        messages: ChatPromptTemplate,
        *,
        max_tokens: int,
        temperature: float | None = None,
        hidden: bool = False,
        **inputs: Any,
    ) -> str:
        """Return the reply's text, without reasoning. ``hidden`` keeps it out of ``messages`` streaming.

        Without ``temperature`` the model's own is used, which is 0 for the models that the settings name.

        Raises `ModelError` if the model fails after its retries, refuses, gives an empty answer, or is cut off; the
        budget keeps the failure, for a node that goes on without the text.
        """
        tags = ["nostream"] if hidden else [ANSWER_TAG]
        asked = messages.format_messages(**inputs)
        try:
            return (await self._written(asked, max_tokens, temperature=temperature, tags=tags))[0]
        except ModelError as failure:
            self.budget.failure = str(failure)
            raise

    async def write_scored(
        self, messages: ChatPromptTemplate, *, max_tokens: int, temperature: float | None = None, **inputs: Any
    ) -> tuple[str, float | None]:
        """Return the text as `write` does, and its tokens' mean probability (geometric); None if none is reported."""
        given: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature, "tags": [ANSWER_TAG]}
        asked = messages.format_messages(**inputs)
        try:
            text, reply = await self._written(asked, **given, bind={"logprobs": True})
        except UnusableRequestError:
            text, reply = await self._written(asked, **given)
        return text, token_probability(reply)

    async def _written(self, asked: list[BaseMessage], max_tokens: int, **given: Any) -> tuple[str, AIMessage]:
        reply = await self.chat.ask(asked, self.budget, max_tokens=max_tokens, **given)
        text = usable_text(reply, self.chat.name, max_tokens, self.chat.secrets)
        if is_blank(text):
            raise TransientModelError(f"{self.chat.name} gave an empty answer.")
        return text, reply


def token_probability(reply: AIMessage) -> float | None:
    """Return the geometric mean of the probabilities of a reply's tokens; None if the server reports none."""
    try:
        return math.exp(fmean(entry["logprob"] for entry in reply.response_metadata["logprobs"]["content"]))
    except (LookupError, TypeError, ValueError, OverflowError):
        return None
