"""The model that writes: drafts, queries and direct answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate

from core.text import is_blank
from core.types import Token
from models.chat import Chat, answer_of
from models.failures import TransientModelError
from models.usage import NodeBudget, unlimited

ANSWER_TAG = "answer"
LARGEST_LOGPROB = 1e-6  # rounding included


@dataclass(frozen=True)
class Generator:
    """Writes a text from a prompt."""

    chat: Chat
    budget: NodeBudget = field(default_factory=unlimited)

    def with_budget(self, budget: NodeBudget) -> Generator:
        """Return a copy whose calls are charged to ``budget``; the default has no limit."""
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

        Raises `ModelError` if the model fails after its retries, refuses, gives an empty answer, or is cut off.
        """
        text, _ = await self._reply(messages, max_tokens, temperature, inputs, hidden=hidden)
        return text

    async def write_scored(
        self,
        messages: ChatPromptTemplate,
        *,
        max_tokens: int,
        temperature: float | None = None,
        hidden: bool = False,
        **inputs: Any,
    ) -> tuple[str, list[Token]]:
        """As `write`, with the reply's tokens and their log-probabilities; [] if the server reports none."""
        bind = {"logprobs": True}
        text, reply = await self._reply(messages, max_tokens, temperature, inputs, hidden=hidden, bind=bind)
        return text, tokens_of(reply)

    async def _reply(
        self,
        messages: ChatPromptTemplate,
        max_tokens: int,
        temperature: float | None,
        inputs: Mapping[str, Any],
        *,
        hidden: bool,
        bind: Mapping[str, Any] | None = None,
    ) -> tuple[str, AIMessage]:
        tags = ["nostream"] if hidden else [ANSWER_TAG]
        asked = messages.format_messages(**inputs)
        reply = await self.chat.ask(
            asked, self.budget, max_tokens=max_tokens, temperature=temperature, tags=tags, bind=bind
        )
        text = answer_of(reply, self.chat.name, max_tokens, self.chat.secrets)
        if is_blank(text):
            raise TransientModelError(f"{self.chat.name} gave an empty answer.")
        return text, reply


def tokens_of(reply: AIMessage) -> list[Token]:
    """Return the tokens of a reply with their log-probabilities; [] if the server reports none, or malformed ones."""
    reported = reply.response_metadata.get("logprobs")
    content = reported.get("content") if isinstance(reported, dict) else None
    found = []
    for entry in content if isinstance(content, list) else ():
        text, value = (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None)
        if not isinstance(text, str) or not isinstance(value, int | float) or value > LARGEST_LOGPROB:
            return []
        found.append((text, float(value)))
    return found
