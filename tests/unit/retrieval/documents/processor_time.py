"""A bound for code that a hostile document can hold up, whatever else the machine is busy with."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def bounded(seconds: float = 12.0) -> Iterator[None]:
    """Fail the test when the code takes more of this process's own time.

    By default that is much for what is linear, which takes two seconds at most, and little for what is not.
    """

    def fail(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"it took more than {seconds:g} s of processor time")

    former = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
