"""Find the day in a date that a document states of itself."""

import re
from datetime import date

_DAY = re.compile(r"\s*(?:D:)?(\d{4})(-?)(\d{2})\2(\d{2})")  # ISO, and PDF's D:20260131…
_EARLIEST = 1900


def stated_day(*stated: object) -> str | None:
    """Return the first plausible date of those stated, as 'YYYY-MM-DD', and None where none is.

    Plausible is a day that there is, from 1900 to the end of next year: what lies outside is a clock
    that was wrong.
    """
    for text in stated:
        match = _DAY.match(text) if isinstance(text, str) else None
        if match is None:
            continue
        try:
            day = date(int(match[1]), int(match[3]), int(match[4]))
        except ValueError:
            continue
        if _EARLIEST <= day.year <= date.today().year + 1:
            return day.isoformat()
    return None
