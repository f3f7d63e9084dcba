"""Find dates in the forms in which people write them."""

import re
from collections.abc import Iterator, Set
from functools import lru_cache
from typing import NamedTuple

from grounding.stems import plain_text

NAMES = "january february march april may june july august september october november december".split()
MONTHS = {form: number for number, name in enumerate(NAMES, 1) for form in (name, name[:3])} | {"sept": 9}
# German, French and Spanish.
OTHER_MONTHS = {
    form: number
    for number, forms in enumerate(
        """januar,jänner,janvier,enero februar,février,febrero märz,mars,marzo avril,abril mai,mayo juni,juin,junio
        juli,juillet,julio août,agosto septembre,septiembre oktober,octobre,octubre novembre,noviembre
        dezember,décembre,diciembre""".split(),
        1,
    )
    for form in forms.split(",")
}
ALL_MONTHS = MONTHS | OTHER_MONTHS
_MONTH = rf"(?P<month>{'|'.join(sorted(ALL_MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|\.)?"
_YEAR = r"(?P<year>\d{4})"
WRITTEN = (
    re.compile(rf"\b{_DAY}\s+(?:of\s+|de\s+)?{_MONTH}(?:,?\s+(?:del?\s+)?{_YEAR})?", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\s+{_DAY}\b(?:,?\s+{_YEAR})?", re.IGNORECASE),
    re.compile(rf"\b{_MONTH},?\s+(?:of\s+|del?\s+)?{_YEAR}", re.IGNORECASE),
    re.compile(r"(?:(?P<year>\d{4})\s?年\s?)?(?P<month>\d{1,2})\s?月(?:\s?(?P<day>\d{1,2})\s?[日号])?"),
    re.compile(r"(?<![\d./-])(?P<month>\d\d|\d(?=/))[./](?P<year>(?:19|20)\d\d)(?![\d/-])"),
    re.compile(r"(?<![\d-])(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?![\d-])"),
)
YEAR = re.compile(r"\b(?:1\d{3}|20\d\d)\b")
ISO = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
NUMERIC = re.compile(r"(?<![\d.])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?!\d)")


class Date(NamedTuple):
    """A date; a part that is not stated is None."""

    year: int | None
    month: int
    day: int | None


@lru_cache(maxsize=64)
def dates(text: str) -> frozenset[Date]:
    """Return every date in the text; ``3/5/2021`` gives both readings."""
    return frozenset(date for _, found in _dates_in(plain_text(text)) for date in found)


@lru_cache(maxsize=64)
def months(text: str) -> frozenset[int]:
    """Return the months (1 to 12) that a text names, alone or in a date; English ones only with a capital."""
    words = re.findall(r"[^\W\d_]{3,10}", plain_text(text))
    named = [word.lower() for word in words if word[0].isupper() or word not in MONTHS]
    return frozenset(date.month for date in dates(text)) | {ALL_MONTHS[word] for word in named if word in ALL_MONTHS}


def without_dates(text: str, known: Set[Date]) -> str:
    """Return the text with blanks for each date that agrees with one of ``known`` in all parts that it states."""
    stated = {Date(year, date.month, day) for date in known for year in (None, date.year) for day in (None, date.day)}
    kept, position = [], 0
    for (start, end), found in sorted(_dates_in(text), key=lambda entry: entry[0]):
        if end > position and not stated.isdisjoint(found):
            kept += [text[position:start], " " * (end - max(start, position))]
            position = end
    return "".join([*kept, text[position:]])


def _dates_in(text: str) -> list[tuple[tuple[int, int], list[Date]]]:
    """Return the span and readings of each date, except dates within another: ``May 2021`` in ``3 May 2021``."""
    found = list(_read(text))
    outer: set[tuple[int, int]] = set()
    last = -1
    for start, end in sorted({span for span, _ in found}, key=lambda span: (span[0], -span[1])):
        if end > last:
            outer.add((start, end))
            last = end
    return [(span, read) for span, read in found if span in outer]


def _read(text: str) -> Iterator[tuple[tuple[int, int], list[Date]]]:
    for form in WRITTEN:
        for match in form.finditer(text):
            parts = match.groupdict()
            year, day = parts.get("year"), parts.get("day")
            named = parts["month"].lower()
            month = int(named) if named.isdigit() else ALL_MONTHS[named]
            known = 1 <= month <= 12
            yield match.span(), [Date(int(year) if year else None, month, int(day) if day else None)] if known else []
    for match in ISO.finditer(text):
        year_, month, day_ = map(int, match.groups())
        yield match.span(), [Date(year_, month, day_)] if month <= 12 else []
    for match in NUMERIC.finditer(text):
        first, second, year_ = int(match[1]), int(match[3]), int(match[4])
        year_ += (1900 if year_ > 50 else 2000) if year_ < 100 else 0
        yield (
            match.span(),
            [Date(year_, month, day) for day, month in ((first, second), (second, first)) if month <= 12],
        )
