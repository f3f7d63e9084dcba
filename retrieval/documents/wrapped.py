"""Join the lines of a plain text that was wrapped at a column, so that no sentence ends with a line."""

import re
from statistics import quantiles

NARROWEST, WIDEST = 50, 140  # characters of a full line: shorter lines are lists or verse, longer ones not wrapped
LEAST_BREAKS = 3
SHARE = 0.5  # of the breaks at which the next word did not fit; of a full line that one before a small letter has
# What begins no line that continues another: marks of lists, tables, quotes, headings and code; times of a log; labels.
_BEGINS = re.compile(
    r"\s*(?:[-*•–—+|>#\[]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]\s|§|\.\. |```|~~~|\d+[-/:]\d|[\w.-]+:(?:\s|$))"
)
_BREAK = ("  ", "\\")  # at the end of a line of Markdown
_COLUMNS = re.compile(r"\S(?: {3,}|\t)")  # of a table


def unwrapped(text: str) -> str:
    """Return the text with a space for each line break that a column's width made; fenced code stays as it is."""
    lines = text.split("\n")
    breaks = _breaks(lines)
    if len(breaks) < LEAST_BREAKS:
        return text
    width = quantiles([len(lines[index]) for index in breaks], n=4)[-1]
    full = {index for index in breaks if len(lines[index]) + 1 + len(lines[index + 1].split(None, 1)[0]) > width}
    if not NARROWEST <= width <= WIDEST or len(full) < SHARE * len(breaks):
        return text
    joined = {
        index
        for index in breaks
        if index in full or (len(lines[index]) >= SHARE * width and lines[index + 1].lstrip()[0].islower())
    }
    parts = [f"{line} " if index in joined else f"{line}\n" for index, line in enumerate(lines)]
    return "".join(part.lstrip() if index - 1 in joined else part for index, part in enumerate(parts))[:-1]


def _breaks(lines: list[str]) -> list[int]:
    """Return the indexes of the lines after which a paragraph may go on in the next."""
    prose, fenced = [], False
    for line in lines:
        fence = line.lstrip().startswith(("```", "~~~"))
        fenced ^= fence
        prose.append(not fence and not fenced and any(map(str.isalnum, line)) and not _COLUMNS.search(line))
    return [
        index
        for index in range(len(lines) - 1)
        if prose[index]
        and prose[index + 1]
        and not lines[index].endswith(_BREAK)
        and not _BEGINS.match(lines[index + 1])
    ]
