"""A chat model whose replies are kept by prompt, so that an ablation costs only the calls that it changes."""

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from benchmarks.harness import WrappedSystem
from evaluation.recorded_chat import charged, key_of_call, over_chats
from evaluation.records import Example, Record, System
from models.chat import Chat
from models.usage import NodeBudget, unlimited
from run.context import Context, Services

REMEMBERED = 60  # prompts that the server read, with the fixed part of each prompt among them
WORTH_READING = 400  # characters: a shorter prefix is not read again before a call that continues it
SECONDS = 36_000  # of one question: no limit of time, as some calls are real and others are replayed


class Replies:
    """The replies of one file, by the SHA-256 of all that was asked, and of the adapter that was asked."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path)
        self._database.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT, seconds REAL)")

    def get(self, key: str) -> tuple[AIMessage, float] | None:
        """Return the reply and its seconds, None if it was never asked."""
        row = self._database.execute("SELECT reply, seconds FROM replies WHERE key = ?", (key,)).fetchone()
        return (AIMessage.model_validate_json(row[0]), row[1]) if row else None

    def put(self, key: str, reply: AIMessage, seconds: float) -> None:
        """Keep a reply durably."""
        with self._database:
            self._database.execute(
                "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", (key, reply.model_dump_json(), seconds)
            )


@dataclass
class Clock:
    """The seconds of model calls in one question: as recorded, and those that this process really waited for."""

    recorded: float = 0.0
    waited: float = 0.0


class RecordedChat(Chat):
    """A chat that asks its model only what ``replies`` does not hold. Calls are made one at a time.

    Where a reply is taken from the file, the server has not read its prompt. Before a call that continues such a
    prompt, the server is made to read it, so that the call's cached tokens and seconds are those of a run in which
    every call was made.
    """

    def __init__(self, chat: Chat, replies: Replies, clock: Clock) -> None:
        vars(self).update(vars(chat))
        self._replies, self._clock, self._turn = replies, clock, asyncio.Lock()
        self._unread: list[Sequence[BaseMessage]] = []
        self._read: deque[str] = deque(maxlen=REMEMBERED)

    def begin(self) -> None:
        """Forget what was replayed for the question before."""
        self._unread = []

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
        """Return the reply that is kept, charged as it was, or else the model's."""
        messages = self.prepare(messages)
        key = key_of_call(self, messages, max_tokens, temperature, bind)
        async with self._turn:
            kept = self._replies.get(key)
            if kept:
                reply, seconds = kept
                await charged(reply, messages, budget, max_tokens)
                self._unread.append(messages)
            else:
                began = time.perf_counter()
                await self._read_again(messages)
                asked_at = time.perf_counter()
                reply = await super().ask(
                    messages, budget, max_tokens=max_tokens, temperature=temperature, tags=tags, bind=bind
                )
                seconds = time.perf_counter() - asked_at
                self._clock.waited += time.perf_counter() - began
                self._read.append(_text(messages))
                self._replies.put(key, reply, seconds)
            self._clock.recorded += seconds
            return reply

    async def _read_again(self, messages: Sequence[BaseMessage]) -> None:
        """Let the server read the replayed prompt that this one continues, if it continues none that was read."""
        text = _text(messages)
        read = max((_shared(text, one) for one in self._read), default=0)
        best = max(self._unread, key=lambda one: _shared(text, _text(one)), default=None)
        if best is not None and _shared(text, _text(best)) > read + WORTH_READING:
            await super().ask(best, unlimited(), max_tokens=1)
            self._read.append(_text(best))
            self._unread.remove(best)


def recorded(services: Services, replies: Replies, clock: Clock) -> tuple[Services, list[RecordedChat]]:
    """Return the services over chats whose replies are kept; one chat if generator and critic share theirs."""
    return over_chats(services, lambda chat: RecordedChat(chat, replies, clock))


def with_recorded_time(system: System, chats: Sequence[RecordedChat], clock: Clock) -> System:
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
    limits = context.effective_limits.model_copy(update={"seconds": SECONDS})
    return context.model_copy(update={"limits": limits})


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(one.text for one in messages)


def _shared(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
