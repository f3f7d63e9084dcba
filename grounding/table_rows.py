"""Tell whether a quoted row of a table is the one that a question names."""

import re

from core.passages import AFTER_NAME, BETWEEN_CELLS, SEPARATOR


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


def cells_of_rows(text: str) -> list[str]:
    """Return what the cells of the rows in a text hold, each once, without the first of each row, which names it."""
    rows = (line.split(BETWEEN_CELLS)[1:] for line in text.split("\n"))
    held = dict.fromkeys(cell.partition(AFTER_NAME)[2] or cell for row in rows for cell in row)
    return [one for one in held if any(map(str.isalnum, one))]


def _label(row: str) -> str:
    cells = (cell.partition(AFTER_NAME)[2] or cell for cell in row.split(BETWEEN_CELLS))
    return next((cell.rpartition(SEPARATOR)[2].strip() for cell in cells if any(map(str.isalpha, cell))), "")


def _is_named(label: str, question: str) -> bool:
    several = " " in label
    pattern = rf"(?<!\w){re.escape(label)}(?!\w)"
    return len(label) > 2 and re.search(pattern, question, re.IGNORECASE if several else 0) is not None
