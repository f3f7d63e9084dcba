"""The tables on a PDF page, and each of them in HTML with its header."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from retrieval.documents.pdf.aligned_tables import aligned_tables
from retrieval.documents.pdf.lines import Cell, is_amount
from retrieval.documents.pdf.ruled_tables import ruled_tables
from retrieval.documents.pdf.words import Rule, Word

CAPTION = re.compile(  # with a number
    r"(?:table|exhibit|schedule|chart|figure|tab\.|tabelle|tableau|tabla|cuadro) ?(?:[a-z]{1,3}[ .-]?)?[\dIVX]|[表图]",
    re.IGNORECASE,
)
_MOST_HEADER_ROWS = 8


@dataclass(frozen=True)
class PageTable:
    """The cells with text of a table row by row, those of its header apart, and the number of its columns."""

    header: Sequence[Cell]
    body: Sequence[Cell]
    columns: int

    @property
    def words(self) -> Iterator[Word]:
        return (word for cell in (*self.header, *self.body) for line in cell.lines for word in line.words)

    @property
    def html(self) -> str:
        return f"<table>{_html(self.header, self.columns, 'th')}{_html(self.body, self.columns, 'td')}</table>"


def page_tables(words: Sequence[Word], across: Sequence[Rule], down: Sequence[Rule]) -> list[PageTable]:
    """Return the tables that lines divide into cells, then those whose figures stand in columns."""
    tables: list[PageTable] = []
    for cells, columns in ruled_tables(across, down, words):
        tables.append(_table(cells, columns))
        inside = {id(word) for word in tables[-1].words}
        words = [word for word in words if id(word) not in inside]
    straight = [word for word in words if not word.turned]
    return tables + [_table(cells, columns) for cells, columns in aligned_tables(straight)]


def _table(cells: Sequence[Cell], columns: int) -> PageTable:
    """Return the table; titles above all its columns stay with the page's text."""
    rows: dict[int, list[Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda one: (one.row, one.column)):
        rows[cell.row].append(cell)
    ordered = [rows[index] for index in sorted(rows)]
    begin = 0
    while begin < len(ordered) - 1 and _is_title(ordered[begin], is_first=not begin):
        begin += 1
    ordered = ordered[begin:]
    header = _header_rows(ordered)
    new = _needed_columns(ordered[header:], columns)
    ordered = [_renumbered(row, new) for row in ordered]
    above, below = ([cell for row in part for cell in row] for part in (ordered[:header], ordered[header:]))
    return PageTable(above if _names_all(above, below) else [], below, new[-1] + 1)


def _is_title(row: Sequence[Cell], is_first: bool) -> bool:
    alone = len(row) == 1 and not (is_first and row[0].column)
    return alone or CAPTION.match(row[0].text) is not None


def _header_rows(rows: Sequence[Sequence[Cell]]) -> int:
    """Return how many rows are above the first amount, but for labels right above it; else, how many are bold."""
    beside = ([cell for cell in row if cell.column] for row in rows[:_MOST_HEADER_ROWS])
    amounts = (index for index, row in enumerate(beside) if any(is_amount(cell.text) for cell in row))
    count = next(amounts, 0)
    while count and len(rows[count - 1]) == 1 and rows[count - 1][0].column == 0:
        count -= 1
    return count or next((index for index, row in enumerate(rows) if not all(cell.bold for cell in row)), 0)


def _names_all(header: Sequence[Cell], body: Sequence[Cell]) -> bool:
    """True if all columns of amounts have a name, or none: a name may stand above the wrong one if another lacks it."""
    amounts = Counter(cell.column for cell in body if cell.column and is_amount(cell.text))
    columns = {column for column, count in amounts.items() if count > 1}
    named = {column for cell in header for column in range(cell.column, cell.last_column + 1)}
    return columns <= named or columns.isdisjoint(named)


def _needed_columns(rows: Sequence[Sequence[Cell]], columns: int) -> list[int]:
    """Return the new number of each column: columns that are one cell in most rows, or empty, are one."""
    crossed = [0] * columns
    begun = {cell.column for row in rows for cell in row}
    several = [row for row in rows if len(row) > 1]
    for cell in (cell for row in several for cell in row):
        for column in range(cell.column + 1, cell.last_column + 1):
            crossed[column] += 1
    new = [0]
    for column in range(1, columns):
        is_needed = column in begun and 2 * crossed[column] < len(several)
        new.append(new[-1] + is_needed)
    return new


def _renumbered(row: Sequence[Cell], new: Sequence[int]) -> list[Cell]:
    """Return the cells of a row with the new numbers of their columns, those of one column as one."""
    cells: list[Cell] = []
    for cell in row:
        lines, first, last = cell.lines, new[cell.column], new[cell.last_column]
        if cells and first <= cells[-1].last_column:
            before = cells.pop()
            lines, first, last = [*before.lines, *lines], before.column, max(last, before.last_column)
        cells.append(cell._replace(lines=lines, column=first, last_column=last))
    return cells


def _html(cells: Sequence[Cell], columns: int, tag: str) -> str:
    """Return rows in HTML, with empty cells where nothing stands."""
    begun = {(cell.row, cell.column): cell for cell in cells}
    covered = {
        (row, column)
        for cell in cells
        for row in range(cell.row, cell.last_row + 1)
        for column in range(cell.column, cell.last_column + 1)
    }
    parts: list[str] = []
    for row in sorted({cell.row for cell in cells}):
        parts.append("<tr>")
        for column in range(columns):
            if cell := begun.get((row, column)):
                across, down = cell.last_column - column + 1, cell.last_row - row + 1
                parts.append(f'<{tag} colspan="{across}" rowspan="{down}">{escape(cell.text)}</{tag}>')
            elif (row, column) not in covered:
                parts.append(f"<{tag}></{tag}>")
        parts.append("</tr>")
    return "".join(parts)
