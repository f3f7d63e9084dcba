"""Lines of words on a PDF page, divided into parts where wide gaps are, and put into the cells of columns."""

import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from retrieval.documents.decode import AFTER_AMOUNT, BEFORE_AMOUNT
from retrieval.documents.pdf.words import LINE_END_HYPHEN, Word

_LEVEL = 0.45  # of the words' height: how far the middles of a line's words may differ
_CELL_GAP, _FIGURE_GAP = 0.75, 0.45  # of it: a wider gap divides two cells; two figures
_DOTS = ".…_·"  # that lead to a figure
_PERIOD = re.compile(
    r"(?:\d{1,2}[./-]\d{1,2}[./-])?(?<![\d,.])(?:19|20)\d\d(?![\d,.]\d)(?:[-–/]\d{2,4})?|\b(?:[QH][1-4]|[1-4][QH])(?:\d\d)?\b",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\(\w\)")
_OTHER_NUMBER, _BEFORE_YEAR = re.compile(r"\d{3}|\d[.,]\d"), 3  # words, one of which may be a day
_UNIT = re.compile(r"\W{0,3}0?00\W{0,2}s?\W?%?")  # thousands
BEFORE_FIGURE = (*BEFORE_AMOUNT, "US$")
_NO_FIGURE = ("—", "–", "-", "*", "..", "...", "n/a", "na")  # in the place of one


class Line:
    """Words beside each other, from left to right; leading dots at the end don't count as part of its width."""

    def __init__(self, words: Iterable[Word]) -> None:
        self.words = sorted(words, key=lambda word: word.left)
        self.left = self.words[0].left
        led = [word for word in self.words if not _leads(word)]
        self.right = max(word.right for word in led or self.words)
        self.middle = median(word.middle for word in self.words)
        self.height = median(word.height for word in self.words)
        self.text = text_of(self.words)


class Cell(NamedTuple):
    """A cell's lines, and its first and last row and column, from 0."""

    lines: Sequence[Line]
    row: int
    last_row: int
    column: int
    last_column: int

    @property
    def text(self) -> str:
        words = [word for line in self.lines for word in line.words]
        return text_of(sorted(words, key=lambda word: word.first) if all(word.turned for word in words) else words)

    @property
    def bold(self) -> bool:
        return all(word.bold for line in self.lines for word in line.words)


Span = tuple[int, int, list[Line]]  # the first and last column of a cell, and its lines
Columns = Sequence[tuple[float, float]]  # the left and right edge of each


def text_of(words: Sequence[Word]) -> str:
    """Return the words' text without a hyphen at a line's end and without leading dots."""
    text = " ".join(word.text for word in words).replace(f"{LINE_END_HYPHEN} ", "")
    return text.rstrip(f" {_DOTS}") if _leads(words[-1]) else text


def _leads(word: Word) -> bool:
    dots = len(word.text) - len(word.text.rstrip(_DOTS))
    return dots > 2 or dots == len(word.text)


def lines_of(words: Iterable[Word]) -> list[Line]:
    """Return the lines of words from top to bottom."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.middle):
        for line in lines[:-5:-1]:
            if abs(word.middle - line[-1].middle) < _LEVEL * min(word.height, line[-1].height):
                line.append(word)
                break
        else:
            lines.append([word])
    return sorted(map(Line, lines), key=lambda line: line.middle)


def parts_of(line: Line) -> list[Line]:
    """Return the line divided where wide gaps or leading dots are."""
    parts: list[list[Word]] = []
    right = 0.0
    for word, after in zip(line.words, [*line.words[1:], None], strict=True):
        before = parts[-1][-1] if parts else word
        are_figures = is_figure(word.text) and is_figure(before.text)
        gap = (_FIGURE_GAP if are_figures else _CELL_GAP) * min(line.height, word.height)
        is_apart = word.text in BEFORE_FIGURE and after is not None and after.left - word.right >= gap
        is_led = is_apart or (_leads(before) and not _leads(word))
        is_one = before.text in BEFORE_FIGURE or word.text in AFTER_AMOUNT
        if not parts or is_led or (word.left - right >= gap and not is_one):
            parts.append([])
            right = 0.0
        parts[-1].append(word)
        right = max(right, word.right)
    return list(map(Line, parts))


def put_into(columns: Columns, parts: Iterable[Line]) -> list[Span]:
    """Return the cells of a row, each in the columns that its lines meet, or else in the nearest."""
    row: list[Span] = []
    for part in parts:
        met = [index for index, (left, right) in enumerate(columns) if part.left < right and part.right > left]
        if not met:
            away = [max(left - part.right, part.left - right) for left, right in columns]
            met = [away.index(min(away))]
        if row and met[0] <= row[-1][1]:
            row[-1] = row[-1][0], max(met[-1], row[-1][1]), [*row[-1][2], part]
        else:
            row.append((met[0], met[-1], [part]))
    return row


def is_figure(text: str) -> bool:
    """True for a number, perhaps with a short unit, and for a sign in its place."""
    if _UNIT.fullmatch(text) or "=" in text:
        return False
    return text in _NO_FIGURE or (any(map(str.isdigit, text)) and sum(map(str.isalpha, text)) <= 2)


def is_period(text: str) -> bool:
    """True for a year, quarter or day that a few words may stand before: Fiscal Year 2020; May 31, 2020."""
    rest = _PERIOD.sub("", text)
    return rest != text and len(rest.split()) <= _BEFORE_YEAR and _OTHER_NUMBER.search(rest) is None


def is_amount(text: str) -> bool:
    """True for a figure that is no year, quarter or date."""
    rest = _PERIOD.sub("", text)
    return is_figure(text) and (rest == text or any(map(str.isdigit, _NOTE.sub("", rest))))
