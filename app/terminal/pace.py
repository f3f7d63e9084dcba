"""How far long work is, in lines now and then: how much is done, how fast, and the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retrieval.sync_report import Advance

LINE_SECONDS = 10.0


class NowAndThen:
    """Prints the first line that it is given, the last, and between them one every ten seconds."""

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line
        self._told: float | None = None
        self._ended = False

    def __call__(self, line: str, *, last: bool) -> None:
        """Print the line if it is time."""
        now = time.monotonic()
        if self._told is None or now - self._told >= LINE_SECONDS or (last and not self._ended):
            self._told, self._ended = now, last
            self._line(line)


def rate_and_time_left(now: Advance) -> list[str]:
    """The passages so far, how many a second, and the time that is left."""
    parts = [f"{now.passages:,} passages"] if now.passages else []
    if now.passages and now.seconds:
        rate = now.passages / now.seconds
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
    if now.seconds_left:
        parts.append(f"{duration(now.seconds_left)} left")
    return parts


def duration(seconds: float) -> str:
    """Seconds in words of at most two units."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
