"""What a question has cost so far, and the fence that it may not cross."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal, TypedDict

LimitReason = Literal["limit_calls", "limit_tokens", "limit_seconds"]


class Usage(TypedDict):
    """Model calls (retries included) and tokens; ``estimated`` when a server did not report some of them."""

    model_calls: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    estimated: bool


def no_usage() -> Usage:
    """Nothing spent."""
    return Usage(model_calls=0, input_tokens=0, cached_input_tokens=0, output_tokens=0, estimated=False)


def add_usage(one: Usage, other: Usage) -> Usage:
    """The sum of two, which is the reducer of the state's ``usage``."""
    return Usage(
        model_calls=one["model_calls"] + other["model_calls"],
        input_tokens=one["input_tokens"] + other["input_tokens"],
        cached_input_tokens=one["cached_input_tokens"] + other["cached_input_tokens"],
        output_tokens=one["output_tokens"] + other["output_tokens"],
        estimated=one["estimated"] or other["estimated"],
    )


class LimitReachedError(Exception):
    """A model call was not made because it could have crossed a limit; ``reason`` is the stop reason."""

    def __init__(self, reason: LimitReason) -> None:
        super().__init__(reason)
        self.reason: LimitReason = reason


@dataclass
class Meter:
    """The budget of one question. Calls are admitted against an estimate, then settled with what they cost.

    ``deadline`` is in seconds of ``time.time()``. Tokens of calls under way are held back, so that calls
    made side by side cannot cross the limit together.
    """

    calls: int
    tokens: int
    deadline: float
    spent: Usage = field(default_factory=no_usage)
    held_calls: int = 0
    held_tokens: int = 0

    def admit(self, estimate: int) -> None:
        """Hold one call of ``estimate`` tokens, input and output together, or raise `LimitReachedError`."""
        if self.seconds_left() <= 0:
            raise LimitReachedError("limit_seconds")
        if self.spent["model_calls"] + self.held_calls + 1 > self.calls:
            raise LimitReachedError("limit_calls")
        used = self.spent["input_tokens"] + self.spent["output_tokens"] + self.held_tokens
        if used + estimate > self.tokens:
            raise LimitReachedError("limit_tokens")
        self.held_calls += 1
        self.held_tokens += estimate

    def settle(self, estimate: int, cost: Usage) -> None:
        """Replace a held call by what it cost."""
        self.held_calls -= 1
        self.held_tokens -= estimate
        self.spent = add_usage(self.spent, cost)

    def seconds_left(self) -> float:
        """Seconds until the deadline; negative after it."""
        return self.deadline - time.time()


@dataclass
class Tab:
    """One node's share of a meter: what this node spent, and the limit that it ran into, if any."""

    meter: Meter
    spent: Usage = field(default_factory=no_usage)
    limit: LimitReason | None = None

    def admit(self, estimate: int) -> None:
        """As `Meter.admit`; remembers the limit."""
        try:
            self.meter.admit(estimate)
        except LimitReachedError as reached:
            self.limit = reached.reason
            raise

    def settle(self, estimate: int, cost: Usage) -> None:
        """As `Meter.settle`; adds to this node's own."""
        self.meter.settle(estimate, cost)
        self.spent = add_usage(self.spent, cost)
