"""Find the date in the front matter of a Markdown file."""

import re

from retrieval.documents.load_date import stated_day

_FRONT_MATTER = re.compile(r"\s*(---|\+\+\+)[ \t]*\n(.{0,20000}?)\n\1[ \t]*(?:\n|$)", re.S)  # YAML or TOML
_DATE = re.compile(
    r"""^(date|ms\.date|lastmod|updated|modified|last_updated)[ \t]*[:=][ \t]*["']?([^\s"']{1,40})""", re.M | re.I
)
_AMERICAN = re.compile(r"(\d\d)/(\d\d)/(\d{4})$")


def front_matter_date(text: str) -> str | None:
    """Return the date that the front matter states, as 'YYYY-MM-DD'; that of the last change before others."""
    front = _FRONT_MATTER.match(text[:25_000])
    if front is None:
        return None
    stated = {match[1].lower(): match[2] for match in _DATE.finditer(front[2])}
    if "ms.date" in stated:  # Microsoft's, whose order is month, day, year
        stated["ms.date"] = _AMERICAN.sub(r"\3-\1-\2", stated["ms.date"])
    first = stated.pop("date", None)
    return stated_day(*stated.values(), first)
