"""Join the lines of a plain text that was wrapped at a column, so that no sentence ends with a line."""

import re
from itertools import pairwise
from statistics import quantiles

from retrieval.documents.markdown import prose_lines

NARROWEST, WIDEST = 50, 140  # characters of a full line: shorter lines are lists or verse, longer ones not wrapped
LEAST_BREAKS = 3
SHARE = 0.5  # of the breaks at which the next word did not fit; of a full line that one before a small letter has
# What begins no line that continues another: marks of lists, tables, quotes, headings and code; times of a log; labels.
_BEGINS = re.compile(
    r"\s*(?:[-*•–—+|>#\[]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]\s|§|\.\. |```|~~~|\d+[-/:]\d|[\w.-]+:(?:\s|$))"
)
_BREAK = ("  ", "\\")  # at the end of a line of Markdown
_COLUMNS = re.compile(r"\S(?: {3,}|\t)|\|")  # of a table
_INDENTED = "    "  # perhaps code


def unwrapped(text: str) -> str:
    """Return the text with a space for each line break that a column's width made; fenced code stays as it is."""
    lines = text.split("\n")
    breaks = _breaks(text)
    if len(breaks) < LEAST_BREAKS:
        return text
    width = quantiles([len(lines[index]) for index in breaks], n=4)[-1]
    full = {index for index in breaks if len(lines[index]) + 1 + len(lines[index + 1].split(None, 1)[0]) > width}
    if not NARROWEST <= width <= WIDEST or len(full) < SHARE * len(breaks):
        return text
    ragged = {
        index
        for index in breaks
        if len(lines[index]) >= SHARE * width
        and lines[index + 1].lstrip()[0].islower()
        and not lines[index].startswith(_INDENTED)
    }
    joined = full | ragged
    parts = [f"{line} " if index in joined else f"{line}\n" for index, line in enumerate(lines)]
    return "".join(part.lstrip() if index - 1 in joined else part for index, part in enumerate(parts))[:-1]


def _breaks(text: str) -> list[int]:
    """Return the indexes of the lines after which a paragraph may go on in the next."""
    lines = [
        (line, is_prose and any(map(str.isalnum, line)) and not _COLUMNS.search(line))
        for _, line, is_prose in prose_lines(text)
    ]
    return [
        index
        for index, ((line, is_prose), (below, goes_on)) in enumerate(pairwise(lines))
        if is_prose and goes_on and not line.endswith(_BREAK) and not _BEGINS.match(below)
    ]
