"""What a reader says is believed only where it is what a reader says."""

import io
import json
from typing import Any

import pytest

from retrieval.documents.headings import Heading
from retrieval.documents.loaded import MOST_PIXELS, Loaded, PagePicture, PageQuote, Rectangle, Section
from retrieval.sandbox.child import send
from retrieval.sandbox.replies import Reading, ReadLimits, read_file, read_page, read_start

HASH = "0" * 64
START = {"sha256": HASH, "size": 5}
READ = {"status": "read", "note": "", "date": None, "title": "", "worn": False}
FIRST = Reading(b"/a.txt", "failed")


def stream(*frames: Any) -> io.BytesIO:
    """Return frames as a reader sends them: bytes as they are, all else as JSON."""
    out = io.BytesIO()
    for frame in frames:
        send(out, frame if isinstance(frame, bytes) else json.dumps(frame).encode())
    out.seek(0)
    return out


def take(*frames: Any, text: int = 10_000) -> tuple[Reading, bool]:
    replies = stream(*frames)
    return read_file(*read_start(FIRST, replies), replies, ReadLimits(text=text))


def sections(*known: Any) -> dict[str, Any]:
    """Return a message of sections; one of five values has no headings."""
    return {"sections": [[*one, []] if isinstance(one, list) and len(one) == 5 else one for one in known]}


def test_sections_keep_all_that_is_known_of_them() -> None:
    first = [3, 1, None, "2024-02-29", {"author": "Ø", "tags": [1]}, [[0, 1, 2], [2, 3, 9]]]
    reading, worn = take(
        START,
        sections(first, [2, None, 7, None, None, []]),
        "äöüno".encode(),
        {**READ, "note": "n", "date": "2024-01-01", "title": "A\u200b title"},
    )
    assert reading.loaded == Loaded(
        [
            Section(
                *("äöü", 1, None, "2024-02-29", {"author": "Ø", "tags": [1]}),
                headings=(Heading(0, 1, 2), Heading(2, 3, 9)),
            ),
            Section("no", row=7),
        ],
        "n",
        "2024-01-01",
        "A title",
    )
    assert (reading.status, reading.reason, reading.sha256, reading.size, worn) == ("read", "", HASH, 5, False)


@pytest.mark.parametrize(
    ("last", "status", "worn"),
    [
        ({"status": "empty", "reason": "It is.", "worn": False}, "empty", False),
        ({"status": "failed", "reason": "It did.", "worn": True}, "failed", True),
        ({"status": "unopened", "reason": "It is shut.", "worn": 0}, "unopened", True),
    ],
)
def test_a_file_without_text_has_a_reason(last: dict[str, Any], status: str, worn: bool) -> None:
    assert take(last) == (Reading(b"/a.txt", status, last["reason"]), worn)  # type: ignore[arg-type]
    assert take(START, last) == (Reading(b"/a.txt", status, last["reason"], HASH, 5), worn)  # type: ignore[arg-type]


def test_a_reason_is_one_line_without_what_steers_a_terminal_and_is_not_endless() -> None:
    reading, _ = take({"status": "failed", "reason": "a\n\x1b[31mb\u202e" + "c" * 9_000})
    assert reading.reason.startswith("a bccc")
    assert len(reading.reason) < 2_100


@pytest.mark.parametrize(
    "frames",
    [
        (b"not json",),
        (b"\xff",),
        (b"[" * 100_000,),
        ({},),
        ({"sha256": HASH.upper()[:-1] + "G", "size": 5}, READ),
        ({"sha256": HASH, "size": "5"}, READ),
        ({"sha256": HASH, "size": -1}, READ),
        ({"sha256": HASH, "size": 10**30}, READ),
        (START, READ),  # read, and no text
        (START, {"status": "failed", "reason": ""}),
        (START, {"status": "done", "reason": "x"}),
        (START, sections(), b"", READ),
        (START, sections([5]), b"hello", READ),
        (START, sections([-5, None, None, None, None]), b"hello", READ),
        (START, sections([4, None, None, None, None]), b"hello", READ),
        (START, sections([9, None, None, None, None]), b"hello", READ),
        (START, sections([5, None, None, None, None]), b"     ", READ),
        (START, sections([5, None, None, None, None]), b"hell\xff", READ),
        (START, sections([1, None, None, None, None]), "\ud800".encode("utf-8", "surrogatepass"), READ),
        (START, sections([5, True, None, None, None]), b"hello", READ),
        (START, sections([5, 2**64, None, None, None]), b"hello", READ),
        (START, sections([5, None, None, "2024", None]), b"hello", READ),
        (START, sections([5, None, None, None, {"a": "\ud800"}]), b"hello", READ),
        (START, b'{"sections": [[5, null, null, null, {"a": NaN}, []]]}', b"hello", READ),
        *(
            (START, sections([5, None, None, None, None, headings]), b"hello", READ)
            for headings in (
                *(None, "[]", [3], [[0, 1]], [[0, 1, 0]], [[0, 1, 10]], [[0, 6, 1]], [[2, 1, 1]], [[-1, 1, 1]]),
                *([[0, 1.0, 1]], [[2, 3, 1], [1, 2, 1]], [[0, 2**60, 1]], [[0, 0, 1]] * 100_001),
            )
        ),
        (START, sections([5, None, None, None, None]), b"hello", {**READ, "title": None}),
        (START, sections([5, None, None, None, None]), b"hello", {**READ, "date": 20240101}),
    ],
)
def test_what_is_no_reply_is_refused(frames: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, RecursionError)):
        take(*frames)


