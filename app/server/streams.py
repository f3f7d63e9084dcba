"""Server-sent events, and waiting for a run while its client is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from fastapi.responses import StreamingResponse

if TYPE_CHECKING:
    from fastapi import Request
    from starlette.types import Receive, Scope, Send

    from app.server.runs import Run

KEEP_ALIVE = 10.0  # seconds without an event after which a comment is sent: proxies close what is silent
COMMENT = b": thinking\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """A response of server-sent events, whose generator is closed as soon as the client goes away."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], headers: dict[str, str] | None = None) -> None:
        super().__init__(events, headers={**HEADERS, **(headers or {})})
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


async def wait_for(run: Run, request: Request) -> None:
    """Return when the run has ended, or its client has gone away."""
    waiting = [asyncio.create_task(run.wait()), asyncio.create_task(_gone(request))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
