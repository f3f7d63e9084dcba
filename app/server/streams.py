"""Server-sent events, and waiting for a run while its client is there."""

import asyncio

from fastapi import Request
from sse_starlette.sse import AppStatus, EventSourceResponse

from app.server.runs import Run
from nodes.concurrency import meanwhile

# The package would end streams at SIGTERM, but the server waits for what is being answered.
AppStatus.enable_automatic_graceful_drain = False


class EventStream(EventSourceResponse):
    """A response of server-sent events, whose generator is closed as soon as the client goes away."""

    DEFAULT_PING_INTERVAL = 10  # seconds between comments: proxies close what is silent
    DEFAULT_SEPARATOR = "\n"  # between the lines of comments, as between those of events


async def wait_for(run: Run, request: Request) -> None:
    """Return when the run has ended, or its client has gone away."""
    async with meanwhile(run.wait(), _gone(request)) as waiting:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
