"""Find a quote on a page of a PDF, and draw the page, with pdfium.

A passage is cleaned text: its lines are joined, hyphens at their ends may be gone, ligatures and spaces are replaced.
So the quote and the page are compared by *letters*: each character as it is after cleaning, without spaces and hyphens.
Each passage of a PDF, and so each quote, is from one page.
"""

import ctypes
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from typing import Any, NamedTuple

from core.passages import BETWEEN_CELLS
from core.text import clean
from retrieval.documents.loaded import MOST_PIXELS, PagePicture, PageQuote, Rectangle
from retrieval.documents.pdf.reader import read_page
from retrieval.documents.pdf.words import LIGATURES, LINE_END_HYPHEN, characters_of, displayed

_WIDEST = 4_000  # pixels
_CHECKED = 2.0  # pixels per point of the drawing in which text must be visible
_CONTRAST = 16  # of 255, between the lightest and the darkest pixel of a word that can be seen
_OVERHANG = 0.004  # of the page, by which a glyph may reach beyond its edge
_GAP = 3.0  # the widest gap before a line's next character, in line heights
_LOST = re.compile(r"[\s-]+")


class _Glyph(NamedTuple):
    """A character on the page: its origin on the baseline, ``x`` and ``y``, and the numbers of its word and its line.

    Lengths, also of ``box``, are in points from the left and the top of the displayed page.
    """

    letters: str
    box: Rectangle
    x: float
    y: float
    word: int
    line: int


def place_quote(data: bytes, page: int, quote: str, before: str = "", after: str = "") -> PageQuote | None:
    """Return where a quote stands on a page, counted from 1.

    ``before`` and ``after`` are the rest of its passage, which select one of several occurrences. The result is None if
    the quote is not there, is still ambiguous, reaches beyond the page, cannot be seen, or shares its lines with other
    text. Raises ``PdfiumError``.
    """
    with _opened(data, page) as opened:
        if opened is None:
            return None
        glyphs = _glyphs(opened)
        rows = _rows(opened, quote) if BETWEEN_CELLS in quote else []
        if rows:
            quoted = [glyph for glyph in glyphs if any(_holds(box, glyph) for row in rows for box in row)]
            lines, others = [_enclosing(row) for row in rows], []
        elif span := _find(glyphs, quote, before, after):
            quoted, others = glyphs[span.start : span.stop], glyphs[: span.start] + glyphs[span.stop :]
            lines = [_enclosing(glyph.box for glyph in line) for line in _lines(quoted)]
        else:
            return None
        width, height = opened.get_size()
        if any(not _within(glyph.box, width, height) for glyph in quoted) or _covers(lines, others, quoted):
            return None
        if not _visible(opened, quoted):
            return None
    shares = (
        Rectangle(*(min(1.0, max(0.0, edge / size)) for edge, size in zip(line, (width, height) * 2, strict=True)))
        for line in lines
    )
    return PageQuote(width, height, tuple(shares))


def draw_page(data: bytes, page: int, width: int) -> PagePicture | None:
    """Return a page drawn ``width`` pixels wide, or narrower if that is too large; None if there is no such page.

    Raises ``PdfiumError``.
    """
    with _opened(data, page) as opened:
        if opened is None:
            return None
        bitmap = opened.render(
            scale=_scale(opened, min(max(width, 1), _WIDEST) / opened.get_width()), rev_byteorder=True
        )
        if bitmap.n_channels != 3:
            raise ValueError("a bitmap of another format")
        rows = memoryview(bitmap.buffer).cast("B")
        pixels = b"".join(rows[top : top + 3 * bitmap.width] for top in range(0, len(rows), bitmap.stride))
        return PagePicture(bitmap.width, bitmap.height, pixels)


@contextmanager
def _opened(data: bytes, page: int) -> Iterator[Any]:
    """Yield a page, or None if the document has no page of this number."""
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

    with PdfDocument(data) as document:
        if not 1 <= page <= len(document):
            yield None
            return
        with closing(document[page - 1]) as opened:
            yield opened


def _glyphs(page: Any) -> list[_Glyph]:
    """Return the characters, without white space, that ``pages_by_pdfium`` reads: those in the page's visible box."""
    from pypdfium2 import raw

    left, bottom, right, top = page.get_bbox()
    to_place = displayed(page)
    x, y = ctypes.c_double(), ctypes.c_double()
    glyphs: list[_Glyph] = []
    word = line = 0
    with closing(page.get_textpage()) as text:
        for index, character in enumerate(characters_of(text)):
            if not character:
                continue
            if character.isspace():
                word += 1
                line += character in "\r\n"
                continue
            box = text.get_charbox(index)
            if min(box[2], right) <= max(box[0], left) or min(box[3], top) <= max(box[1], bottom):
                continue
            raw.FPDFText_GetCharOrigin(text, index, x, y)
            corners = to_place(box[0], box[1]), to_place(box[2], box[3])
            edges = Rectangle(*map(min, *corners), *map(max, *corners))
            across, down = to_place(x.value, y.value)
            glyphs.append(_Glyph(_letters(character), edges, across, down, word, line))
            line += character == LINE_END_HYPHEN
    return glyphs


