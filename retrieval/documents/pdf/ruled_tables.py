"""Find tables whose cells are divided by lines."""

from bisect import bisect
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from retrieval.documents.pdf.lines import BEFORE_FIGURE, Cell, is_figure, lines_of, parts_of, put_into
from retrieval.documents.pdf.words import Rule, Word

Place = tuple[int, int]  # row and column
Key = TypeVar("Key", bound=Hashable)
_NEAR = 3.0  # points by which lines that meet may miss each other
_MOST_RULES, _MOST_CELLS = 600, 10_000  # of a page in each direction; of a table
_BARE = 0.2  # of a cell's side: how much of it may lack its line at each end
_FILLED = 0.5  # of the cells, at least
_MOST_LINES = 2  # of a figure: more are the rows of a table that has lines only around it


def ruled_tables(
    across: Sequence[Rule], down: Sequence[Rule], words: Sequence[Word]
) -> Iterator[tuple[list[Cell], int]]:
    """Yield the cells of each table, and the number of its columns."""
    for rules in _meeting(_joined(across), _joined(down)):
        if found := _table(*rules, words):
            yield found
            inside = {id(word) for cell in found[0] for line in cell.lines for word in line.words}
            words = [word for word in words if id(word) not in inside]


def _joined(rules: Sequence[Rule]) -> list[Rule]:
    """Return the lines, those that overlap or follow each other as one; none of too many."""
    joined: list[Rule] = []
    for rule in sorted(rules, key=lambda one: (round(one.at), one.begin)):
        for index in range(len(joined) - 1, -1, -1):
            one = joined[index]
            if abs(one.at - rule.at) <= _NEAR and rule.begin <= one.end + _NEAR and rule.end >= one.begin - _NEAR:
                joined[index] = Rule(one.at, min(one.begin, rule.begin), max(one.end, rule.end))
                break
        else:
            joined.append(rule)
        if len(joined) > _MOST_RULES:
            return []
    return joined


def _meeting(across: Sequence[Rule], down: Sequence[Rule]) -> Iterator[tuple[list[Rule], list[Rule]]]:
    """Yield the horizontal and vertical lines that meet, directly or through others."""
    group = {index: index for index in range(len(across) + len(down))}
    for i, one in enumerate(across):
        for j, other in enumerate(down, len(across)):
            if _reaches(one, other.at) and _reaches(other, one.at):
                group[_first(group, i)] = _first(group, j)
    groups: dict[int, tuple[list[Rule], list[Rule]]] = defaultdict(lambda: ([], []))
    for index, rule in enumerate([*across, *down]):
        groups[_first(group, index)][index >= len(across)].append(rule)
    yield from ((one, other) for one, other in groups.values() if len(one) > 1 and other)


def _reaches(rule: Rule, at: float) -> bool:
    return rule.begin - _NEAR <= at <= rule.end + _NEAR


def _first(group: dict[Key, Key], key: Key) -> Key:
    """Return the key that stands for the group of a key."""
    while group[key] != key:
        group[key] = group[group[key]]
        key = group[key]
    return key


def _table(across: Sequence[Rule], down: Sequence[Rule], words: Sequence[Word]) -> tuple[list[Cell], int] | None:
    """Return the cells between lines; None if most are empty, one lacks a side or amount, or has several rows."""
    x = _distinct([*(one.at for one in down), min(one.begin for one in across), max(one.end for one in across)])
    y = _distinct([*(one.at for one in across), min(one.begin for one in down), max(one.end for one in down)])
    if not (len(x) > 2 and len(y) > 2 and len(x) * len(y) <= _MOST_CELLS):
        return None
    areas = _areas(x, y, across, down)
    places: dict[Place, list[Place]] = defaultdict(list)
    for place, area in areas.items():
        places[area].append(place)
    inside: dict[Place, list[Word]] = defaultdict(list)
    for word in words:
        place = bisect(y, word.middle) - 1, bisect(x, (word.left + word.right) / 2) - 1
        if place in areas:
            inside[areas[place]].append(word)
    rows: dict[int, list[Cell]] = defaultdict(list)
    around: list[Word] = []
    for area, own in inside.items():
        (row, column), (last_row, last_column) = min(places[area]), max(places[area])
        if len(places[area]) == (last_row - row + 1) * (last_column - column + 1):
            rows[row] += _divided(Cell(lines_of(own), row, last_row, column, last_column), x)
        else:
            around += own  # as within a frame of two lines
    several = [row for row, cells in rows.items() if len(cells) > 1]
    cells = [cell for row in sorted(rows) for cell in rows[row]]
    has_rows = any(len(cell.lines) > _MOST_LINES and all(map(is_figure, cell.text.split())) for cell in cells)
    lacks_side = any(y[row] <= word.middle <= y[row + 1] for row in several for word in around)
    lacks_amount = any(cell.text.split()[-1] in BEFORE_FIGURE for cell in cells if cell.text)
    if len(several) < 2 or len(cells) < _FILLED * len(places) or has_rows or lacks_side or lacks_amount:
        return None
    return cells, len(x) - 1


def _distinct(values: Iterable[float]) -> list[float]:
    distinct: list[float] = []
    for value in sorted(values):
        if not distinct or value - distinct[-1] > _NEAR:
            distinct.append(value)
    return distinct


def _areas(
    x: Sequence[float], y: Sequence[float], across: Sequence[Rule], down: Sequence[Rule]
) -> Mapping[Place, Place]:
    """Return for each row and column a place that stands for the area around it that no line divides."""
    area = {(row, column): (row, column) for row in range(len(y) - 1) for column in range(len(x) - 1)}
    for row, column in list(area):
        if (row, column + 1) in area and not _is_divided(down, x[column + 1], y[row], y[row + 1]):
            area[_first(area, (row, column + 1))] = _first(area, (row, column))
        if (row + 1, column) in area and not _is_divided(across, y[row + 1], x[column], x[column + 1]):
            area[_first(area, (row + 1, column))] = _first(area, (row, column))
    return {place: _first(area, place) for place in area}


def _is_divided(rules: Sequence[Rule], at: float, begin: float, end: float) -> bool:
    bare = _BARE * (end - begin)
    return any(abs(one.at - at) <= _NEAR and one.begin <= begin + bare and one.end >= end - bare for one in rules)


def _divided(cell: Cell, x: Sequence[float]) -> Iterator[Cell]:
    """Yield the cells of a row whose columns no lines divide, as only the header's are; else the cell itself."""
    parts = sorted((part for line in cell.lines for part in parts_of(line)), key=lambda part: part.left)
    row = put_into([(left + 1, right - 1) for left, right in pairwise(x)], parts)
    if cell.row < cell.last_row or len(row) == 1:
        yield cell
        return
    for first, last, own in row:
        yield Cell(sorted(own, key=lambda part: part.middle), cell.row, cell.row, first, last)
