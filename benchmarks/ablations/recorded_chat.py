"""A chat model whose replies are kept with their seconds, so that an ablation costs only the calls that it changes."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from benchmarks.harness import WrappedSystem
from evaluation.judging.saved_replies import Replies
from evaluation.recorded_chat import Calls, RecordedChat, over_chats
from evaluation.records import Example, Record, System
from models.chat import Chat
from models.usage import NodeBudget, unlimited
from run.context import Context, Services

REMEMBERED = 60  # prompts that the server read, with the fixed part of each prompt among them
WORTH_READING = 400  # characters: a shorter prefix is not read again before a call that continues it
LONGEST = 36_000  # seconds of one question: no limit, as some calls are real and others are replayed
SECONDS = "seconds"  # of a reply's metadata


@dataclass
class Clock:
    """The seconds of model calls in one question: as recorded, and those that this process really waited for."""

    recorded: float = 0.0
    waited: float = 0.0


class TimedChat(RecordedChat):
    """A chat that asks its model only what ``replies`` does not hold. Calls are made one at a time.

    Where a reply is taken from the file, the server has not read its prompt. Before a call that continues such a
    prompt, the server is made to read it, so that the call's cached tokens and seconds are those of a run in which
    every call was made.
    """

    def __init__(self, chat: Chat, replies: Replies, clock: Clock) -> None:
        super().__init__(chat, replies, Calls(sys.maxsize))
        self._clock, self._turn = clock, asyncio.Lock()
        self._unread: list[Sequence[BaseMessage]] = []
        self._read: deque[str] = deque(maxlen=REMEMBERED)

    def begin(self) -> None:
        """Forget what was replayed for the question before."""
        self._unread = []

    async def ask_model(self, messages: Sequence[BaseMessage], budget: NodeBudget, **arguments: Any) -> AIMessage:
        """Return the model's reply, with the seconds that it took."""
        messages = self.prepare(messages)
        async with self._turn:
            began = time.perf_counter()
            await self._read_again(messages)
            asked_at = time.perf_counter()
            reply = await super().ask_model(messages, budget, **arguments)
            seconds = time.perf_counter() - asked_at
            self._clock.waited += time.perf_counter() - began
            self._clock.recorded += seconds
            self._read.append(_text(messages))
            reply.response_metadata[SECONDS] = seconds
            return reply

    async def replay(
        self, reply: AIMessage, messages: Sequence[BaseMessage], budget: NodeBudget, max_tokens: int
    ) -> AIMessage:
        """Return a reply that was kept, charged as it was, and count its seconds."""
        messages = self.prepare(messages)
        self._clock.recorded += reply.response_metadata[SECONDS]
        self._unread.append(messages)
        return await super().replay(reply, messages, budget, max_tokens)

    async def _read_again(self, messages: Sequence[BaseMessage]) -> None:
        """Let the server read the replayed prompt that this one continues, if it continues none that was read."""
        text = _text(messages)
        read = max((_shared(text, one) for one in self._read), default=0)
        best = max(self._unread, key=lambda one: _shared(text, _text(one)), default=None)
        if best is not None and _shared(text, _text(best)) > read + WORTH_READING:
            await super().ask_model(best, unlimited(), max_tokens=1)
            self._read.append(_text(best))
            self._unread.remove(best)


def recorded(services: Services, replies: Replies, clock: Clock) -> tuple[Services, list[TimedChat]]:
    """Return the services over chats whose replies are kept; one chat if generator and critic share theirs."""
    return over_chats(services, lambda chat: TimedChat(chat, replies, clock))


def with_recorded_time(system: System, chats: Sequence[TimedChat], clock: Clock) -> System:
    """Return a system over recorded models whose seconds are our own, and those of each call when it was made."""

    async def ask(example: Example) -> Record:
        for chat in chats:
            chat.begin()
        clock.recorded = clock.waited = 0.0
        began = time.perf_counter()
        record = await system.ask(example)
        record["cost"]["seconds"] = time.perf_counter() - began - clock.waited + clock.recorded
        return record

    return WrappedSystem(system.name, system.fingerprint, ask)


def without_time_limit(services: Services, context: Context) -> Context:
    """Return the context as the services complete it, without a limit of time."""
    context = services.completed(context)
    limits = context.effective_limits.model_copy(update={"seconds": LONGEST})
    return context.model_copy(update={"limits": limits})


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(one.text for one in messages)


def _shared(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
