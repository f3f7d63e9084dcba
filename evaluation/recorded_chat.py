"""A chat model whose replies are kept by prompt: none is paid for twice, and an interrupted run goes on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, messages_to_dict

from core.fingerprint import digest
from evaluation.judging.saved_replies import Replies
from models.calibration import EMBEDDED
from models.chat import Chat, max_call_tokens, usage_of
from models.critic import Critic
from models.generator import Generator
from models.usage import NodeBudget
from run.context import Services


class RecordedChat(Chat):
    """A chat that asks its model only what ``replies`` does not hold; ``asked`` counts the calls that it made.

    A reply that is kept is charged to the question's budget as it was.
    """

    def __init__(self, chat: Chat, replies: Replies) -> None:
        vars(self).update(vars(chat))
        self._replies = replies
        self.asked = 0

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
        """Return the reply that is kept, or else the model's."""
        new: list[AIMessage] = []

        async def call() -> dict[str, Any]:
            reply = await Chat.ask(
                self, messages, budget, max_tokens=max_tokens, temperature=temperature, tags=tags, bind=bind
            )
            self.asked += 1
            new.append(reply)
            return reply.model_dump(mode="json")

        kept = await self._replies.get_or_ask(self._key(messages, max_tokens, temperature, bind), {}, call)
        if new:
            return new[0]
        reply = AIMessage.model_validate(kept)
        bound = max_call_tokens(messages, max_tokens)
        await budget.admit(bound)
        budget.charge(bound, usage_of(reply, messages, max_tokens))
        return reply

    def _key(
        self,
        messages: Sequence[BaseMessage],
        max_tokens: int,
        temperature: float | None,
        bind: Mapping[str, Any] | None,
    ) -> str:
        """All that was asked, and the adapters that answer, by the SHA-256 of their files."""
        arguments = dict(bind or {})
        named = [one["id"] for one in arguments.get("extra_body", {}).get("lora", [])]
        adapters = [EMBEDDED.adapters[choice] for choice, number in self.adapters.items() if number in named]
        asked = [self.name, messages_to_dict(list(self.prepare(messages))), max_tokens, temperature, arguments]
        return digest(json.dumps([*asked, *adapters]))


def recorded(services: Services, replies: Replies) -> tuple[Services, list[RecordedChat]]:
    """Return the services over chats whose replies are kept; one chat if generator and critic share theirs."""
    generator, critic = cast("Generator", services.generator), cast("Critic", services.critic)
    writer = RecordedChat(generator.chat, replies)
    judge = writer if critic.chat is generator.chat else RecordedChat(critic.chat, replies)
    made = replace(services, generator=replace(generator, chat=writer), critic=replace(critic, chat=judge))
    return made, [writer] if judge is writer else [writer, judge]
