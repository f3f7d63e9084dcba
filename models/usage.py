"""What a question has cost so far, and the fence that it may not cross."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from core.types import LimitReason, Usage, add_usage, no_usage


class LimitReachedError(Exception):
    """A model call was not made because it could have crossed a limit; ``reason`` is the stop reason."""

    def __init__(self, reason: LimitReason) -> None:
        super().__init__(reason)
        self.reason: LimitReason = reason


@dataclass(frozen=True)
class Reserve:
    """What a node leaves for those after it: so many calls, and this share of all tokens and of all seconds."""

    calls: int = 0
    share: float = 0.0


NOTHING_RESERVED = Reserve()


@dataclass
class Budget:
    """The budget of one question. Calls are admitted against the most they can cost, then settled with what they did.

    ``began`` is in seconds of ``time.monotonic()``. What calls under way may cost is held back, so that calls made side
    by side cannot cross the limit together. A total belongs to one event loop.
    """

    calls: int
    tokens: int
    seconds: float
    began: float = field(default_factory=time.monotonic)
    spent: Usage = field(default_factory=no_usage)
    held_calls: int = 0
    held_tokens: int = 0
    _settled: asyncio.Event = field(default_factory=asyncio.Event, repr=False, compare=False)

    async def admit(self, most: int, reserve: Reserve = NOTHING_RESERVED) -> None:
        """Hold one call of at most ``most`` tokens, input and output together, or raise `LimitReachedError`.

        A call that would fit but for what others hold waits until they are settled, which is mostly for far less.
        """
        while True:
            if self.seconds_left(reserve) <= 0:
                raise LimitReachedError("limit_seconds")
            if self.spent["model_calls"] + self.held_calls + 1 + reserve.calls > self.calls:
                raise LimitReachedError("limit_calls")
            free = self.tokens * (1 - reserve.share) - self.spent["input_tokens"] - self.spent["output_tokens"]
            if most > free:
                raise LimitReachedError("limit_tokens")
            if most + self.held_tokens <= free:
                break
            self._settled.clear()
            await self._settled.wait()
        self.held_calls += 1
        self.held_tokens += most

    def charge(self, most: int, cost: Usage) -> None:
        """Replace a held call by what it cost."""
        self.held_calls -= 1
        self.held_tokens -= most
        self.spent = add_usage(self.spent, cost)
        self._settled.set()

    def adopt_checkpointed_usage(self, spent: Usage) -> None:
        """Count what was spent without this total: by a node that finished beside one with which its process died."""
        if spent["model_calls"] > self.spent["model_calls"]:
            self.spent = spent

    def seconds_left(self, reserve: Reserve = NOTHING_RESERVED) -> float:
        """Seconds until the end of those given, or until what is reserved of them; negative after it."""
        return self.seconds * (1 - reserve.share) - self.seconds_spent()

    def seconds_spent(self) -> float:
        """Seconds since the question was asked, without those in which an interrupted run stood still."""
        return time.monotonic() - self.began


@dataclass
class NodeBudget:
    """One node's share of a total: what this node spent, and the limit that it ran into, if any."""

    total: Budget
    reserve: Reserve = NOTHING_RESERVED
    spent: Usage = field(default_factory=no_usage)
    limit: LimitReason | None = None

    async def admit(self, most: int) -> None:
        """As `Budget.admit`, leaving the node's reserve; remembers the limit."""
        try:
            await self.total.admit(most, self.reserve)
        except LimitReachedError as reached:
            self.limit = reached.reason
            raise

    def charge(self, most: int, cost: Usage) -> None:
        """As `Budget.charge`; adds to this node's own."""
        self.total.charge(most, cost)
        self.spent = add_usage(self.spent, cost)

    def seconds_left(self) -> float:
        """Seconds that this node may still take."""
        return self.total.seconds_left(self.reserve)

    def out_of_time(self) -> LimitReachedError:
        """The error of a node that may take no more; remembers the limit."""
        self.limit = "limit_seconds"
        return LimitReachedError(self.limit)
