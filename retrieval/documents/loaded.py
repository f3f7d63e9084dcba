"""What reading a document returns: a file's sections, the place of a quote on a page, or a page's picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from retrieval.documents.headings import MOST_HEADINGS, Heading, by_number, first_title

CELLS = "selfrag:cells"  # the key, in a section's and a passage's metadata, of the table cells in its text
# The numbers of a cell's table and row in the document, and offsets in the text: the begin and end of the column name,
# which a colon and a space follow, and the end of the cell. Without a name, its end is before its begin.
Cell = tuple[int, int, int, int, int]
MOST_PIXELS = 8_000_000  # of a picture


@dataclass(frozen=True)
class Section:
    """One page, row or whole file of cleaned text; ``page`` and ``row`` count from 1.

    ``date`` is the section's own, as 'YYYY-MM-DD'; ``extra`` is metadata from the file, serialisable as JSON.
    ``headings`` are in the order of the text.
    """

    text: str
    page: int | None = None
    row: int | None = None
    date: str | None = None
    extra: dict[str, Any] | None = None
    headings: tuple[Heading, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """The sections of a file that have text; ``note`` is a sentence on what could not be read.

    ``date`` is the one stated in the document, as 'YYYY-MM-DD', and ``title`` its title, "" if there is none.
    """

    sections: list[Section]
    note: str = ""
    date: str | None = None
    title: str = ""

    @classmethod
    def of(cls, text: str, headings: Sequence[Heading], date: str | None = None, title: str = "") -> Self:
        """Return a file with one section; without ``title`` its title is the first heading of the highest level."""
        found = by_number(text, headings)
        bounded = tuple(found) if len(found) <= MOST_HEADINGS else ()
        return cls([Section(text, headings=bounded)], date=date, title=title or first_title(text, found))


class Rectangle(NamedTuple):
    """Edges as shares of the displayed page, measured from its left and its top."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class PageQuote:
    """Where a quote stands on a page, with one rectangle per line of text, in the order of the text.

    ``width`` and ``height`` are the page's in points, as it is displayed: rotated and cropped.
    """

    width: float
    height: float
    rectangles: tuple[Rectangle, ...]


@dataclass(frozen=True)
class PagePicture:
    """A page as it is displayed; three bytes for a pixel, red, green and blue, row by row from the top."""

    width: int
    height: int
    pixels: bytes
