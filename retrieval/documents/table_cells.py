"""Find the cells of tables in the text of a file, in which each row stands as ``column: value | column: value``."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from core.passages import AFTER_NAME, BETWEEN_CELLS
from retrieval.documents.decode import LONGEST_NAME
from retrieval.documents.headings import lines_with_starts
from retrieval.documents.loaded import CELLS, Cell, Loaded, Section

_FEWEST = 2  # cells of a row, and rows of a table; one cell alone is a row if other rows name its column
_CONTINUED = re.compile(r"(?is)\s*|.{0,120}\((?:continued|cont\.?|contd\.?|cont'd|fortsetzung|suite|continuación)\)\s*")
_MOST = 5_000_000  # characters of a text's cells as JSON; with more, it counts as a text without tables


def with_cells(loaded: Loaded) -> Loaded:
    """Return the file with the places of its table cells, as ``extra[CELLS]`` of each section that has table cells.

    A table at the top of a page is the one at the end of the page before if their columns have the same names.
    """
    sections: list[Section] = []
    last, row = -1, 0  # numbers of the last table and row
    ending: set[str] = set()  # the names of the columns of the table with which the last section ends
    for section in loaded.sections:
        text = section.text
        cells = list(_cells_of(section))
        if len(json.dumps(cells)) > _MOST:
            cells = []
        if cells:
            goes_on = _CONTINUED.fullmatch(text, 0, cells[0][2]) and ending == _columns(text, cells, cells[0][0])
            shift = last + (0 if goes_on else 1) - cells[0][0]
            cells = [(one[0] + shift, one[1] + row, *one[2:]) for one in cells]
            last, row, *_, end = cells[-1]
            section = replace(section, extra={**(section.extra or {}), CELLS: cells})
        ending = _columns(text, cells, last) if cells and not text[end:].strip() else set()
        sections.append(section)
    return replace(loaded, sections=sections)


def _columns(text: str, cells: list[Cell], table: int) -> set[str]:
    return {text[start:middle] for of, _, start, middle, _ in cells if of == table and start < middle}


def _cells_of(section: Section) -> Iterator[Cell]:
    """Yield the cells of tables, whose rows stand without a blank line or heading between them.

    Other lines between the rows, such as a title across all columns, are skipped. A table is left out if a row names a
    column twice: one of these two cells may be text within another cell that only looks like a cell.
    """
    text = section.text
    if BETWEEN_CELLS not in text:
        return
    headings = {text.rfind("\n", 0, one.start) + 1 for one in section.headings if one.start < one.end}
    lines = [
        (bool(line.strip()) and start not in headings, _row(start, line)) for start, line in lines_with_starts(text)
    ]
    named = {name for _, cells in lines if len(cells) >= _FEWEST for name in _names(text, cells)}
    row = 0
    for table, (_, block) in enumerate(groupby(lines, key=itemgetter(0))):
        found = [cells for _, cells in block if len(cells) >= _FEWEST or not named.isdisjoint(_names(text, cells))]
        is_whole = all(len(set(one)) == len(one) for one in (_names(text, cells) for cells in found))
        if len(found) >= _FEWEST and is_whole and any(len(cells) >= _FEWEST for cells in found):
            for cells in found:
                row += 1
                yield from ((table, row, *cell) for cell in cells)


def _names(text: str, cells: list[tuple[int, int, int]]) -> list[str]:
    return [text[start : max(start, middle)] for start, middle, _ in cells]


def _row(begin: int, line: str) -> list[tuple[int, int, int]]:
    """Return where each cell's name begins and ends, and where the cell ends; [] for a line that is no table row."""
    cells: list[tuple[int, int, int]] = []
    begin += len(line) - len(line.lstrip())
    for part in line.strip().split(BETWEEN_CELLS):
        name, colon, _ = part.partition(AFTER_NAME)
        named = len(name) if colon and len(name) <= LONGEST_NAME else -len(AFTER_NAME)  # before a cell without a name
        cells.append((begin, begin + named, begin + len(part)))
        begin += len(part) + len(BETWEEN_CELLS)
    return cells if any(middle > start for start, middle, _ in cells) else []
