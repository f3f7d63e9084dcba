"""Run coroutines for synchronous callers, on one event loop in a background thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")

_loop: asyncio.AbstractEventLoop | None = None
_starting = Lock()


def _forget_loop() -> None:
    """Drop the loop after a fork: the child has no thread that runs it, so waiting for work on it would never end."""
    global _loop, _starting
    _loop, _starting = None, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the loop, started if needed; usable while the caller's own loop runs, as in a notebook."""
    global _loop
    with _starting:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            Thread(target=_loop.run_forever, name="self-rag", daemon=True).start()
        return _loop


def in_background(work: Coroutine[Any, Any, T], on_start: Callable[[Future[T]], None] | None = None) -> T:
    """Run ``work`` on the loop and wait for its result; ``on_start`` gets the future, to be able to cancel it."""
    future = asyncio.run_coroutine_threadsafe(work, background_loop())
    if on_start:
        on_start(future)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
