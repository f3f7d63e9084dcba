"""A table of a document, row by row, as its passages hold it."""

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from grounding.comparisons import TOGETHER
from grounding.notes import MARKED, notes_in
from retrieval.documents.loaded import CELLS
from retrieval.table_columns import Column, form_of, kind_of, usual_mark

MOST_COLUMNS = 100
MOST_ROWS = 200_000
FEWEST_NUMBERED = 5  # rows
IDENTIFIER = re.compile(r"\w[\W_]+(?:id|num|no|nr|code|rank)\W*$", re.IGNORECASE)  # the name of a column
BEFORE_FIGURE = re.compile(r"\s+(?:\(|(?:[^\W\d]+ )?\d).*")  # names do without: Seniors from 67, Juniors (4 to 12)
TOTAL = re.compile(rf"\b(?:{TOGETHER}|gesamt\w*)\b|总|合计", re.IGNORECASE)
# Words that a query could not use as the name of a column.
RESERVED = frozenset(
    "select from where group order by having limit join on and or not in is null like between case when then else end "
    "as distinct union all table index values set default check primary key count sum avg min max rows desc asc "
    "to into if for with inner outer cross any except intersect using exists escape cast grant references foreign "
    "unique constraint transaction commit rollback alter add drop create insert update delete fetch returning".split()
)
Notes = Mapping[tuple[str, str], tuple[Document, int, int]]


