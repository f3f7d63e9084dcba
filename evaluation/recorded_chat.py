"""Chat models whose replies are kept by prompt: none is paid for twice, and an interrupted run goes on."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, messages_to_dict

from core.errors import RequestError
from core.fingerprint import digest
from core.text import is_blank
from evaluation.judging.saved_replies import Replies
from models.calibration import EMBEDDED
from models.chat import Chat, answer_of, max_call_tokens, usage_of
from models.critic import Critic
from models.failures import TransientModelError
from models.usage import NodeBudget
from run.context import Services

Recorded = TypeVar("Recorded", bound=Chat)


@dataclass
class Calls:
    """How many calls may be made, and how many were."""

    budget: int
    made: int = 0

    def count(self) -> None:
        """Count one that is about to be made. Raises `RequestError` where none is left."""
        if self.made >= self.budget:
            raise RequestError(f"The budget of {self.budget:,} calls is used up: give a larger one.")
        self.made += 1


class RecordedChat(Chat):
    """A chat that asks its model, within ``calls``, only what ``replies`` does not hold.

    A reply that is kept is charged to the question's budget as it was. One that is no answer is not kept.
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
        """Return the reply that is kept, or else the model's. Raises `RequestError` where no call is left."""
        new: list[AIMessage] = []

        async def call() -> dict[str, Any] | None:
            self._calls.count()
            arguments: dict[str, Any] = {"temperature": temperature, "tags": tags, "bind": bind}
            new.append(await self.ask_model(messages, budget, max_tokens=max_tokens, **arguments))
            return new[0].model_dump(mode="json") if self._answers(new[0], max_tokens) else None

        key = key_of_call(self, self.prepare(messages), max_tokens, temperature, bind)
        kept = await self._replies.get_or_ask(key, {}, call)
        return new[0] if new else await self.replay(AIMessage.model_validate(kept), messages, budget, max_tokens)

    def _answers(self, reply: AIMessage, max_tokens: int) -> bool:
        """Whether the reply is neither empty, refused nor cut off; of one token what counts is its probability."""
        try:
            return max_tokens == 1 or not is_blank(answer_of(reply, self.name, max_tokens))
        except TransientModelError:
            return False

    async def ask_model(self, messages: Sequence[BaseMessage], budget: NodeBudget, **arguments: Any) -> AIMessage:
        """Return the model's own reply."""
        return await super().ask(messages, budget, **arguments)

    async def replay(
        self, reply: AIMessage, messages: Sequence[BaseMessage], budget: NodeBudget, max_tokens: int
    ) -> AIMessage:
        """Return a reply that was kept, charged to the budget as it was. Raises `LimitReachedError`."""
        bound = max_call_tokens(messages, max_tokens)
        await budget.admit(bound)
        budget.charge(bound, usage_of(reply, messages, max_tokens))
        return reply


def key_of_call(
    chat: Chat,
    messages: Sequence[BaseMessage],
    max_tokens: int,
    temperature: float | None,
    bind: Mapping[str, Any] | None,
) -> str:
    """Return a hash of all that is asked, and of the adapters that answer, by the SHA-256 of their files."""
    arguments = dict(bind or {})
    named = [one["id"] for one in arguments.get("extra_body", {}).get("lora", [])]
    adapters = [EMBEDDED.adapters[choice] for choice, number in chat.adapters.items() if number in named]
    return digest(
        json.dumps([chat.name, messages_to_dict(list(messages)), max_tokens, temperature, arguments, *adapters])
    )


def over_chats(services: Services, made: Callable[[Chat], Recorded]) -> tuple[Services, list[Recorded]]:
    """Return the services over what is made of their chats; one if generator and critic share theirs."""
    generator, critic = services.generator, cast("Critic", services.critic)
    writer = made(generator.chat)
    judge = writer if critic.chat is generator.chat else made(critic.chat)
    bound = replace(services, generator=replace(generator, chat=writer), critic=replace(critic, chat=judge))
    return bound, [writer] if judge is writer else [writer, judge]
