"""Recognise what the columns of a table hold: figures with a unit, dates, times, durations or texts."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple

from core.words import RAISED_DIGITS
from grounding.amounts import unit_of_column
from grounding.dates import NUMERIC, dates
from grounding.language import SURE, language_of
from grounding.notes import MARKED

FIGURE = re.compile(  # -$5 and ($5) mean $-5
    r"(?P<before>[-−(]?)(?P<currency>[$€£¥]|[A-Z]{3}(?=\s))?\s*(?P<sign>[-+−(]?)\s*(?P<figure>[\d.,'’\s]*\d)"
    r"(?P<power>[Ee][-+]?\d{1,2})?\)?\s*"
    rf"(?P<unit>[%$€£¥]|(?!{RAISED_DIGITS})[^\W\d]{{1,12}}\.?)?\)?"
)
POINTS_THOUSANDS = frozenset("de es it nl pt da tr id".split())  # languages that write 1.234 for a thousand and more
THOUSANDS = re.compile(r"[^,]*\d(,\d{3})+(?!\d)[^,]*")
POINTS = re.compile(r"[1-9]\d{0,2}(\.\d{3})*|0")
GROUPING = {".": re.compile(r"[,'’\s]"), ",": re.compile(r"[.'’\s]")}
# Digits in groups of three, in India also of two: 31.12.2020 is no figure.
GROUPED = {
    mark: re.compile(rf"(?:\d*|\d{{1,3}}(?:{apart.pattern}\d{{2,3}})*{apart.pattern}\d{{3}})(?:[{mark}]\d+)?")
    for mark, apart in GROUPING.items()
}
CLOCK = re.compile(r"(\d{1,2})[:h]([0-5]\d)(?::([0-5]\d))?(?: ?([ap])\.?m\.?| ?h| ?Uhr)?", re.IGNORECASE)
DURATION = re.compile(
    r"(?:(\d+) ?(?:h|hrs?|hours?|std\.?|stunden?))?,? ?(?:(\d+) ?min(?:s|utes?|uten?|utos?)?\.?)?", re.IGNORECASE
)
DASH = re.compile(r"[-–—]+|n\.?/?a\.?", re.IGNORECASE)
FREE = frozenset("free gratis kostenlos frei gratuit".split())
LONGEST_FIGURE, LONGEST_DAY = 50, 30  # characters of a cell
SAMPLE = 1_000  # different cells that tell of what kind a column is
TYPED = 0.9  # share of a column's cells that are numbers, or dates, from which the column is of that kind

Kind = Literal["number", "date", "text"]


class Column(NamedTuple):
    """A column: its ``name`` in the document, its ``key`` in a query, and the ``form`` of its figures, such as £{}."""

    name: str
    key: str
    kind: Kind
    form: str = "{}"
    mark: str = "."
    decimals: int = 0

    def text_of(self, value: float) -> str:
        """Return a figure with the column's unit and decimal mark, and at least ``decimals`` decimals."""
        whole, _, part = figure_text(abs(value)).partition(".")
        part = part.ljust(self.decimals, "0")
        return ("-" if value < 0 else "") + self.form.format(f"{whole}{self.mark}{part}" if part else whole)


def usual_mark(columns: Iterable[tuple[str | None, ...]], text: str) -> str:
    """Return the decimal mark of figures such as 1.234, as other columns of a table or the text's language suggest."""
    samples = map(_sample, columns)
    has_comma = any(decimal_mark(one) == "," and all(number(cell, ",") is not None for cell in one) for one in samples)
    return "," if has_comma or language_of(text, SURE) in POINTS_THOUSANDS else "."


def kind_of(cells: Sequence[str | None], marks: Container[str] = (), usual: str = ".") -> tuple[Kind, list[Any]]:
    """Return the kind of a column and the values of its cells; None for a cell without a value of that kind.

    A footnote's mark behind a figure is ignored; a raised number is such a mark only if ``marks`` has it. A column in
    several units, as 900 MB and 2 GB, holds texts, but 1 h 15 min is 75 minutes. A dash counts as an empty cell.
    ``usual`` is the decimal mark to assume if all figures are like 1.234, which may be a thousand or one.
    """
    sample = _sample(cells)
    mark = decimal_mark(sample, usual)

    def figure(cell: str) -> float | None:
        if len(sample) > 1 and cell.casefold() in FREE:
            return 0.0
        value = number(cell, mark)
        if value is None and (marked := MARKED.search(cell)) and (marked[1] in marks or not marked[1].isdigit()):
            return number(cell[: marked.start()], mark)
        return value

    day_of = partial(day, day_first=is_day_first(sample))
    kinds: list[tuple[Kind, Callable[[str], Any]]] = [("number", figure), ("date", day_of)]
    kinds += [("date", partial(clock, parts=parts)) for parts in (2, 3)] + [("number", minutes)]
    for kind, value_of in kinds if _have_one_unit(sample) else kinds[1:]:
        if sum(value_of(cell) is not None for cell in sample) >= TYPED * max(len(sample), 1):
            values = {cell: value_of(cell) for cell in _distinct(cells)}
            return kind, [values.get(cell or "") for cell in cells]
    return "text", list(cells)


