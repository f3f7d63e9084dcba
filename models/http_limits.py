"""Keep an HTTP client within bounds: how much of a reply it reads, for how long, and that none leads elsewhere."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import httpx
import httpx2

from core.errors import ModelError
from models.failures import TransientModelError
from models.redaction import without_password

MOST_BYTES = 2_000_000  # of one reply; the longest that is asked for has some 200,000 when it is streamed
# Of a reply's JSON: a stream of 600 tokens has some 9,000. A client library may take a second for 40,000, in which
# no other question goes on, and more than two minutes for what fits into the bytes.
MOST_PARTS = 40_000
MOST_OBJECTS = 100_000  # that are looked through for a client; the largest of LangChain's models has 1,024
Client = httpx.Client | httpx.AsyncClient | httpx2.Client | httpx2.AsyncClient
CLIENTS = (httpx.Client, httpx.AsyncClient, httpx2.Client, httpx2.AsyncClient)
NOT_HELD = (type, ModuleType, FunctionType, BuiltinFunctionType, str, bytes, int, float)  # they lead to everything


class BoundedStream(httpx.AsyncByteStream, httpx.SyncByteStream, httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """A reply's body, of which no more than ``most`` bytes or ``parts`` are read, for no longer than ``seconds``.

    Data that has arrived is read without a pause, and no time-out would be noticed until it ends: so each piece lets
    the event loop take a turn. The time is looked at here as well, since a library between may lose a cancellation.
    """

    def __init__(self, body: Any, most: int, seconds: float, parts: int = MOST_PARTS) -> None:
        self._body = body
        self._most = most
        self._seconds = seconds
        self._began = time.monotonic()
        self._parts = parts
        self._read = 0
        self._seen = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces. Raises `TransientModelError` after the most, or the time."""
        async for piece in self._body:
            self._count(piece)
            await asyncio.sleep(0)
            yield piece

    def __iter__(self) -> Iterator[bytes]:
        """As for the event loop."""
        for piece in self._body:
            self._count(piece)
            yield piece

    def _count(self, piece: bytes) -> None:
        self._read += len(piece)
        if self._read > self._most:
            raise TransientModelError(f"The server's reply is longer than {self._most:,} bytes.")
        self._seen += len(piece) - len(piece.translate(None, b"{[,"))
        if self._seen > self._parts:
            raise TransientModelError(f"The server's reply has more than {self._parts:,} parts.")
        if time.monotonic() - self._began > self._seconds:
            raise TransientModelError(f"The server's reply did not end in {self._seconds:g} seconds.")

    async def aclose(self) -> None:
        """As the body's."""
        await self._body.aclose()

    def close(self) -> None:
        """As the body's."""
        self._body.close()


@dataclass(frozen=True)
class Guard:
    """Bounds of every exchange of an HTTP client, by its event hooks; ``address`` is where a server is named.

    A reply is asked for as it is, and refused when it comes compressed, for a few bytes of it may be gigabytes. A
    redirect is an error: with it, what was sent would go to whomever the server names, and that one be believed.
    """

    seconds: float
    most: int = MOST_BYTES
    parts: int = MOST_PARTS
    address: str = "OPENAI_BASE_URL"

    def over(self, client: Client) -> None:
        """Put this guard over the client, in the place of an earlier one."""
        asynchronous = isinstance(client, httpx.AsyncClient | httpx2.AsyncClient)
        mine = (self.aask, self.areceive) if asynchronous else (self.ask, self.receive)
        hooks: Any = client.event_hooks
        for kind, hook in zip(("request", "response"), mine, strict=True):
            others = [one for one in hooks[kind] if not isinstance(getattr(one, "__self__", None), Guard)]
            hooks[kind] = [*others, hook]
        client.event_hooks = hooks
        client.follow_redirects = False

    def ask(self, request: Any) -> None:
        """Ask for a reply as it is."""
        request.headers["Accept-Encoding"] = "identity"

    def receive(self, response: Any) -> None:
        """Bound the reply. Raises `ModelError` for one that is compressed, and for a redirect."""
        if 300 <= response.status_code < 400:
            where = self._target(response)
            raise ModelError(
                f"The server sends its callers to {where}, and no redirect is followed: check {self.address}."
            )
        encodings = response.headers.get_list("content-encoding", split_commas=True)
        if any(one.strip().lower() not in ("", "identity") for one in encodings):
            raise ModelError(
                "The server compresses its replies, though asked for plain ones: "
                f"turn that off there, or check {self.address}."
            )
        response.stream = BoundedStream(response.stream, self.most, self.seconds, self.parts)

    async def aask(self, request: Any) -> None:
        """As `ask`, for an asynchronous client."""
        self.ask(request)

    async def areceive(self, response: Any) -> None:
        """As `receive`, for an asynchronous client."""
        self.receive(response)

    def _target(self, response: Any) -> str:
        try:
            return without_password(str(response.url.join(response.headers["location"])))[:200]
        except (KeyError, ValueError, httpx.InvalidURL, httpx2.InvalidURL):
            return "another address"


def clients_of(model: object) -> list[Client]:
    """The HTTP clients that an object holds, however deep; those that LangChain's make at the first use as well."""
    for kind in type(model).__mro__:
        for name, value in vars(kind).items():
            if isinstance(value, cached_property) and name.endswith("client"):
                getattr(model, name)
    seen, left, found = {id(model)}, [model], []
    while left and len(seen) < MOST_OBJECTS:
        held = left.pop()
        if isinstance(held, CLIENTS):
            found.append(held)
            continue
        for one in gc.get_referents(held):
            if id(one) not in seen and not isinstance(one, NOT_HELD):
                seen.add(id(one))
                left.append(one)
    return found