def _rows(page: Any, quote: str) -> list[list[Rectangle]]:
    """Return the boxes of the words in each row of a table that a quote gives, ``column: value | column: value``.

    The result is empty unless each row is there once.
    """
    known = [list(row) for table in read_page(page)[1] for _, row in groupby(table.body, key=lambda cell: cell.row)]
    rows: list[list[Rectangle]] = []
    for line in quote.split("\n"):
        values = [_letters(part) for part in line.split(BETWEEN_CELLS)]
        fitting = [
            row
            for row in known
            if len(row) == len(values)
            and all(value.endswith(_letters(cell.text)) for value, cell in zip(values, row, strict=True))
        ]
        if len(fitting) != 1:
            return []
        words = (word for cell in fitting[0] for one in cell.lines for word in one.words)
        rows.append([Rectangle(word.left, word.top, word.right, word.bottom) for word in words])
    return rows


def _letters(text: str) -> str:
    return _LOST.sub("", clean(text.translate(LIGATURES)))


def _find(glyphs: Sequence[_Glyph], quote: str, before: str, after: str) -> range | None:
    """Return the range of the quote's glyphs; None if it is not found, or found at several places."""
    wanted, ahead, behind = map(_letters, (quote, before, after))
    on_page = "".join(glyph.letters for glyph in glyphs)
    starts = [match.start() for match in re.finditer(f"(?={re.escape(wanted)})", on_page)] if wanted else []
    if len(starts) > 1:
        starts = [
            start
            for start in starts
            if on_page.endswith(ahead, 0, start) and on_page.startswith(behind, start + len(wanted))
        ]
    if len(starts) != 1:
        return None
    owners = [number for number, glyph in enumerate(glyphs) for _ in glyph.letters]
    return range(owners[starts[0]], owners[starts[0] + len(wanted) - 1] + 1)


def _lines(glyphs: Sequence[_Glyph]) -> list[list[_Glyph]]:
    """Divide the glyphs into lines; a glyph that does not continue the line begins another."""
    lines: list[list[_Glyph]] = []
    edges = glyphs[0].box
    for glyph in glyphs:
        if lines and _continues(edges, lines[-1][-1], glyph):
            lines[-1].append(glyph)
            edges = _enclosing([edges, glyph.box])
        else:
            lines.append([glyph])
            edges = glyph.box
    return lines


def _continues(line: Rectangle, last: _Glyph, glyph: _Glyph) -> bool:
    """True if a glyph stands beside a line's last one or, in text that runs up or down the page, above or below it.

    Such a glyph has nearly the same baseline, or is raised or lowered within the line. pdfium reports the end of a line
    after raised and lowered characters as well, so a new line number alone does not end the line.
    """
    broken = glyph.line != last.line
    known, box = last.box if broken else line, glyph.box
    steps = abs(glyph.x - last.x), abs(glyph.y - last.y)
    along = 0 if broken or steps[0] >= steps[1] else 1
    across = 1 - along
    height = max(known[across + 2] - known[across], box[across + 2] - box[across])
    gap = max(box[along] - known[along + 2], known[along] - box[along + 2])
    beside = steps[across] <= height / 2 or known[across] <= _middle(box, across) <= known[across + 2]
    return beside and gap <= _GAP * height


def _enclosing(boxes: Iterable[Rectangle]) -> Rectangle:
    left, top, right, bottom = zip(*boxes, strict=True)
    return Rectangle(min(left), min(top), max(right), max(bottom))


def _middle(box: Rectangle, axis: int) -> float:
    return (box[axis] + box[axis + 2]) / 2


def _within(box: Rectangle, width: float, height: float) -> bool:
    across, down = _OVERHANG * width, _OVERHANG * height
    return box.left >= -across and box.top >= -down and box.right <= width + across and box.bottom <= height + down


def _covers(lines: Sequence[Rectangle], others: Sequence[_Glyph], quoted: Sequence[_Glyph]) -> bool:
    """True if a line's rectangle holds other text; copies of the quote's glyphs, drawn as a shadow, do not count."""
    inside = [other for other in others if other.letters and any(_holds(line, other) for line in lines)]
    return any(not any(one.letters == other.letters and _holds(one.box, other) for one in quoted) for other in inside)


def _holds(box: Rectangle, glyph: _Glyph) -> bool:
    """True if the middle of a glyph is in a box."""
    return box.left < _middle(glyph.box, 0) < box.right and box.top < _middle(glyph.box, 1) < box.bottom


def _visible(page: Any, glyphs: Sequence[_Glyph]) -> bool:
    """True if the drawn page has more than one colour where each word stands.

    So text in its background's colour is not visible, but the undrawn text that OCR lays over a scan is. A row of
    signs, such as the dots in a table of contents, counts as one word: pdfium may report the signs evenly spaced, a
    little beside their real places.
    """
    scale = _scale(page, _CHECKED)
    bitmap = page.render(scale=scale, grayscale=True)
    rows = memoryview(bitmap.buffer).cast("B")
    words = {glyph.word for glyph in glyphs if glyph.letters.isalnum()}
    for _, word in groupby(glyphs, key=lambda glyph: (glyph.line, glyph.word if glyph.word in words else None)):
        box = _enclosing(glyph.box for glyph in word)
        left, top = (max(0, math.floor(edge * scale)) for edge in (box.left, box.top))
        right, bottom = math.ceil(box.right * scale), math.ceil(box.bottom * scale)
        shades = b"".join(
            rows[row * bitmap.stride + left : row * bitmap.stride + min(right, bitmap.width)]
            for row in range(top, min(bottom, bitmap.height))
        )
        if not shades or max(shades) - min(shades) < _CONTRAST:
            return False
    return True


def _scale(page: Any, scale: float) -> float:
    """Return ``scale``, or the largest scale that keeps the picture of a page within ``MOST_PIXELS``."""
    width, height = map(float, page.get_size())
    return min(scale, math.sqrt(MOST_PIXELS / (width * height)), MOST_PIXELS / 1_000 / max(width, height))
