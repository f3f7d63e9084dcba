"""Keep a server's reply within bounds while it is read, so that none fills the memory or goes on for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

from models.failures import TransientModelError

MOST_BYTES = 2_000_000  # of one reply; the longest that is asked for has some 200,000 when it is streamed


class BoundedStream(httpx2.AsyncByteStream):
    """A reply's body, of which no more than ``most`` bytes are read, for no longer than ``seconds``.

    Data that has arrived is read without a pause, and no time-out would be noticed until it ends: so each piece lets
    the event loop take a turn. The time is looked at here as well, since a library between may lose a cancellation.
    """

    def __init__(self, body: httpx2.AsyncByteStream, most: int, seconds: float) -> None:
        self._body = body
        self._most = most
        self._seconds = seconds
        self._began = time.monotonic()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces. Raises `TransientModelError` after the most, or the time."""
        read = 0
        async for piece in self._body:
            read += len(piece)
            if read > self._most:
                raise TransientModelError(f"The server's reply is longer than {self._most:,} bytes.")
            if time.monotonic() - self._began > self._seconds:
                raise TransientModelError(f"The server's reply did not end in {self._seconds:g} seconds.")
            await asyncio.sleep(0)
            yield piece

    async def aclose(self) -> None:
        """As the body's."""
        await self._body.aclose()


def bounded(seconds: float) -> Callable[[httpx2.Response], Awaitable[None]]:
    """An event hook of the HTTP client's that bounds each response."""

    async def hook(response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = BoundedStream(response.stream, MOST_BYTES, seconds)

    return hook
