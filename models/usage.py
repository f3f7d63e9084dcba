"""What a question may cost, and what it has cost so far."""

import asyncio
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from core.types import LimitReason, Usage, add_usage, no_usage


class LimitReachedError(Exception):
    """A model call was refused because it could have exceeded a limit; ``reason`` is the stop reason."""

    def __init__(self, reason: LimitReason) -> None:
        super().__init__(reason)
        self.reason: LimitReason = reason


@dataclass(frozen=True)
class Reserve:
    """What a node leaves for other nodes: a number of calls, and a share of all tokens and of all seconds."""

    calls: int = 0
    share: float = 0.0


NOTHING_RESERVED = Reserve()


@dataclass
class Meter:
    """What the model calls within `metered` have cost, even if the question ends without a result."""

    spent: Usage = field(default_factory=no_usage)


_meter: ContextVar[Meter | None] = ContextVar("selfrag_meter", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Add to ``meter`` what is charged to any budget within the block."""
    token = _meter.set(meter)
    try:
        yield
    finally:
        _meter.reset(token)


@dataclass
class Budget:
    """The budget of one question. A call is admitted if its maximum cost fits, and charged its actual cost.

    ``began`` is in seconds of ``time.monotonic()``. The maximum cost of running calls is held, so that concurrent calls
    cannot exceed a limit together. A budget belongs to one event loop.
    """

    calls: int
    tokens: int
    seconds: float
    began: float = field(default_factory=time.monotonic)
    spent: Usage = field(default_factory=no_usage)
    held_calls: int = 0
    held_tokens: int = 0
    _charged: asyncio.Event = field(default_factory=asyncio.Event, repr=False, compare=False)

    async def admit(self, bound: int, reserve: Reserve = NOTHING_RESERVED) -> None:
        """Hold one call of at most ``bound`` tokens, input and output together, or raise `LimitReachedError`.

        If the call does not fit because running calls hold tokens, wait until these calls end: most cost less.
        """
        while True:
            if self.seconds_left(reserve) <= 0:
                raise LimitReachedError("limit_seconds")
            if self.calls_made() + 1 + reserve.calls > self.calls:
                raise LimitReachedError("limit_calls")
            free = self.tokens * (1 - reserve.share) - self.spent["input_tokens"] - self.spent["output_tokens"]
            if bound > free:
                raise LimitReachedError("limit_tokens")
            if bound + self.held_tokens <= free:
                break
            self._charged.clear()
            await self._charged.wait()
        self.held_calls += 1
        self.held_tokens += bound

    def calls_made(self) -> int:
        """Return the number of calls so far, including running ones."""
        return self.spent["model_calls"] + self.held_calls

    def charge(self, bound: int, cost: Usage) -> None:
        """Replace a held call by its actual cost."""
        self.held_calls -= 1
        self.held_tokens -= bound
        self.spent = add_usage(self.spent, cost)
        if meter := _meter.get():
            meter.spent = add_usage(meter.spent, cost)
        self._charged.set()

    def adopt_checkpointed_usage(self, spent: Usage) -> None:
        """Adopt checkpointed usage when resuming after a crash."""
        if spent["model_calls"] > self.spent["model_calls"]:
            self.spent = spent

    def seconds_left(self, reserve: Reserve = NOTHING_RESERVED) -> float:
        """Return the seconds until the limit, less the reserve; negative after the limit."""
        return self.seconds * (1 - reserve.share) - self.seconds_spent()

    def seconds_spent(self) -> float:
        """Return the seconds since the question was asked, not counting interruptions."""
        return time.monotonic() - self.began


@dataclass
class NodeBudget:
    """One node's view of the budget: its reserve for others, what it spent, and the limit that it reached, if any.

    ``failure`` says why a call gave no verdict or text; None if no call failed.
    """

    total: Budget
    reserve: Reserve = NOTHING_RESERVED
    spent: Usage = field(default_factory=no_usage)
    limit: LimitReason | None = None
    failure: str | None = None
    calls: int = 0  # calls of this node, including running ones

    def __post_init__(self) -> None:
        self._before = self.total.calls_made()

    async def admit(self, bound: int) -> None:
        """Admit a call as `Budget.admit` does; each call that other nodes made meanwhile takes one from the reserve."""
        by_others = self.total.calls_made() - self._before - self.calls
        reserve = replace(self.reserve, calls=max(0, self.reserve.calls - by_others))
        try:
            await self.total.admit(bound, reserve)
        except LimitReachedError as reached:
            self.limit = reached.reason
            raise
        self.calls += 1

    def charge(self, bound: int, cost: Usage) -> None:
        """Charge a call as `Budget.charge`, and add its cost to what this node spent."""
        self.total.charge(bound, cost)
        self.spent = add_usage(self.spent, cost)
        self.calls += cost["model_calls"] - 1

    def seconds_left(self) -> float:
        """Return the seconds that this node may still take."""
        return self.total.seconds_left(self.reserve)

    def out_of_time(self) -> LimitReachedError:
        """Return the error of a node whose time is up."""
        self.limit = "limit_seconds"
        return LimitReachedError(self.limit)


def unlimited() -> NodeBudget:
    """Return a budget without limits, for a model tried outside of a question."""
    return NodeBudget(Budget(calls=sys.maxsize, tokens=sys.maxsize, seconds=math.inf))
