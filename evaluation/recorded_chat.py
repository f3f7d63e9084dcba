"""Chat models whose replies are kept by prompt: none is paid for twice, and an interrupted run can be resumed."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, messages_to_dict

from core.errors import RequestError
from core.fingerprint import digest
from core.text import is_blank
from evaluation.judging.saved_replies import Replies
from models.calibration import EMBEDDED
from models.chat import Chat, max_call_tokens, usable_text, usage_of
from models.critic import Critic
from models.failures import TransientModelError
from models.usage import NodeBudget
from run.context import Services


@dataclass
class Calls:
    """How many calls may be made, and how many were."""

    budget: int
    made: int = 0

    def count(self) -> None:
        """Count a call that is about to be made. Raises `RequestError` if no call is left."""
        if self.made >= self.budget:
            raise RequestError(f"The budget of {self.budget:,} calls is used up: give a larger one.")
        self.made += 1


class RecordedChat(Chat):
    """A chat that asks its model only for what ``replies`` lacks, and at most as often as ``calls`` allows.

    A kept reply is charged to the question's budget like a new one. An empty, refused or cut-off reply is not kept.
    """

    def __init__(self, chat: Chat, replies: Replies, calls: Calls) -> None:
        vars(self).update(vars(chat))
        self._replies, self._calls = replies, calls

    async def ask(
        self,
        messages: Sequence[BaseMessage],
        budget: NodeBudget,
        *,
        max_tokens: int,
        temperature: float | None = None,
        tags: Sequence[str] = (),
        bind: Mapping[str, Any] | None = None,
    ) -> AIMessage:
        """Return the kept reply to these messages; if there is none, ask the model.

        Raises `RequestError` if no call is left, and what `Chat.ask` raises.
        """
        new: list[AIMessage] = []

        async def call() -> dict[str, Any] | None:
            self._calls.count()
            arguments: dict[str, Any] = {"temperature": temperature, "tags": tags, "bind": bind}
            new.append(await Chat.ask(self, messages, budget, max_tokens=max_tokens, **arguments))
            return new[0].model_dump(mode="json") if self._answers(new[0], max_tokens) else None

        key = key_of_call(self, self.prepare(messages), max_tokens, temperature, bind)
        kept = await self._replies.get_or_ask(key, {}, call)
        if new:
            return new[0]
        reply, bound = AIMessage.model_validate(kept), max_call_tokens(messages, max_tokens)
        await budget.admit(bound)
        budget.charge(bound, usage_of(reply, messages, max_tokens))
        return reply

    def _answers(self, reply: AIMessage, max_tokens: int) -> bool:
        """Whether to keep the reply: it is not empty, refused or cut off, or is one token read for probabilities."""
        try:
            return max_tokens == 1 or not is_blank(usable_text(reply, self.name, max_tokens))
        except TransientModelError:
            return False


def key_of_call(
    chat: Chat,
    messages: Sequence[BaseMessage],
    max_tokens: int,
    temperature: float | None,
    bind: Mapping[str, Any] | None,
) -> str:
    """Return a hash of the call's arguments and of the LoRA adapters in use, given by the SHA-256 of their files."""
    arguments = dict(bind or {})
    named = [one["id"] for one in arguments.get("extra_body", {}).get("lora", [])]
    adapters = [EMBEDDED.adapters[choice] for choice, number in chat.adapters.items() if number in named]
    return digest(
        json.dumps([chat.name, messages_to_dict(list(messages)), max_tokens, temperature, arguments, *adapters])
    )


def with_recorded_chats(services: Services, replies: Replies, calls: Calls | None = None) -> Services:
    """Return ``services`` with chats that ask their models only what ``replies`` lacks; no limit without ``calls``."""
    calls = calls or Calls(sys.maxsize)
    generator, critic = services.generator, cast("Critic", services.critic)
    writer, judge = (RecordedChat(chat, replies, calls) for chat in (generator.chat, critic.chat))
    return replace(services, generator=replace(generator, chat=writer), critic=replace(critic, chat=judge))
