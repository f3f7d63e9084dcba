"""A reply is read within bounds, and lets others take their turn."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from models.bounded import MOST_BYTES, BoundedStream, bounded
from models.connect import openai_chat
from models.failures import TransientModelError


class Body(httpx2.AsyncByteStream):
    """Pieces that are all there already; without end where ``pieces`` is None."""

    def __init__(self, pieces: int | None) -> None:
        self.pieces = pieces
        self.sent = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.pieces is None or self.sent < self.pieces:
            self.sent += 1
            yield b"x" * 100

    async def aclose(self) -> None:
        self.closed = True


async def test_as_much_as_may_be_read_is_read() -> None:
    body = Body(10)
    stream = BoundedStream(body, 1000, 60)
    assert b"".join([piece async for piece in stream]) == b"x" * 1000
    await stream.aclose()
    assert body.closed


async def test_more_is_an_error_of_this_call() -> None:
    body = Body(None)
    with pytest.raises(TransientModelError, match="longer than 1,000 bytes"):
        [piece async for piece in BoundedStream(body, 1000, 60)]
    assert body.sent == 11


async def test_a_time_out_is_noticed_while_data_pours_in() -> None:
    body = Body(None)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            [piece async for piece in BoundedStream(body, 10**12, 60)]


async def test_a_response_is_bounded() -> None:
    response = httpx2.Response(200, stream=Body(MOST_BYTES // 100 + 1))
    await bounded(60)(response)
    with pytest.raises(TransientModelError):
        await response.aread()


async def test_a_reply_without_end_ends_even_where_no_time_out_is_noticed() -> None:
    with pytest.raises(TransientModelError, match=r"did not end in 0\.05 seconds"):
        [piece async for piece in BoundedStream(Body(None), 10**12, 0.05)]


async def test_no_library_between_waits_by_itself() -> None:
    """Its waiting may swallow the cancellation by which a call is ended: gh-86296, mended in Python 3.12 alone."""
    made = openai_chat("gpt-4o-mini", base_url="http://127.0.0.1:9/v1", api_key="x", call_seconds=1)
    assert made._client()[0].stream_chunk_timeout is None  # type: ignore[attr-defined]
    await made.aclose()