@pytest.mark.parametrize(
    "frames",
    [
        (sections([1_001, None, None, None, None]), b"a" * 1_001),  # of four bytes a character, 250 allowed
        (sections(*[[1, None, None, None, None]] * 3), b"abc"),  # each counts for 100
        (sections([1, None, None, None, {"a": "b" * 300}]), b"a"),
    ],
)
def test_more_text_than_allowed_is_refused(frames: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        take(START, *frames, READ, text=250)


def test_batches_add_up_to_what_is_allowed() -> None:
    batch = (sections([600, None, None, None, None]), b"a" * 600)
    assert take(START, batch[0], b"a" * 600, READ, text=250)[0].status == "read"
    with pytest.raises(ValueError, match="a frame of 600 bytes"):
        take(START, *batch, *batch, READ, text=250)


@pytest.mark.parametrize("frames", [(), (START,), (START, sections([5, None, None, None, None]))])
def test_a_reader_that_is_gone_has_not_replied(frames: tuple[Any, ...]) -> None:
    with pytest.raises(EOFError):
        take(*frames)


DONE = {"status": "read", "worn": False}


def take_page(*frames: Any) -> tuple[Reading, bool]:
    replies = stream(*frames)
    return read_page(*read_start(FIRST, replies), replies)


def quoted(*rectangles: Any, page: Any = (600.0, 800.0)) -> dict[str, Any]:
    return {"page": page, "rectangles": rectangles}


def test_a_place_and_a_picture_keep_what_is_known_of_them() -> None:
    reading, worn = take_page(START, quoted([0.0, 0.25, 0.5, 1.0]), DONE)
    assert reading.page == PageQuote(600.0, 800.0, (Rectangle(0.0, 0.25, 0.5, 1.0),))
    assert (reading.status, reading.sha256, worn) == ("read", HASH, False)
    reading, _ = take_page(START, {"pixels": [2, 1]}, b"rgbRGB", DONE)
    assert reading.page == PagePicture(2, 1, b"rgbRGB")


@pytest.mark.parametrize("start", [(), (START,)])
def test_a_page_without_a_place_has_a_reason(start: tuple[Any, ...]) -> None:
    reading, worn = take_page(*start, {"status": "empty", "reason": "It is not there.", "worn": True})
    assert (reading.status, reading.reason, reading.page, worn) == ("empty", "It is not there.", None, True)


BOX = [0.1, 0.1, 0.2, 0.2]


@pytest.mark.parametrize(
    "frames",
    [
        (DONE,),
        ({"status": "empty"},),
        (quoted(), DONE),
        (quoted(*[BOX] * 1_001), DONE),
        *((quoted(box), DONE) for box in (None, "abcd", [0.1] * 3, [0.1, 0.1, 0.2, "1"])),
        *((quoted(box), DONE) for box in ([-0.1, 0.1, 0.2, 0.2], [0.1, 0.1, 0.1, 0.2], [0.1, 0.2, 0.2, 0.1])),
        (quoted([0.1, 0.1, 1.1, 0.2]), DONE),
        *((quoted(BOX, page=page), DONE) for page in (None, [600.0], [0.0, 800.0], [1e300, 800.0])),
        (b'{"page": [600.0, 800.0], "rectangles": [[0.1, 0.1, NaN, 0.2]]}', DONE),
        (b'{"page": [600.0, 800.0], "rectangles": [[0.1, 0.1, 1e999, 0.2]]}', DONE),
        *(({"pixels": size}, b"rgb", DONE) for size in (None, [1], [1, 2], [0, 1], [-1, -1], [1.0, 1], [True, 1])),
        ({"pixels": [MOST_PIXELS, 2]}, b"rgb", DONE),
        ({"pixels": [1, 1]}, b"rgbrgb", DONE),
        (quoted(BOX), quoted(BOX)),
    ],
)
def test_what_is_no_page_is_refused(frames: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        take_page(START, *frames)
