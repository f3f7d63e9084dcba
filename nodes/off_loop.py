"""Keep the event loop free while code reads a long text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

SHORT = 10_000  # characters, which take milliseconds
P = ParamSpec("P")
T = TypeVar("T")
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
