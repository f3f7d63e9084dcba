"""Frames between a reader and its parent."""

import io

import pytest

from retrieval.sandbox.child import receive, send


def test_frames_come_back_as_they_were_sent() -> None:
    stream = io.BytesIO()
    for frame in (b"one", b"", b"\x00" * 70_000):
        send(stream, frame)
    stream.seek(0)
    assert [receive(stream, 70_000) for _ in range(3)] == [b"one", b"", b"\x00" * 70_000]


def test_a_frame_longer_than_allowed_is_refused_before_it_is_read() -> None:
    stream = io.BytesIO(b"\xff\xff\xff\xff and no more")
    with pytest.raises(ValueError, match="4294967295 bytes"):
        receive(stream, 1_000)


@pytest.mark.parametrize("cut", [0, 1, 3, 4, 6])
def test_a_frame_that_breaks_off_is_no_frame(cut: int) -> None:
    stream = io.BytesIO()
    send(stream, b"one")
    with pytest.raises(EOFError):
        receive(io.BytesIO(stream.getvalue()[:cut]), 1_000)
