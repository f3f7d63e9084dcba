"""The model that writes: drafts, queries and direct answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from langchain_core.prompts import ChatPromptTemplate

from core.text import is_blank
from models.chat import Chat, answer_of
from models.failures import TransientModelError
from models.usage import NodeBudget

ANSWER_TAG = "answer"


@dataclass(frozen=True)
class Generator:
    """Writes a text from a prompt. ``budget`` is the budget of the node that writes; see `with_budget`."""

    chat: Chat
    budget: NodeBudget | None = None

    def with_budget(self, budget: NodeBudget) -> Generator:
        """The same generator, paying from ``budget``."""
        return replace(self, budget=budget)

    async def write(self, messages: ChatPromptTemplate, *, max_tokens: int, hidden: bool = False, **inputs: Any) -> str:
        """The reply's text, without thoughts. ``hidden`` keeps it out of ``messages`` streaming.

        Raises `ModelError` when the model fails after its retries, refuses, answers nothing at all, or does not end.
        """
        if self.budget is None:
            raise RuntimeError("a generator writes only with a budget: call with_budget() first")
        tags = ["nostream"] if hidden else [ANSWER_TAG]
        reply = await self.chat.ask(messages.format_messages(**inputs), self.budget, max_tokens=max_tokens, tags=tags)
        text = answer_of(reply, self.chat.name, max_tokens, self.chat.secrets)
        if is_blank(text):
            raise TransientModelError(f"{self.chat.name} answered with nothing.")
        return text
