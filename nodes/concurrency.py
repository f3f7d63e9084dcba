"""Run calls side by side, and long rules off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

TURNS = 10
SHORT = 10_000  # characters, which take milliseconds
P = ParamSpec("P")
T = TypeVar("T")


async def gather(calls: Iterable[Awaitable[T]]) -> list[T]:
    """The results in order. The first error ends the others before it is raised."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def others_first() -> None:
    """Let what runs side by side with this get as far as its model calls."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


async def gather_successful(calls: Iterable[Awaitable[T]], failures: tuple[type[Exception], ...]) -> list[T]:
    """The results, in order, of the calls that raised none of ``failures``; raises the first where all did.

    Any other error ends the calls, as in `gather`.
    """

    async def attempt(call: Awaitable[T]) -> tuple[list[T], Exception | None]:
        try:
            return [await call], None
        except failures as error:
            return [], error

    attempts = await gather(attempt(call) for call in calls)
    results = [result for found, _ in attempts for result in found]
    errors = [error for _, error in attempts if error is not None]
    if errors and not results:
        raise errors[0]
    return results


# One thread: more of them would only share the interpreter's lock, and leave less of it to the event loop. What waits
# for it when its question ends is never begun.
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rules")


async def off_loop(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``work`` returns; where it reads a long text, of ``size`` characters, it does so in a thread.

    Other questions go on meanwhile, and the limit of seconds ends this one.
    """
    if size <= SHORT:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_thread, partial(work, *args, **kwargs))
