"""Run coroutines for synchronous callers, on one event loop in a background thread."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import aclosing
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, TypeVar

T = TypeVar("T")

END: Final = object()

_loop: asyncio.AbstractEventLoop | None = None
_starting = Lock()


def _forget_loop() -> None:
    """Drop the loop after a fork: the child has no thread that runs it, so waiting for work on it would never end."""
    global _loop, _starting
    _loop, _starting = None, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the background event loop; start it on first use. The caller's loop may be running, as in a notebook."""
    global _loop
    with _starting:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            Thread(target=_loop.run_forever, name="self-rag", daemon=True).start()
        return _loop


def in_background(work: Coroutine[Any, Any, T], on_start: Callable[[Future[T]], None] | None = None) -> T:
    """Run ``work`` on the background loop and wait for its result. ``on_start`` receives the future, to cancel it."""
    future = asyncio.run_coroutine_threadsafe(work, background_loop())
    if on_start:
        on_start(future)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def stream_in_background(items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """Yield what ``items`` yields on the background loop. Closing the generator cancels ``items`` and awaits it."""
    ready: SimpleQueue[T | object] = SimpleQueue()

    async def run() -> None:
        async with aclosing(items) as opened:
            async for item in opened:
                ready.put(item)

    async def start() -> asyncio.Task[None]:
        task = asyncio.create_task(run())
        task.add_done_callback(lambda _: ready.put(END))
        return task

    task = in_background(start())
    try:
        while (item := ready.get()) is not END:
            yield item  # type: ignore[misc]
        task.result()
    finally:
        if not task.done():
            background_loop().call_soon_threadsafe(task.cancel)
            while ready.get() is not END:
                pass
