"""Find the words of a PDF page, and the straight lines drawn on it, with their places."""

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple

Point = tuple[float, float]
LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
LINE_END_HYPHEN = "\x02"  # pdfium's mark
_EXACT = 1_000_000  # steps across the page: pdfium gives places as whole numbers of steps
_SPAN = 10_000  # points between the places that are converted
_SAME_LINE, _OVERLAP, _GAP = 0.5, -0.3, 0.6  # of a word's height: how far its next character may be off
_BOLD, _BOLD_NAMES = 600, (b"bold", b"black", b"heavy")  # weight of a font, and what stands in its name
_LONGEST_NAME = 100  # bytes of it
_MOST_CHARACTERS, _MOST_PATHS, _MOST_SEGMENTS = 20_000, 10_000, 2_000  # of a page; of a path
_TO_THE_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")  # Hebrew, Arabic and others
_STRAIGHT, _SHORTEST = 1.0, 3.0  # points by which a line's ends may differ in height or side; its least length


@dataclass(slots=True)
class Word:
    """Edges are in points from the left and the top of the displayed page; ``first`` to ``last`` are its characters.

    ``turned`` are words that run in another direction than most of the page.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    first: int
    last: int
    bold: bool
    turned: bool

    @property
    def characters(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top


class Rule(NamedTuple):
    """A drawn line: its height where it is horizontal, else its side, and where it begins and ends."""

    at: float
    begin: float
    end: float


def displayed(page: Any) -> Callable[[float, float], Point]:
    """Return a function from a place on a page to points from the left and the top of the page as it is displayed."""
    from pypdfium2 import PdfPosConv  # type: ignore[import-untyped]

    width, height = page.get_size()
    convert = PdfPosConv(page, (0, 0, _EXACT, _EXACT, 0)).to_bitmap
    corner, beside, above = convert(0, 0), convert(_SPAN, 0), convert(0, _SPAN)
    (a, c), (b, d) = (
        ((one - at) / _SPAN, (other - at) / _SPAN) for one, other, at in zip(beside, above, corner, strict=True)
    )
    across, down = width / _EXACT, height / _EXACT
    return lambda x, y: ((a * x + c * y + corner[0]) * across, (b * x + d * y + corner[1]) * down)


def characters_of(text: Any) -> list[str]:
    """Return the characters of a page's text by pdfium's numbers; "" for the second number of a character."""
    from pypdfium2 import raw

    codes = [raw.FPDFText_GetUnicode(text, index) for index in range(text.count_chars())]
    characters = [chr(code) if code else "" for code in codes]
    for index, (high, low) in enumerate(pairwise(codes)):
        if 0xD800 <= high < 0xDC00 <= low < 0xE000:
            characters[index : index + 2] = chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)), ""
    return characters


def words_of(page: Any, text: Any, characters: Sequence[str]) -> list[Word]:
    """Return the words within the page's visible box, in the order of its ``characters``.

    None of a very full page, or of one written from right to left.
    """
    from pypdfium2 import raw

    if len(characters) > _MOST_CHARACTERS or any(map(_TO_THE_LEFT.match, characters)):
        return []
    to_place = displayed(page)
    left, bottom, right, top = page.get_bbox()
    begin, end, low, high = (ctypes.c_double() for _ in range(4))
    line = raw.FS_RECTF()
    angles = [round(raw.FPDFText_GetCharAngle(text, index), 1) for index in range(len(characters))]
    usual = Counter(angles).most_common(1)[0][0] if angles else 0
    words: list[Word] = []
    word: Word | None = None
    for index, character in enumerate(characters):
        if not character or character.isspace():
            word = word if not character else None
            continue
        raw.FPDFText_GetCharBox(text, index, begin, end, low, high)
        raw.FPDFText_GetLooseCharBox(text, index, line)
        if end.value <= left or begin.value >= right or high.value <= bottom or low.value >= top:
            continue
        turned = angles[index] != usual
        lower, upper = (low.value, high.value) if turned else (line.bottom, line.top)
        (x, y), (x2, y2) = to_place(begin.value, lower), to_place(end.value, upper)
        x, x2 = (x, x2) if x < x2 else (x2, x)
        y, y2 = (y, y2) if y < y2 else (y2, y)
        if word and word.turned == turned and (turned or _continues(word, x, (y + y2) / 2)):
            word.left, word.top = min(word.left, x), min(word.top, y)
            word.right, word.bottom = max(word.right, x2), max(word.bottom, y2)
            word.text += character
            word.last = index
        else:
            words.append(word := Word(character, x, y, x2, y2, index, index, _is_bold(text, index), turned))
    return words


def _continues(word: Word, left: float, middle: float) -> bool:
    """True if a character with this left edge and the middle of its height stands close behind a word."""
    height = word.height
    return abs(middle - word.middle) < _SAME_LINE * height and _OVERLAP * height < left - word.right < _GAP * height


def _is_bold(text: Any, index: int) -> bool:
    from pypdfium2 import raw

    name = ctypes.create_string_buffer(_LONGEST_NAME)
    raw.FPDFText_GetFontInfo(text, index, name, _LONGEST_NAME, ctypes.c_int())
    return raw.FPDFText_GetFontWeight(text, index) >= _BOLD or any(one in name.value.lower() for one in _BOLD_NAMES)


def rules_of(page: Any) -> tuple[list[Rule], list[Rule]]:
    """Return the horizontal and the vertical lines of a page, also those around filled areas."""
    to_place = displayed(page)
    across: list[Rule] = []
    down: list[Rule] = []
    for (x, y), (x2, y2) in _lines(page, to_place):
        if abs(y - y2) < _STRAIGHT and abs(x - x2) > _SHORTEST:
            across.append(Rule((y + y2) / 2, min(x, x2), max(x, x2)))
        elif abs(x - x2) < _STRAIGHT and abs(y - y2) > _SHORTEST:
            down.append(Rule((x + x2) / 2, min(y, y2), max(y, y2)))
    return across, down


def _lines(page: Any, to_place: Callable[[float, float], Point]) -> Iterator[tuple[Point, Point]]:
    """Yield the ends of each straight line of the page's paths."""
    from pypdfium2 import raw

    x, y, matrix = ctypes.c_float(), ctypes.c_float(), raw.FS_MATRIX()
    paths = page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=1)
    for path in islice(paths, _MOST_PATHS):
        raw.FPDFPageObj_GetMatrix(path, matrix)
        begin = before = (0.0, 0.0)
        for index in range(min(raw.FPDFPath_CountSegments(path), _MOST_SEGMENTS)):
            segment = raw.FPDFPath_GetPathSegment(path, index)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            a, b = x.value, y.value
            here = to_place(matrix.a * a + matrix.c * b + matrix.e, matrix.b * a + matrix.d * b + matrix.f)
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_MOVETO:
                begin = here
            elif kind == raw.FPDF_SEGMENT_LINETO:
                yield before, here
            if raw.FPDFPathSegment_GetClose(segment):
                yield here, begin
            before = here