@dataclass(frozen=True)
class Table:
    """A table row by row: its cells as they are written, their values, and the passage in which each row begins.

    ``places`` are the numbers of each row's table and of the row in its document. ``notes`` maps a document's source
    and a mark in a cell, such as *, to the note below the table: the note's passage, and where the note begins and ends
    in it. ``file_key`` is the key of the column that tells a row's file, if the rows are of several files;
    ``repeats_rows`` says that these speak of the same things or days, and not all files have the columns
    ``partial_keys``.
    """

    source: str
    title: str
    columns: tuple[Column, ...]
    cells: list[tuple[str | None, ...]]
    values: list[tuple[Any, ...]]
    passages: list[Document]
    places: list[tuple[int, int]]
    notes: Notes
    file_key: str = ""
    repeats_rows: bool = False
    partial_keys: frozenset[str] = frozenset()

    @classmethod
    def of(cls, passages: Iterable[Document], number: int) -> "Table | None":
        """Return a document's table by number; None if there is none, it is too large, or has one row or column."""
        found: dict[int, tuple[Document, dict[str, str]]] = {}
        names: dict[str, None] = {}
        below: list[tuple[Document, int]] = []
        for passage in passages:
            text, last = passage.page_content, 0
            for of, row, start, middle, end in passage.metadata.get(CELLS) or ():
                if of == number:
                    name = text[start : max(start, middle)]
                    names.setdefault(name)
                    found.setdefault(row, (passage, {}))[1].setdefault(name, text[middle + 2 : end])
                    last = end
            below = [(passage, last)] if last else [*below, (passage, 0)] if found else []
        if not (1 < len(found) <= MOST_ROWS and 1 < len(names) <= MOST_COLUMNS):
            return None
        rows = sorted(found)
        ordered = [found[row] for row in rows]
        cells = [tuple(map(known.get, names)) for _, known in ordered]
        first = ordered[0][0]
        source = _source_of(first)
        notes: dict[tuple[str, str], tuple[Document, int, int]] = {}
        for passage, begin in below:
            for mark, span in notes_in(passage.page_content, begin).items():
                notes.setdefault((source, mark), (passage, *span))
        usual = usual_mark(zip(*cells, strict=True), first.page_content)
        if len(cells) > 2 and _end_in_total(cells, _marks(notes), usual):
            del rows[-1], ordered[-1], cells[-1]  # it would count twice, and be the greatest
        title = str(first.metadata.get("heading") or first.metadata.get("title") or Path(source).stem)
        places = [(number, row) for row in rows]
        return table_from(source, title, list(names), cells, [passage for passage, _ in ordered], places, notes)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The documents that the rows are from, in their order."""
        return tuple(dict.fromkeys(map(_source_of, self.passages)))

    def label(self, row: int) -> str:
        """Return what a row is about: its first cell outside of columns of numbers; "" if all such cells are empty."""
        texts = (cell for cell, column in zip(self.cells[row], self.columns, strict=True) if column.kind != "number")
        return next((text for text in texts if text), "")

    def span(self, row: int) -> tuple[int, int]:
        """Return where a row begins and ends in its passage."""
        cells = self.passages[row].metadata[CELLS]
        own = [cell for cell in cells if (cell[0], cell[1]) == self.places[row]]
        return min(cell[2] for cell in own), max(cell[4] for cell in own)

    def text_of(self, row: int, parts: Mapping[str, str]) -> str:
        """Return the label of a row and, in brackets, the ``parts`` that were asked for: ``Paris (area: 105 km²)``."""
        label = self.label(row)
        rest = ", ".join(f"{name}: {part}" for name, part in parts.items() if part and part != label)
        return f"{label} ({rest})" if label and rest else label or rest

    def notes_on(self, rows: Iterable[int], sql: str) -> list[tuple[Document, int, int]]:
        """Return the notes on cells of these rows in columns that the query names: passage, begin and end."""
        if not self.notes:
            return []
        used = [index for index, one in enumerate(self.columns) if one.key in sql.casefold()]
        marks = [
            (_source_of(self.passages[row]), one[1])
            for row in rows
            for index in used
            if (one := MARKED.search(self.cells[row][index] or ""))
        ]
        return [self.notes[mark] for mark in dict.fromkeys(marks) if mark in self.notes]

    def repeats(self, key: str) -> bool:
        """Whether several rows have the same cell in a column."""
        column = [one.key for one in self.columns].index(key)
        return len({row[column] for row in self.cells}) < len(self.cells)

    def is_numbering(self, column: int) -> bool:
        """Whether a column numbers things, by its name or by whole figures in order, with few left out: no quantity."""
        if IDENTIFIER.search(self.columns[column].name):
            return True
        figures = [row[column] for row in self.values]
        whole = len(figures) >= FEWEST_NUMBERED and all(one is not None and one == int(one) for one in figures)
        in_order = whole and all(one < other for one, other in pairwise(figures))
        return in_order and figures[-1] - figures[0] < 2 * len(figures)

    def has_days(self, column: int) -> bool:
        """Whether a column of the kind ``date`` has days, and not times of day."""
        return any(len(row[column]) == len("2025-03-01") for row in self.values if row[column])

    def frequent_cells(self, column: int) -> list[str]:
        """Return the cells of a column, the most frequent first, each once."""
        cells = Counter(row[column] for row in self.cells)
        return [cell for cell, _ in cells.most_common() if cell]


def table_from(
    source: str,
    title: str,
    names: Sequence[str],
    cells: list[tuple[str | None, ...]],
    passages: list[Document],
    places: list[tuple[int, int]],
    notes: Notes,
    *,
    has_files: bool = False,
) -> Table:
    """Return the table of these cells, with the kind and the key of each column.

    If it ``has_files``, its last column tells the file of each row, and holds texts.
    """
    by_column, marks = list(zip(*cells, strict=True)), _marks(notes)
    mark, keys = usual_mark(by_column, passages[0].page_content), _keys(names)
    typed = [kind_of(column, marks, mark) for column in by_column]
    if has_files:
        typed[-1] = "text", list(by_column[-1])
    columns = tuple(
        Column(name, key, kind, *(form_of(name, column, mark) if kind == "number" else ()))
        for name, key, (kind, _), column in zip(names, keys, typed, by_column, strict=True)
    )
    values = list(zip(*(column for _, column in typed), strict=True))
    return Table(source, title, columns, cells, values, passages, places, notes, keys[-1] if has_files else "")


def _source_of(passage: Document) -> str:
    return str(passage.metadata.get("source", ""))


def _marks(notes: Notes) -> set[str]:
    return {mark for _, mark in notes}


def _end_in_total(cells: Sequence[tuple[str | None, ...]], marks: Container[str], mark: str) -> bool:
    """True if the last row is called a total, and some figure of it is the sum of those above, perhaps rounded."""
    if not any(cell and TOTAL.search(cell) for cell in cells[-1]):
        return False
    typed = (kind_of(column, marks, mark) for column in zip(*cells, strict=True))
    figures = (values for kind, values in typed if kind == "number")
    return any(math.isclose(one[-1] or 0, sum(filter(None, one[:-1])), rel_tol=0.01) for one in figures if one[-1])


def _keys(names: Iterable[str]) -> list[str]:
    """Return a plain identifier for each name, all different."""
    keys: list[str] = []
    for name in names:
        plain = re.sub(r"\W+", "_", name.casefold()).strip("_")[:40] or "column"
        plain = f"c_{plain}" if plain[0].isdecimal() or plain in RESERVED else plain
        keys.append(plain if plain not in keys else f"{plain}_{len(keys) + 1}")
    return keys
