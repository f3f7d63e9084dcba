"""Run calls concurrently, and rules over long texts off the event loop."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from core.errors import RequestError

SHORT = 10_000  # characters, processed within milliseconds
P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def meanwhile(*calls: Awaitable[T]) -> AsyncGenerator[Sequence[asyncio.Future[T]], None]:
    """Run calls while the block lasts; at its end those that have not ended are cancelled, and waited for."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def gather(calls: Iterable[Awaitable[T]]) -> list[T]:
    """Return the results in order; the first error cancels the other calls before it is raised."""
    async with meanwhile(*calls) as tasks:
        return await asyncio.gather(*tasks)


async def gather_bounded(
    calls: Iterable[Callable[[], Awaitable[T]]], at_once: int, progress: Callable[[int, int], None] | None = None
) -> list[T]:
    """As `gather`, at most ``at_once`` calls at a time; ``progress`` receives how many have ended, and their total.

    Raises `RequestError` if ``at_once`` is less than one: no call would ever start.
    """
    if at_once < 1:
        raise RequestError(f"at_once is {at_once}: it must be at least 1.")
    calls, slots, done = list(calls), asyncio.Semaphore(at_once), 0

    async def bounded(call: Callable[[], Awaitable[T]]) -> T:
        nonlocal done
        async with slots:
            result = await call()
        done += 1
        if progress:
            progress(done, len(calls))
        return result

    return await gather(bounded(call) for call in calls)


# One thread: more would only compete for the GIL, at the event loop's expense. Work still queued when its question
# ends is never started.
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rules")


async def off_loop(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call ``work``, in a thread if the text that it reads, of ``size`` characters, is long.

    While the thread works, other questions go on, and the time limit can end this one.
    """
    if size <= SHORT:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_thread, partial(work, *args, **kwargs))
