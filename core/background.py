"""The one event loop, in a thread of its own, that runs the nodes of every synchronous caller."""

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
    """A forked process has no thread that runs its parent's loop: work given to it would wait for ever."""
    global _loop, _starting
    _loop, _starting = None, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop, which also runs while the caller's own does, as in a notebook."""
    global _loop
    with _starting:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            Thread(target=_loop.run_forever, name="self-rag", daemon=True).start()
        return _loop


def in_background(work: Coroutine[Any, Any, T], begun: Callable[[Future[T]], None] | None = None) -> T:
    """Run ``work`` on the loop and wait for it; ``begun`` is given the future, with which it can be cancelled."""
    future = asyncio.run_coroutine_threadsafe(work, background_loop())
    if begun:
        begun(future)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
