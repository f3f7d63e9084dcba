"""Validate the replies of a process that reads documents: a hostile document may have taken it over."""

import json
from dataclasses import dataclass, replace
from typing import IO, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from core.text import shortened
from retrieval.documents.headings import Heading, is_heading_list, plain_title
from retrieval.documents.loaded import MOST_PIXELS, Loaded, PagePicture, PageQuote, Rectangle, Section
from retrieval.sandbox.child import SECTION, receive

_REASON = 2_000  # characters
_PIXELS = MOST_PIXELS * 1.01  # as its edges are rounded up, a picture may have a few more


@dataclass(frozen=True)
class ReadLimits:
    """Limits for one file: ``seconds`` of wall-clock time, bytes of ``memory``, characters of ``text``.

    Memory is address space beyond what the process starts with. A section counts for 100 characters at least.
    """

    seconds: float = 120.0
    memory: int = 2_000_000_000
    text: int = 100_000_000


@dataclass(frozen=True)
class Reading:
    """The outcome of reading a file; ``reason`` is a sentence that says why it was not read, or "".

    An ``unopened`` file is tried again next time. ``sha256`` and ``size`` are of the bytes that were parsed, and are
    known even if the file made the process hang or crash.
    """

    path: bytes
    status: Literal["read", "empty", "failed", "unopened"]
    reason: str = ""
    sha256: str | None = None
    size: int = 0
    loaded: Loaded | None = None
    page: PageQuote | PagePicture | None = None


def _on_page(edges: Rectangle) -> Rectangle:
    if not (0 <= edges.left < edges.right <= 1 and 0 <= edges.top < edges.bottom <= 1):
        raise ValueError("a rectangle beyond the page")
    return edges


def _storable(extra: dict[str, Any]) -> dict[str, Any]:
    json.dumps(extra, allow_nan=False)
    return extra


_Sentence = Annotated[str, AfterValidator(lambda value: shortened(value[: 2 * _REASON], _REASON))]
_Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
_Number = Annotated[int, Field(ge=0, lt=1 << 53)]
_Extra = Annotated[dict[str, Any], AfterValidator(_storable)]
_Length = Annotated[float, Field(gt=0, lt=1e9)]  # in points
_Pixels = Annotated[int, Field(gt=0, le=MOST_PIXELS)]


class _Message(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Ready(_Message):
    """The first message of a process: it is ready to read, and says whether it is confined."""

    ready: Literal[True]
    landlock: bool = False
    seccomp: bool = False


class _Start(_Message):
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0, lt=1 << 62)]


class Outcome(_Message):
    """The last message about a file; ``worn`` says that the process must be replaced, as it has grown too large."""

    status: Literal["read", "empty", "failed", "unopened"]
    reason: _Sentence = ""
    note: _Sentence = ""
    date: _Day | None = None
    title: _Sentence = ""
    worn: Any = True


class _Sections(_Message):
    """For each section: the length of its text, page, row, date, other metadata and headings."""

    sections: Annotated[
        list[tuple[_Number, _Number | None, _Number | None, _Day | None, _Extra | None, list[Heading]]],
        Field(min_length=1),
    ]


class _Place(_Message):
    page: tuple[_Length, _Length]
    rectangles: Annotated[list[Annotated[Rectangle, AfterValidator(_on_page)]], Field(min_length=1, max_length=1_000)]


class _Picture(_Message):
    pixels: tuple[_Pixels, _Pixels]


_FIRST: TypeAdapter[Outcome | _Start] = TypeAdapter(Outcome | _Start)
_OF_FILE: TypeAdapter[Outcome | _Sections] = TypeAdapter(Outcome | _Sections)
_OF_PAGE: TypeAdapter[Outcome | _Place | _Picture] = TypeAdapter(Outcome | _Place | _Picture)


def read_start(reading: Reading, stream: IO[bytes]) -> tuple[Reading, Outcome | None]:
    """Add the hash and size of the bytes about to be parsed, or return the outcome of a file that was not opened.

    This and the functions below raise ``EOFError`` when the process is gone, and ``ValueError`` for an invalid reply.
    """
    first = _FIRST.validate_json(receive(stream))
    if isinstance(first, Outcome):
        return reading, first
    return replace(reading, sha256=first.sha256, size=first.size), None


def read_file(reading: Reading, last: Outcome | None, stream: IO[bytes], limits: ReadLimits) -> tuple[Reading, bool]:
    """Read a file's sections and outcome; return also whether the process is worn and must be replaced."""
    sections: list[Section] = []
    last = last or _read_sections(sections, stream, limits)
    loaded = Loaded(sections, last.note, last.date, plain_title(last.title)) if sections else None
    return _finished(replace(reading, loaded=loaded), last)


def read_page(reading: Reading, last: Outcome | None, stream: IO[bytes]) -> tuple[Reading, bool]:
    """Read what was asked of a page, and the outcome; return also whether the process is worn and must be replaced."""
    page: PageQuote | PagePicture | None = None
    message = last or _OF_PAGE.validate_json(receive(stream))
    if not isinstance(message, Outcome):
        page = (
            PageQuote(*message.page, tuple(message.rectangles))
            if isinstance(message, _Place)
            else _drawn(message, stream)
        )
        message = Outcome.model_validate_json(receive(stream))
    return _finished(replace(reading, page=page), message)


def _finished(reading: Reading, last: Outcome) -> tuple[Reading, bool]:
    worn = last.worn is not False
    if last.status == "read" and (reading.loaded or reading.page):
        return replace(reading, status="read"), worn
    if last.status == "read" or not last.reason:
        raise ValueError("no such outcome")
    return replace(reading, status=last.status, reason=last.reason, loaded=None, page=None), worn


def _drawn(picture: _Picture, stream: IO[bytes]) -> PagePicture:
    width, height = picture.pixels
    if width * height > _PIXELS:
        raise ValueError("too large a picture")
    pixels = receive(stream, 3 * width * height)
    if len(pixels) != 3 * width * height:
        raise ValueError("pixels that do not add up")
    return PagePicture(width, height, pixels)


def _read_sections(sections: list[Section], stream: IO[bytes], limits: ReadLimits) -> Outcome:
    """Read sections into the list ``sections``, and return the message that follows them."""
    headers, texts = limits.text, 4 * limits.text  # bytes left: a character takes at most four
    while True:
        frame = receive(stream)
        message = _OF_FILE.validate_json(frame)
        if isinstance(message, Outcome):
            return message
        headers -= len(frame)
        encoded = receive(stream, texts)
        texts -= len(encoded)
        text, start = encoded.decode(), 0
        for length, page, row, date, extra, headings in message.sections:
            part = text[start : start + length]
            if len(part) != length or not part.strip() or not is_heading_list(headings, length):
                raise ValueError("not a section")
            sections.append(Section(part, page, row, date, extra, tuple(headings)))
            start += length
        if start != len(text):
            raise ValueError("lengths that do not add up")
        if headers < 0 or len(sections) * SECTION > limits.text:
            raise ValueError("too many sections")
