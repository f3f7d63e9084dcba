"""Tell whether a quoted row of a table, and its cell, are what a question asks for."""

import re

from core.passages import AFTER_NAME, BETWEEN_CELLS, SEPARATOR
from grounding.amounts import IN_BRACKETS, plain_figures, unit_of_column
from grounding.comparisons import superlative
from grounding.stems import stems

BARE = re.compile(r"(?!(?:19|20)\d\d$)(?:[$€£] ?)?[-−(]?[\d.,'’ ]*\d\)?")
SCALE = re.compile(
    r"(?:(?:dollars|euros|usd|eur|us\$|[$€£]) )?(?:in )?(?:[$€£] ?)?(?:thousands|millions|billions)\b", re.IGNORECASE
)
UNSCALED = re.compile(
    r"%|\b(?:per(?:cent\w*)?|shares?|ratio|rate|margin|number|employees|persons|stores|days)\b", re.IGNORECASE
)


def of_another_row(quote: str, text: str, question: str) -> str:
    """Return why a quoted row is not the one asked about: the question names another row of its passage; "" if it is.

    A row's name is its first cell with letters. If it is one word, the question must have it in the same case.
    """
    if BETWEEN_CELLS not in quote or "\n" in quote:
        return ""
    named = {label for line in text.split("\n") if BETWEEN_CELLS in line and _is_named(label := _label(line), question)}
    label = _label(quote)
    if not named or label in named or any(one in quote for one in named):
        return ""
    return f"The row is of {label}, where the question names {min(named)}."


def of_another_cell(claim: str, quote: str, question: str) -> str:
    """Return why a figure is not the cell of a quoted row that is asked for; "" if it may be.

    It stands in the name of a column and in no cell; or the question has more words of another column's name, besides
    all those of its own. Figures that the question states are no answer.
    """
    figures = plain_figures(claim) - plain_figures(question)
    if not figures or BETWEEN_CELLS not in quote or "\n" in quote:
        return ""
    cells, asked = _cells(quote), stems(question)
    own = [name for name, value in cells if figures <= plain_figures(value)]
    if not own:
        in_name = next((name for name, _ in cells if figures <= plain_figures(name)), "")
        return f"That stands in the column's name {in_name}." if in_name else ""
    words = [stems(name) & asked for name in own]
    other = next((name for name, _ in cells if all(one and one < stems(name) & asked for one in words)), "")
    return f"It is {own[0]}, where the question names {other}." if other else ""


def is_unranked(quote: str, question: str) -> bool:
    """Whether a question asks for the most, and a row is quoted that does not say so: only all rows would tell."""
    word = superlative(question).casefold()
    return bool(word) and BETWEEN_CELLS in quote and word not in quote.casefold()


def cells_of_rows(text: str, heading: str = "") -> list[str]:
    """Return what the cells of the rows in a text hold, each once, without the first of each row, which names it.

    A bare figure gets the unit that its column's or row's name has in brackets, or else the scale that stands above the
    names of the rows, or in brackets in the table's ``heading`` or the text beside it: 7 (in millions).
    """
    rows, above = _rows(text, heading)
    held = dict.fromkeys(cell for row in rows for cell in _with_units(row, above))
    return [one for one in held if any(map(str.isalnum, one))]


def with_unit(answer: str, text: str, heading: str = "") -> str:
    """Return an answer that is a bare figure as a cell of the rows in a text gives it, with its unit."""
    if not BARE.fullmatch(answer):
        return answer
    figures = plain_figures(answer)
    rows, above = _rows(text, heading)
    for row in rows:
        for (_, value), cell in zip(_cells(row)[1:], _with_units(row, above), strict=True):
            if plain_figures(value) == figures:
                return answer + cell.removeprefix(value)
    return answer


def _rows(text: str, heading: str) -> tuple[list[str], str]:
    """Return the rows in a text, and the other lines below its heading."""
    lines = text.split("\n")
    others = [one for one in lines if BETWEEN_CELLS not in one]
    return [one for one in lines if BETWEEN_CELLS in one], "\n".join([heading, *others])


def _with_units(row: str, above: str) -> list[str]:
    (name, label), *cells = _cells(row)
    scales = (SCALE.search(one) for one in (name, *IN_BRACKETS.findall(above)) if not UNSCALED.search(label))
    scale = next((f"({one.group()})" for one in scales if one), "")
    return [
        f"{value} {unit_of_column(name) or unit_of_column(label) or scale}".rstrip() if BARE.fullmatch(value) else value
        for name, value in cells
    ]


def _cells(row: str) -> list[tuple[str, str]]:
    """Return the name of the column, or "", and what the cell holds, for each cell of a row."""
    parts = (cell.partition(AFTER_NAME) for cell in row.split(BETWEEN_CELLS))
    return [(name, value) if colon else ("", name) for name, colon, value in parts]


def _label(row: str) -> str:
    return next((one.rpartition(SEPARATOR)[2].strip() for _, one in _cells(row) if any(map(str.isalpha, one))), "")


def _is_named(label: str, question: str) -> bool:
    several = " " in label
    pattern = rf"(?<!\w){re.escape(label)}(?!\w)"
    return len(label) > 2 and re.search(pattern, question, re.IGNORECASE if several else 0) is not None
