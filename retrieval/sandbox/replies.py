"""Validate a reader's replies: a hostile document may have taken the process over."""

import json
import re
from dataclasses import dataclass, replace
from typing import IO, Any, Literal, NoReturn

from core.text import clean
from retrieval.documents.headings import DEEPEST, MOST_HEADINGS, Heading, is_heading_list, plain_title
from retrieval.documents.load import Loaded, Section
from retrieval.documents.page_views import MOST_PIXELS, PagePicture, PageQuote, Rectangle
from retrieval.sandbox.child import FRAME, SECTION, receive

_REASON = 2_000  # characters
_PAGES = 1 << 53
_BYTES = 1 << 62
_HASH = re.compile(r"[0-9a-f]{64}")
_RECTANGLES = 1_000
_POINTS = 1e9
_PIXELS = MOST_PIXELS * 1.01  # as its edges are rounded up, a picture may have a few more
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class ReadLimits:
    """Limits for one file: ``seconds`` of wall-clock time, bytes of ``memory``, characters of ``text``.

    Memory is address space beyond what a reader starts with. A section counts for 100 characters at least.
    """

    seconds: float = 120.0
    memory: int = 2_000_000_000
    text: int = 100_000_000


@dataclass(frozen=True)
class Reading:
    """The outcome of reading a file; ``reason`` is a sentence unless it was read.

    An ``unopened`` file is tried again next time. ``sha256`` and ``size`` are of the bytes that were parsed, and are
    known even if the file made its reader hang or crash.
    """

    path: bytes
    status: Literal["read", "empty", "failed", "unopened"]
    reason: str = ""
    sha256: str | None = None
    size: int = 0
    loaded: Loaded | None = None
    page: PageQuote | PagePicture | None = None


def read_message(stream: IO[bytes]) -> dict[str, Any]:
    """Return one message.

    This and the functions below raise ``EOFError`` when the reader is gone, and ``ValueError`` or ``RecursionError``
    for a reply that is invalid.
    """
    return _object(_frame(stream, FRAME))


def _frame(stream: IO[bytes], longest: int) -> bytes:
    frame = receive(stream, longest)
    if frame is None:
        raise EOFError
    return frame


def _object(frame: bytes) -> dict[str, Any]:
    message = json.loads(frame.decode(), parse_constant=_refuse_constant)
    if not isinstance(message, dict):
        raise ValueError("not an object")
    return message


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def read_start(reading: Reading, first: dict[str, Any]) -> Reading:
    """Add the hash and size of the bytes about to be parsed, if the file could be opened."""
    if "status" in first:
        return reading
    sha256 = first.get("sha256")
    if not isinstance(sha256, str) or not _HASH.fullmatch(sha256):
        raise ValueError("not a hash")
    return replace(reading, sha256=sha256, size=_count(first.get("size"), _BYTES))


def read_outcome(
    reading: Reading, first: dict[str, Any], stream: IO[bytes], limits: ReadLimits
) -> tuple[Reading, bool]:
    """Read a file's sections and outcome; return also whether the reader is worn and must be replaced."""
    sections: list[Section] = []
    last = first if "status" in first else _read_sections(sections, stream, limits)
    if last["status"] == "read" and sections:
        loaded = Loaded(
            sections, _sentence(last.get("note")), _date(last.get("date")), plain_title(_sentence(last.get("title")))
        )
        return replace(reading, status="read", loaded=loaded), _worn(last)
    return _without(reading, last)


def read_page(reading: Reading, first: dict[str, Any], stream: IO[bytes]) -> tuple[Reading, bool]:
    """Read what was asked of a page, and the outcome; return also whether the reader is worn and must be replaced."""
    last, page = first, None
    if "status" not in first:
        last = read_message(stream)
        if "status" not in last:
            page = _quote(last) if "rectangles" in last else _picture(last, stream)
            last = read_message(stream)
    if last.get("status") == "read" and page:
        return replace(reading, status="read", page=page), _worn(last)
    return _without(reading, last)


def _worn(last: dict[str, Any]) -> bool:
    return last.get("worn") is not False


def _without(reading: Reading, last: dict[str, Any]) -> tuple[Reading, bool]:
    """Return the outcome of a file that was not read."""
    status, reason = last.get("status"), _sentence(last.get("reason", ""))
    if status in ("empty", "failed", "unopened") and reason:
        return replace(reading, status=status, reason=reason), _worn(last)
    raise ValueError("no such outcome")


