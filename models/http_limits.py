"""Limit the size and duration of the replies that an HTTP client accepts, and refuse redirects."""

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

MAX_BYTES = 2_000_000  # of one reply; the longest that is asked for has some 200,000 when streamed
# Braces, brackets and commas in a reply's JSON: a stream of 600 tokens has some 9,000. Parsing 40,000 may block the
# event loop for a second; parsing as many as the byte limit admits, for more than two minutes.
MAX_PARTS = 40_000
MAX_OBJECTS = 100_000  # searched for a client; the largest of LangChain's models has 1,024
Client = httpx.Client | httpx.AsyncClient | httpx2.Client | httpx2.AsyncClient
CLIENTS = (httpx.Client, httpx.AsyncClient, httpx2.Client, httpx2.AsyncClient)
NOT_SEARCHED = (type, ModuleType, FunctionType, BuiltinFunctionType, str, bytes, int, float)  # lead to all or nothing


class BoundedStream(httpx.AsyncByteStream, httpx.SyncByteStream, httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """A reply's body, limited to ``max_bytes`` bytes, ``max_parts`` JSON values and ``seconds``.

    The event loop takes a turn at each chunk: else data that has already arrived would be read without a pause, and no
    timeout could fire. The time is checked here too, since a library in between may swallow a timeout's cancellation.
    """

    def __init__(self, body: Any, max_bytes: int, seconds: float, max_parts: int = MAX_PARTS) -> None:
        self._body = body
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._began = time.monotonic()
        self._max_parts = max_parts
        self._bytes_read = 0
        self._parts_seen = 0
        self._chunks: Any = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks. Raises `TransientModelError` once a limit is exceeded."""
        self._chunks = aiter(self._body)
        async for chunk in self._chunks:
            self._count(chunk)
            await asyncio.sleep(0)
            yield chunk

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._body:
            self._count(chunk)
            yield chunk

    def _count(self, chunk: bytes) -> None:
        self._bytes_read += len(chunk)
        if self._bytes_read > self._max_bytes:
            raise TransientModelError(f"The server's reply is longer than {self._max_bytes:,} bytes.")
        self._parts_seen += len(chunk) - len(chunk.translate(None, b"{[,"))
        if self._parts_seen > self._max_parts:
            raise TransientModelError(f"The server's reply has more than {self._max_parts:,} parts.")
        if time.monotonic() - self._began > self._seconds:
            raise TransientModelError(f"The server's reply did not end in {self._seconds:g} seconds.")

    async def aclose(self) -> None:
        """Close the body and its iterator; a garbage collector in another thread might fail to close the iterator."""
        await self._body.aclose()
        if self._chunks is not None:
            await self._chunks.aclose()

    def close(self) -> None:
        self._body.close()


@dataclass(frozen=True)
class ExchangeLimits:
    """Limits for every exchange of an HTTP client, applied by event hooks. ``address`` is what errors say to check.

    Replies are requested uncompressed, and refused if compressed, since a few bytes may unpack to gigabytes. A redirect
    is an error: following it would send the request to whatever address the server names, and trust the reply.
    """

    seconds: float
    max_bytes: int = MAX_BYTES
    max_parts: int = MAX_PARTS
    address: str = "OPENAI_BASE_URL"

    def attach(self, client: Client) -> None:
        """Attach this guard to the client, replacing an earlier one."""
        asynchronous = isinstance(client, httpx.AsyncClient | httpx2.AsyncClient)
        own = (self.on_request_async, self.on_response_async) if asynchronous else (self.on_request, self.on_response)
        hooks: Any = client.event_hooks
        for kind, hook in zip(("request", "response"), own, strict=True):
            others = [one for one in hooks[kind] if not isinstance(getattr(one, "__self__", None), ExchangeLimits)]
            hooks[kind] = [*others, hook]
        client.event_hooks = hooks
        client.follow_redirects = False

    def on_request(self, request: Any) -> None:
        """Request an uncompressed reply."""
        request.headers["Accept-Encoding"] = "identity"

    def on_response(self, response: Any) -> None:
        """Limit the reply. Raises `ModelError` for a compressed reply and for a redirect."""
        if 300 <= response.status_code < 400:
            where = self._target(response)
            raise ModelError(f"The server redirects to {where}, and redirects are not followed: check {self.address}.")
        encodings = response.headers.get_list("content-encoding", split_commas=True)
        if any(one.strip().lower() not in ("", "identity") for one in encodings):
            raise ModelError(
                "The server compresses its replies, though asked for plain ones: "
                f"turn that off there, or check {self.address}."
            )
        response.stream = BoundedStream(response.stream, self.max_bytes, self.seconds, self.max_parts)

    async def on_request_async(self, request: Any) -> None:
        self.on_request(request)

    async def on_response_async(self, response: Any) -> None:
        self.on_response(response)

    def _target(self, response: Any) -> str:
        try:
            return without_password(str(response.url.join(response.headers["location"])))[:200]
        except (KeyError, ValueError, httpx.InvalidURL, httpx2.InvalidURL):
            return "another address"


def clients_of(model: object) -> list[Client]:
    """Find the HTTP clients that an object holds, at any depth, including those that LangChain creates on first use."""
    for kind in type(model).__mro__:
        for name, value in vars(kind).items():
            if isinstance(value, cached_property) and name.endswith("client"):
                getattr(model, name)
    seen, pending, found = {id(model)}, [model], []
    while pending and len(seen) < MAX_OBJECTS:
        current = pending.pop()
        if isinstance(current, CLIENTS):
            found.append(current)
            continue
        for one in gc.get_referents(current):
            if id(one) not in seen and not isinstance(one, NOT_SEARCHED):
                seen.add(id(one))
                pending.append(one)
    return found
