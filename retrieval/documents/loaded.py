"""What the readers of documents return: a file's sections and what is known of it, or what is shown of a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from retrieval.documents.headings import MOST_HEADINGS, Heading, first_title

CELLS = "selfrag:cells"  # in a section's and a passage's metadata: the cells of tables that stand in its text
# The number of its table in the document, that of its row in the table, and where in the text its column's name begins
# and ends and the cell ends; between the two stand a colon and a space. A name that ends before it begins is none.
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
        """Return what was read of a file that is one text; without a ``title`` that is the first heading."""
        bounded = tuple(headings) if len(headings) <= MOST_HEADINGS else ()
        return cls([Section(text, headings=bounded)], date=date, title=title or first_title(text, headings))


class Rectangle(NamedTuple):
    """The edges, as shares of the page as it is displayed, from its left and its top."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class PageQuote:
    """Where a quote stands on a page of this size in points, as it is displayed: rotated and cropped.

    There is a rectangle for each line of text, in the order of the text.
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
