"""What is shown of a page of a PDF: where a quote stands on it, and its picture."""

from dataclasses import dataclass
from typing import NamedTuple

MOST_PIXELS = 8_000_000  # of a picture


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
