"""Find tables of figures in columns, around which no lines are drawn."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from retrieval.documents.pdf.lines import (
    Cell,
    Columns,
    Line,
    Span,
    is_amount,
    is_figure,
    is_period,
    lines_of,
    parts_of,
    put_into,
)
from retrieval.documents.pdf.words import Word

_APART = 2.6  # of the words' height: lines further apart are no rows of one table
_CLOSE = 1.5  # of it: lines of one paragraph
_SPACE = 0.4  # of it: the gap of words in two columns
_ROWS, _MOST_COLUMNS = 3, 60  # of a table: with two cells each, at least
_FILLED, _FULL, _FIGURES = 0.5, 0.6, 0.6  # of the cells, at least; of the rows, with two cells; of a column's cells
_OF_UNIT = re.compile(r"(?i)\(|(?:(?:amounts|dollars) )?in (?:\S+ )?(?:thousand|million|billion)")
_LONG = 12  # words of a line without cells that ends a table
_PROSE, _SHORT = 5, 4  # words of a line of running text, on average; of most cells in all columns but one, at most
_LONG_CELL = 8  # words: fewer than half of the words beside the first column stand in longer cells
_RAGGED = 0.15  # of a line of running text, by which the next may be longer or shorter
Row = list[Span]


def aligned_tables(words: Sequence[Word]) -> Iterator[tuple[list[Cell], int]]:
    """Yield the cells of each table, and the number of its columns."""
    rows = [(line, parts_of(line)) for line in lines_of(words)]
    prose = _prose([part for _, row in rows for part in row])
    known = set(map(id, prose))
    block: list[list[Line]] = []
    last: Line | None = None
    for line, parts in rows:
        row = _without([part for part in parts if id(part) not in known], prose)
        if not row and block and all(part.right < _left(block) or part.left > _right(block) for part in parts):
            continue  # running text in another column of the page
        ends = not row or (len(row) == 1 and len(row[0].words) > _LONG)
        if block and last and (ends or line.middle - last.middle > _APART * line.height):
            yield from _of_block(block)
            block = []
        if not ends:
            block.append(row)
            last = line
    yield from _of_block(block)


def _without(row: list[Line], prose: Sequence[Line]) -> list[Line]:
    """Return the parts of a row beside the running text next to it, if there are any, else all."""
    for one in prose:
        if row and abs(one.middle - row[0].middle) < _APART * row[0].height:
            row = [part for part in row if part.right < one.left or part.left > one.right] or row
    return row


def _left(block: Sequence[Sequence[Line]]) -> float:
    return min(row[0].left for row in block)


def _right(block: Sequence[Sequence[Line]]) -> float:
    return max(row[-1].right for row in block)


def _prose(parts: Sequence[Line]) -> list[Line]:
    """Return the lines of paragraphs, which follow each other in the file, end near each other, and break sentences."""
    paragraphs: list[list[Line]] = []
    for part in sorted(parts, key=lambda part: part.words[0].first):
        if paragraphs and _goes_on(paragraphs[-1][-1], part):
            paragraphs[-1].append(part)
        else:
            paragraphs.append([part])
    return [line for lines in paragraphs if _is_prose(lines) for line in lines]


def _goes_on(line: Line, other: Line) -> bool:
    step, shorter = other.middle - line.middle, line.right - other.right
    return (
        0 < step < _CLOSE * line.height
        and len(line.words) >= _PROSE - 1
        and abs(line.left - other.left) < 3 * line.height
        and shorter > -_RAGGED * (line.right - line.left)
    )


def _is_prose(lines: Sequence[Line]) -> bool:
    words = [word.text for line in lines for word in line.words]
    later = [line.text for line in lines[1:]]
    return (
        len(lines) > 2
        and len(words) >= _PROSE * len(lines)
        and 3 * sum(map(is_figure, words)) < len(words)
        and 3 * sum(not text[:1].isupper() for text in later) >= 2 * len(later)
    )


def _of_block(block: Sequence[Sequence[Line]]) -> Iterator[tuple[list[Cell], int]]:
    """Yield the tables in lines that follow each other; a header below amounts begins another."""
    begin = 0
    has_amounts = False
    for index, row in enumerate(block):
        if has_amounts and _is_header(row):
            first = index
            while first > begin + 1 and len(block[first - 1]) > 1 and not _has_amount(block[first - 1]):
                first -= 1
            yield from _of_rows(block[begin:first])
            begin, has_amounts = first, False
        has_amounts = has_amounts or _has_amount(row)
    yield from _of_rows(block[begin:])


def _has_amount(row: Sequence[Line]) -> bool:
    return any(is_amount(part.text) for part in row[1:])


def _is_header(row: Sequence[Line]) -> bool:
    """True for several years or dates, perhaps beside a unit."""
    dates = row[1:] if _OF_UNIT.match(row[0].text) else row
    return len(dates) > 1 and all(is_period(part.text) for part in dates)


def _of_rows(block: Sequence[Sequence[Line]]) -> Iterator[tuple[list[Cell], int]]:
    several = [index for index, row in enumerate(block) if len(row) > 1]
    columns = _columns(part for row in block if _has_amount(row) for part in row)
    if len(several) < _ROWS or not 1 < len(columns) <= _MOST_COLUMNS:
        return
    begin = several[0]
    while begin and block[begin - 1][0].left > columns[0][1]:
        begin -= 1
    rows = [put_into(columns, _parted(row, columns)) for row in block[begin : several[-1] + 1]]
    figures = (index for index, row in enumerate(rows) if any(first and is_amount(_text(own)) for first, _, own in row))
    header = next(figures, 0)
    if not _is_table(rows, rows[header:], len(columns)):
        return
    above = max(header - 1, 0)
    rows[:above] = [_spread(row, columns) for row in rows[:above]]
    cells = [
        Cell(own, index, index, first, last) for index, row in enumerate(_unwrapped(rows)) for first, last, own in row
    ]
    yield cells, len(columns)


def _columns(parts: Iterable[Line]) -> Columns:
    """Return the edges of each column; a part that reaches over several columns is a cell of several."""
    columns: list[tuple[float, float]] = []
    for part in sorted(parts, key=lambda part: part.right - part.left):
        met = [one for one in columns if part.left < one[1] and part.right > one[0]]
        if len(met) < 2:
            columns = [one for one in columns if one not in met]
            columns.append((min([part.left, *(one for one, _ in met)]), max([part.right, *(one for _, one in met)])))
        if len(columns) > _MOST_COLUMNS:
            break
    joined: list[tuple[float, float]] = []
    for left, right in sorted(columns):
        if joined and left < joined[-1][1]:
            joined[-1] = joined[-1][0], max(right, joined[-1][1])
        else:
            joined.append((left, right))
    return joined


def _parted(row: Sequence[Line], columns: Columns) -> Iterator[Line]:
    """Yield the parts of a row, divided where a gap between two words is one between columns."""
    for part in row:
        words = [part.words[0]]
        for one, other in pairwise(part.words):
            is_gap = other.left - one.right >= _SPACE * part.height
            if is_gap and any(one.right <= left and right <= other.left for (_, right), (left, _) in pairwise(columns)):
                yield Line(words)
                words = []
            words.append(other)
        yield Line(words)


def _is_table(rows: Sequence[Row], body: Sequence[Row], columns: int) -> bool:
    """True if most cells are filled, those of a column are figures, and those of at most one are long."""
    full = [row for row in rows if len(row) > 1]
    texts: list[list[str]] = [[] for _ in range(columns)]
    for first, _, own in (cell for row in body for cell in row):
        texts[first].append(_text(own))
    if len(full) < max(_ROWS, _FULL * len(rows)):
        return False
    several = [{_text(own) for _, _, own in row} for row in body if len(row) > 1]
    is_chart = 2 * sum(len(one) == 1 for one in several) > len(several)  # figures of two axes
    figures = [len(own) >= max(2, 0.4 * len(body)) and sum(map(is_figure, own)) >= _FIGURES * len(own) for own in texts]
    lengths = [[len(text.split()) for text in own] for own in texts]
    short = [bool(own) and median(own) <= _SHORT for own in lengths]
    beside = [one for own in lengths[1:] for one in own]
    long = [one for one in beside if one > _LONG_CELL]
    filled = sum(last - first + 1 for row in full for first, last, _ in row)
    is_filled = filled >= _FILLED * len(full) * columns
    is_short = sum(short) >= columns - 1 and 2 * sum(long) <= sum(beside)
    return is_filled and is_short and any(figures[1:]) and not is_chart


def _text(parts: Iterable[Line]) -> str:
    return " ".join(part.text for part in parts)


def _spread(row: Row, columns: Columns) -> Row:
    """Return a row of the header with each cell over all empty columns in whose middle it stands."""
    taken = {column for first, last, _ in row for column in range(first, last + 1)}
    spread: Row = []
    for first, last, own in row:
        middle = (min(part.left for part in own) + max(part.right for part in own)) / 2
        begin, end = first, last
        while begin > 1 and begin - 1 not in taken:
            begin -= 1
        while end + 1 < len(columns) and end + 1 not in taken:
            end += 1
        centred = [
            (other - one, one, other)
            for one in range(begin, first + 1)
            for other in range(last, end + 1)
            if abs((columns[one][0] + columns[other][1]) / 2 - middle) <= own[0].height
        ]
        _, first, last = max(centred, default=(0, first, last))
        taken.update(range(first, last + 1))
        spread.append((first, last, own))
    return spread


def _unwrapped(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, those that a label of several lines stands in as one."""
    joined: list[Row] = []
    for row in rows:
        label = row[0][2][0].text if row[0][0] == 0 else ""
        before = joined[-1] if joined and joined[-1][0][0] == 0 else []
        if label and (label[:1].islower() or label[:1] == "(") and before and 1 in (len(before), len(row)):
            joined[-1] = [(0, before[0][1], [*before[0][2], *row[0][2]]), *before[1:], *row[1:]]
        else:
            joined.append(row)
    return joined
