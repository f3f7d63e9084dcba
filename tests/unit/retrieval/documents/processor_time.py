"""A bound for code that a hostile document can hold up, whatever else the machine is busy with."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SECONDS = 12.0  # of this process's own: what is linear takes two at most, what is not a minute and more


@contextmanager
def bounded() -> Iterator[None]:
    """Fail the test when the code takes too much processor time."""

    def fail(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"it took more than {_SECONDS:g} s of processor time")

    former = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