def form_of(name: str, cells: Iterable[str | None], usual: str) -> tuple[str, str, int]:
    """Return the most frequent form of figures, such as £{}, their decimal mark, and the fewest decimals in a cell.

    For figures without a unit, the form has the unit that ``name`` may have in brackets, as in ``Price (€)``.
    """
    sample = _sample(cells)
    if not _have_one_unit(sample):
        return "{} min", ".", 0
    mark = decimal_mark(sample, usual)
    matches = [(cell, match) for cell in sample if (match := FIGURE.fullmatch(cell)) and not match["power"]]
    forms = Counter(
        f"{cell[match.start('currency') : match.start('figure')] if match['currency'] else ''}{{}}"
        f"{cell[match.end('figure') : match.end('unit')] if match['unit'] else ''}"
        for cell, match in matches
    )
    form = forms.most_common(1)[0][0] if forms else "{}"
    if form == "{}" and (unit := unit_of_column(name)):
        form = "{} " + unit
    return form, mark, min((len(match["figure"].partition(mark)[2]) for _, match in matches), default=0)


def _sample(cells: Iterable[str | None]) -> list[str]:
    return list(islice(_distinct(cells), SAMPLE))


def _distinct(cells: Iterable[str | None]) -> Iterator[str]:
    """Yield each cell once, without those that are empty or a dash."""
    return (cell for cell in dict.fromkeys(cells) if cell and not DASH.fullmatch(cell))


def _have_one_unit(cells: Iterable[str]) -> bool:
    """True if all units of figures are the same, such as "day" and "days", or the figures are ordinals."""
    matches = (FIGURE.fullmatch(cell) for cell in cells if len(cell) <= LONGEST_FIGURE)
    units = {(match["unit"] or match["currency"] or "").casefold().rstrip(".") for match in matches if match} - {""}
    shortest = min(units, key=len, default="")
    is_plural = len(shortest) > 1 and all(unit.startswith(shortest) for unit in units)
    return len(units) < 2 or is_plural or units <= {"st", "nd", "rd", "th"}


def decimal_mark(cells: Iterable[str], usual: str = ".") -> str:
    """Return the decimal mark of a column's figures, ``.`` or ``,``; ``usual`` if they leave it open, as 1.234 does."""
    mark = "."
    matches = (FIGURE.match(cell) for cell in cells if len(cell) <= LONGEST_FIGURE)
    figures = [match["figure"] for match in matches if match]  # a unit may end with a point
    if all(map(POINTS.fullmatch, figures)) and any(len(figure) > 3 for figure in figures):
        return "," if any(len(one) <= 3 or one.count(".") > 1 for one in figures) else usual  # 1.234 beside 567
    for figure in figures:
        point, comma = figure.rfind("."), figure.rfind(",")
        if point >= 0 and comma >= 0:
            return "." if point > comma else ","
        if figure.count(".") > 1 or (comma >= 0 and not THOUSANDS.fullmatch(figure)):
            mark = ","
    return mark


def number(cell: str, mark: str) -> float | None:
    """Return the value of a cell such as ``1,234.50 EUR``, or ``(5)`` for -5; None if it is no number."""
    match = FIGURE.fullmatch(cell) if len(cell) <= LONGEST_FIGURE else None
    if not match or not GROUPED[mark].fullmatch(match["figure"]):
        return None
    sign = (match["before"] + match["sign"]).strip("+")
    if sign.count("(") != cell.count(")"):
        return None
    value = float(GROUPING[mark].sub("", match["figure"]).replace(mark, ".") + (match["power"] or ""))
    return -value if sign else value


def minutes(cell: str) -> float | None:
    """Return the minutes in a cell such as 45 min, 1 h or 1 h 15 min; None if it is no duration."""
    match = DURATION.fullmatch(cell) if any(map(str.isdecimal, cell)) else None
    return 60 * float(match[1] or 0) + float(match[2] or 0) if match else None


def is_day_first(cells: Iterable[str]) -> bool | None:
    """Return whether the dates of a column, such as 05.04.2021, begin with the day; None if nothing tells."""
    for match in filter(None, map(NUMERIC.search, cells)):
        if match[2] == "." or int(match[1]) > 12:
            return True
        if int(match[3]) > 12:
            return False
    return None


def day(cell: str, day_first: bool | None) -> str | None:
    """Return the date in a cell as YYYY-MM-DD, read by ``day_first``; None unless exactly one date is possible."""
    full = [one for one in dates(cell) if one.year and one.month and one.day] if len(cell) <= LONGEST_DAY else []
    if day_first is not None and (match := NUMERIC.search(cell)):
        full = [one for one in full if one.day == int(match[1 if day_first else 3])]
    return f"{full[0].year:04}-{full[0].month:02}-{full[0].day:02}" if len(full) == 1 else None


def clock(cell: str, parts: int) -> str | None:
    """Return a time with 2 or 3 ``parts``, such as 9:30 pm, as HH:MM or HH:MM:SS; None for any other cell."""
    match = CLOCK.fullmatch(cell)
    if not match or (match[3] is None) == (parts == 3):
        return None
    hour = int(match[1]) % 12 + (12 if match[4] in "pP" else 0) if match[4] else int(match[1])
    return ":".join([f"{hour:02}", *filter(None, match.group(2, 3))])


def figure_text(value: object) -> str:
    """Return a figure as text: with at most two decimals, or below 1 with three significant digits."""
    if not isinstance(value, float):
        return str(value)
    rounded = round(value, 2) if abs(value) >= 1 else float(f"{value:.3g}")
    return f"{rounded:.2f}".rstrip("0").rstrip(".") if abs(rounded) >= 1 else f"{rounded:g}"