def _quote(message: dict[str, Any]) -> PageQuote:
    rectangles = message["rectangles"]
    if not isinstance(rectangles, list) or not 0 < len(rectangles) <= _RECTANGLES:
        raise ValueError("no rectangles")
    width, height = _pair(message.get("page"))
    return PageQuote(_length(width), _length(height), tuple(map(_rectangle, rectangles)))


def _picture(message: dict[str, Any], stream: IO[bytes]) -> PagePicture:
    width, height = (_count(length, MOST_PIXELS) for length in _pair(message.get("pixels")))
    if not 0 < width * height <= _PIXELS:
        raise ValueError("too large a picture")
    pixels = _frame(stream, 3 * width * height)
    if len(pixels) != 3 * width * height:
        raise ValueError("pixels that do not add up")
    return PagePicture(width, height, pixels)


def _pair(value: object) -> list[Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("not a size")
    return value


def _length(value: object) -> float:
    if type(value) is not float or not 0 < value < _POINTS:
        raise ValueError("not a length")
    return value


def _rectangle(value: object) -> Rectangle:
    if not isinstance(value, list) or len(value) != 4 or not all(type(edge) is float for edge in value):
        raise ValueError("not a rectangle")
    rectangle = Rectangle(*value)
    if not (0 <= rectangle.left < rectangle.right <= 1 and 0 <= rectangle.top < rectangle.bottom <= 1):
        raise ValueError("a rectangle beyond the page")
    return rectangle


def _read_sections(sections: list[Section], stream: IO[bytes], limits: ReadLimits) -> dict[str, Any]:
    """Append to ``sections``, and return the message that follows them."""
    headers, texts = limits.text, 4 * limits.text  # bytes left: a character takes at most four
    while True:
        frame = _frame(stream, FRAME)
        message = _object(frame)
        if "status" in message:
            return message
        headers -= len(frame)
        metadata = message.get("sections")
        if not isinstance(metadata, list) or not metadata:
            raise ValueError("no sections")
        text = _frame(stream, texts)
        texts -= len(text)
        sections += _sections(metadata, text.decode())
        if headers < 0 or len(sections) * SECTION > limits.text:
            raise ValueError("too many sections")


def _sections(metadata: list[Any], text: str) -> list[Section]:
    sections, start = [], 0
    for entry in metadata:
        if not isinstance(entry, list):
            raise ValueError("not a section")
        length, page, row, date, extra, headings = entry
        end = start + _count(length, len(text))
        found = _headings(headings, end - start)
        section = Section(text[start:end], _number(page), _number(row), _date(date), _extra(extra), found)
        if not section.text.strip():
            raise ValueError("a section without text")
        sections.append(section)
        start = end
    if start != len(text):
        raise ValueError("lengths that do not add up")
    return sections


def _count(value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("not a count")
    return value


def _number(value: object) -> int | None:
    return None if value is None else _count(value, _PAGES)


def _date(value: object) -> str | None:
    if value is None or (isinstance(value, str) and _DATE.fullmatch(value)):
        return value
    raise ValueError("not a date")


def _headings(value: object, length: int) -> tuple[Heading, ...]:
    if not isinstance(value, list) or len(value) > MOST_HEADINGS:
        raise ValueError("not headings")
    headings = tuple(map(_heading, value))
    if not is_heading_list(headings, length):
        raise ValueError("headings out of place")
    return headings


def _heading(value: object) -> Heading:
    if not isinstance(value, list):
        raise ValueError("not a heading")
    start, end, level = value
    return Heading(_count(start, _PAGES), _count(end, _PAGES), _count(level, DEEPEST))


def _extra(value: object) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    json.dumps(value, ensure_ascii=False).encode()  # raises on a lone surrogate, which SQLite cannot store
    return value


def _sentence(value: object) -> str:
    """Return a sentence for people on one line, without hidden characters and cut to ``_REASON`` characters."""
    if not isinstance(value, str):
        raise ValueError("not a sentence")
    line = " ".join(clean(value[: 2 * _REASON]).split())
    return line if len(line) <= _REASON else f"{line[:_REASON]}…"
