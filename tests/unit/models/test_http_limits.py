import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import httpx2
import pytest

from core.errors import ModelError
from models.connect import openai_chat
from models.failures import TransientModelError
from models.http_limits import BoundedStream, ExchangeLimits, clients_of

LIBRARIES = pytest.mark.parametrize("library", [httpx, httpx2])


class Body(httpx2.AsyncByteStream, httpx2.SyncByteStream, httpx.AsyncByteStream, httpx.SyncByteStream):
    """Pieces that are all there already; without end where ``pieces`` is None."""

    def __init__(self, pieces: int | None, piece: bytes = b"x" * 100) -> None:
        self.pieces = pieces
        self.piece = piece
        self.sent = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        while self.pieces is None or self.sent < self.pieces:
            self.sent += 1
            yield self.piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    async def aclose(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True


def answering(library: Any, status: int = 200, pieces: int | None = None, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return library.MockTransport(lambda request: library.Response(status, headers=named, stream=Body(pieces)))


async def test_as_much_as_may_be_read_is_read_and_more_is_an_error_of_this_call() -> None:
    body = Body(10)
    stream = BoundedStream(body, 1000, 60)
    assert b"".join([piece async for piece in stream]) == b"x" * 1000
    await stream.aclose()
    assert body.closed
    endless = Body(None)
    with pytest.raises(TransientModelError, match="longer than 1,000 bytes"):
        [piece async for piece in BoundedStream(endless, 1000, 60)]
    assert endless.sent == 11


async def test_closing_ends_a_reading_that_stopped_half_way() -> None:
    """The client library leaves its iterators suspended where a chunk is malformed."""
    stream = BoundedStream(Body(10), 1000, 60)
    pieces = aiter(stream)
    await anext(pieces)
    await stream.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(pieces)


async def test_a_time_out_is_noticed_while_data_pours_in() -> None:
    body = Body(None)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            [piece async for piece in BoundedStream(body, 10**12, 60)]


async def test_a_reply_without_end_ends_even_where_no_time_out_is_noticed() -> None:
    with pytest.raises(TransientModelError, match=r"did not end in 0\.05 seconds"):
        [piece async for piece in BoundedStream(Body(None), 10**12, 0.05)]


@LIBRARIES
@pytest.mark.parametrize("status", [200, 500])
async def test_every_client_is_bounded(library: Any, status: int) -> None:
    async with library.AsyncClient(transport=answering(library, status)) as client:
        ExchangeLimits(60, 1000).attach(client)
        with pytest.raises(TransientModelError, match="longer than 1,000 bytes"):
            await client.post("http://host/")
    with library.Client(transport=answering(library, status)) as client:
        ExchangeLimits(60, 1000).attach(client)
        with pytest.raises(TransientModelError, match="longer than 1,000 bytes"):
            client.post("http://host/")


@LIBRARIES
@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "identity, BR", "zstd", "deflate", "odd"])
def test_a_compressed_reply_is_not_read(library: Any, encoding: str) -> None:
    with library.Client(transport=answering(library, content_encoding=encoding)) as client:
        ExchangeLimits(60).attach(client)
        with pytest.raises(ModelError, match="compresses its replies") as error:
            client.post("http://host/")
    assert not isinstance(error.value, TransientModelError)


@LIBRARIES
def test_a_plain_reply_is_asked_for_and_read(library: Any) -> None:
    with library.Client(transport=answering(library, pieces=2, content_encoding="identity")) as client:
        ExchangeLimits(60).attach(client)
        response = client.post("http://host/")
    assert (response.request.headers["accept-encoding"], response.content) == ("identity", b"x" * 200)


@LIBRARIES
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(library: Any, status: int) -> None:
    asked: list[str] = []

    def answer(request: Any) -> Any:
        asked.append(str(request.url))
        return library.Response(status, headers={"location": "http://me:swordfish@other:81/v2?key=tuna"})

    async with library.AsyncClient(transport=library.MockTransport(answer), follow_redirects=True) as client:
        ExchangeLimits(60, address="HERE").attach(client)
        with pytest.raises(ModelError, match=r"redirects to http://other:81/v2, .*check HERE"):
            await client.post("http://host/", follow_redirects=True)
    assert asked == ["http://host/"]


@pytest.mark.parametrize("headers", [{}, {"location": "http://host:port/"}])
def test_a_redirect_to_nowhere_is_named_as_well(headers: dict[str, str]) -> None:
    with pytest.raises(ModelError, match="to another address"):
        ExchangeLimits(60).on_response(
            httpx2.Response(307, headers=headers, request=httpx2.Request("POST", "http://host/"))
        )


def test_a_guard_takes_the_place_of_an_earlier_one_and_of_no_other_hook() -> None:
    seen: list[int] = []
    with httpx2.Client(transport=answering(httpx2, pieces=20)) as client:
        client.event_hooks = {"response": [lambda response: seen.append(response.status_code)]}
        ExchangeLimits(60, 1000).attach(client)
        ExchangeLimits(60, 2000).attach(client)
        assert len(client.post("http://host/").content) == 2000
    assert seen == [200]
    assert [len(hooks) for hooks in client.event_hooks.values()] == [1, 2]


class Held:
    """An object that makes one client when it is first asked for it, and holds others deep within."""

    __slots__ = ("__dict__", "held")

    def __init__(self, *held: Any) -> None:
        self.held = {"calls": [functools.partial(print, *held)], "itself": self}

    @functools.cached_property
    def _client(self) -> httpx2.Client:
        return httpx2.Client(transport=answering(httpx2))


def test_the_clients_of_an_object_are_found_wherever_it_keeps_them() -> None:
    deep = httpx.Client(transport=answering(httpx))
    holder = Held(deep)
    assert {id(one) for one in clients_of(holder)} == {id(deep), id(holder._client)}


async def test_no_library_between_waits_by_itself() -> None:
    """Its waiting may swallow the cancellation by which a call is ended: gh-86296, mended in Python 3.12 alone."""
    made = openai_chat("gpt-4o-mini", base_url="http://127.0.0.1:9/v1", api_key="x", call_seconds=1)
    assert made._client()[0].stream_chunk_timeout is None  # type: ignore[attr-defined]
    await made.aclose()
