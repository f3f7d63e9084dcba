"""A table of a document, and one SELECT over all of its rows, which can neither change nor reach anything else."""

import math
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from langchain_core.documents import Document

from core.words import RAISED_DIGITS
from grounding.amounts import UNITS
from grounding.comparisons import TOGETHER
from grounding.dates import NUMERIC, dates
from grounding.language import SURE, language_of
from grounding.names import folded
from grounding.notes import MARKED, notes_in
from grounding.stems import stem
from retrieval.documents.loaded import CELLS

if TYPE_CHECKING:
    from sqlglot import exp

NAME = "data"  # of the table in a query
ROW = "_row"  # of the column that numbers its rows, from 0
MOST_COLUMNS = 100
MOST_ROWS = 200_000
MOST_SHOWN = 20  # rows of a result
UNNAMED = "–"  # a group of rows whose cells are empty in the column that they are grouped by
SECONDS = 2.0  # of a query
LONGEST_QUERY = 1_000  # characters
LONGEST_VALUE = 10_000_000  # bytes
ALLOWED = frozenset("count sum avg total min max round abs lower upper length coalesce substr like".split())
FIGURE = re.compile(  # -$5 and ($5) are as $-5
    r"(?P<before>[-−(]?)(?P<currency>[$€£¥]|[A-Z]{3}(?=\s))?\s*(?P<sign>[-+−(]?)\s*(?P<figure>[\d.,'’\s]*\d)"
    r"(?P<power>[Ee][-+]?\d{1,2})?\)?\s*"
    rf"(?P<unit>[%$€£¥]|(?!{RAISED_DIGITS})[^\W\d]{{1,12}}\.?)?\)?"
)
POINTS_THOUSANDS = frozenset("de es it nl pt da tr id".split())  # languages that write 1.234 for a thousand and more
THOUSANDS = re.compile(r"[^,]*\d(,\d{3})+(?!\d)[^,]*")
POINTS = re.compile(r"[1-9]\d{0,2}(\.\d{3})*|0")
GROUPING = {".": re.compile(r"[,'’\s]"), ",": re.compile(r"[.'’\s]")}
# Of thousands, in India also of hundreds of them: 31.12.2020 is no figure.
GROUPED = {
    mark: re.compile(rf"(?:\d*|\d{{1,3}}(?:{apart.pattern}\d{{2,3}})*{apart.pattern}\d{{3}})(?:[{mark}]\d+)?")
    for mark, apart in GROUPING.items()
}
# A text, or the name of the table, for which the query may have the words of its title.
TITLE = re.compile(
    r"('(?:[^']|'')*')|\bFROM(?!\s+data\b)(?:\s+(?!JOIN\b)[\w.-]+)+?(?=\s+(?:WHERE|GROUP|ORDER|LIMIT)\b|\s*(?:[;)]|$))",
    re.IGNORECASE,
)
TOTAL = re.compile(rf"\b(?:{TOGETHER}|gesamt\w*)\b|总|合计", re.IGNORECASE)
CLOCK = re.compile(r"(\d{1,2})[:h]([0-5]\d)(?::([0-5]\d))?(?: ?([ap])\.?m\.?| ?h| ?Uhr)?", re.IGNORECASE)
DURATION = re.compile(
    r"(?:(\d+) ?(?:h|hrs?|hours?|std\.?|stunden?))?,? ?(?:(\d+) ?min(?:s|utes?|uten?|utos?)?\.?)?", re.IGNORECASE
)
DASH = re.compile(r"[-–—]+|n\.?/?a\.?", re.IGNORECASE)
FREE = frozenset("free gratis kostenlos frei gratuit".split())
IN_BRACKETS = re.compile(r"\(([^()]+)\)")
UNIT = re.compile("[A-Z]{3}|[%$€£¥]|kWh|km²|m²")
LONGEST_FIGURE, LONGEST_DAY = 50, 30  # characters of a cell
SAMPLE = 1_000  # different cells that tell of what kind a column is
TYPED = 0.9  # of a column's cells, from which it is one of numbers, or of dates
DISTINCT = 12  # values of a column that are all named to the model
# Words that a query could not use as the name of a column.
RESERVED = frozenset(
    "select from where group order by having limit join on and or not in is null like between case when then else end "
    "as distinct union all table index values set default check primary key count sum avg min max rows desc asc "
    "to into if for with inner outer cross any except intersect using exists escape cast grant references foreign "
    "unique constraint transaction commit rollback alter add drop create insert update delete fetch returning".split()
)

Kind = Literal["number", "date", "text"]


class QueryError(Exception):
    """A query that cannot be run, or finds nothing; the message says why, for whoever writes another."""


class Column(NamedTuple):
    """A column: as the document names it, as a query does, what it holds, and how it writes a figure, such as £{}."""

    name: str
    key: str
    kind: Kind
    form: str = "{}"
    mark: str = "."
    decimals: int = 0

    def text_of(self, value: float) -> str:
        """Return a figure with the column's unit, decimal mark, and at least so many decimals as each of its cells."""
        whole, _, part = figure_text(abs(value)).partition(".")
        part = part.ljust(self.decimals, "0")
        return ("-" if value < 0 else "") + self.form.format(f"{whole}{self.mark}{part}" if part else whole)


@dataclass(frozen=True)
class Table:
    """A table row by row: its cells as they are written, their values, and the passage in which each row begins.

    ``number`` is that of the table in its document, ``rows`` those of its rows there. ``notes`` are below it, each by
    the mark that cells have: its passage, and where it begins and ends there.
    """

    source: str
    title: str
    number: int
    columns: tuple[Column, ...]
    cells: list[tuple[str | None, ...]]
    values: list[tuple[Any, ...]]
    passages: list[Document]
    rows: list[int]
    notes: Mapping[str, tuple[Document, int, int]]

    @classmethod
    def of(cls, passages: Iterable[Document], number: int) -> "Table | None":
        """Return the table of this number among a document's passages; None if it is too large, or has one row."""
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
        notes: dict[str, tuple[Document, int, int]] = {}
        for passage, begin in below:
            for mark, span in notes_in(passage.page_content, begin).items():
                notes.setdefault(mark, (passage, *span))
        first = ordered[0][0]
        mark = _usual_mark(zip(*cells, strict=True), first.page_content)
        if len(cells) > 2 and _end_in_total(cells, notes, mark):
            del rows[-1], ordered[-1], cells[-1]  # it would count twice, and be the greatest
        typed = [kind_of(column, notes, mark) for column in zip(*cells, strict=True)]
        columns = tuple(
            Column(name, key, kind, *(_form_of(name, column, mark) if kind == "number" else ()))
            for name, key, (kind, _), column in zip(names, _keys(names), typed, zip(*cells, strict=True), strict=True)
        )
        values = list(zip(*(column for _, column in typed), strict=True))
        source = str(first.metadata.get("source", ""))
        title = str(first.metadata.get("heading") or first.metadata.get("title") or Path(source).stem)
        return cls(source, title, number, columns, cells, values, [passage for passage, _ in ordered], rows, notes)

    def label(self, row: int) -> str:
        """Return the first cell of a row that is no number: what the row is about."""
        texts = (cell for cell, column in zip(self.cells[row], self.columns, strict=True) if column.kind != "number")
        return next((text for text in texts if text), "")

    def span(self, row: int) -> tuple[int, int]:
        """Return where a row begins and ends in its passage."""
        cells = self.passages[row].metadata[CELLS]
        own = [cell for cell in cells if (cell[0], cell[1]) == (self.number, self.rows[row])]
        return min(cell[2] for cell in own), max(cell[4] for cell in own)

    def text_of(self, row: int, parts: Mapping[str, str]) -> str:
        """Return what a row is about and, in brackets, the named parts of it that were asked for."""
        label = self.label(row)
        rest = ", ".join(f"{name}: {part}" for name, part in parts.items() if part and part != label)
        return f"{label} ({rest})" if label and rest else label or rest

    def notes_on(self, rows: Iterable[int], sql: str) -> list[tuple[Document, int, int]]:
        """Return the notes on the cells of these rows, in columns that the query names."""
        if not self.notes:
            return []
        used = [index for index, one in enumerate(self.columns) if one.key in sql.casefold()]
        marks = [one[1] for row in rows for index in used if (one := MARKED.search(self.cells[row][index] or ""))]
        return [self.notes[mark] for mark in dict.fromkeys(marks) if mark in self.notes]

    def repeats(self, key: str) -> bool:
        """Whether several rows have the same cell in a column."""
        column = [one.key for one in self.columns].index(key)
        return len({row[column] for row in self.cells}) < len(self.cells)

    def frequent_cells(self, column: int) -> list[str]:
        """Return the cells of a column, the most frequent first, each once."""
        cells = Counter(row[column] for row in self.cells)
        return [cell for cell, _ in cells.most_common() if cell]


def _usual_mark(columns: Iterable[tuple[str | None, ...]], text: str) -> str:
    """Return what stands before the decimals of a table's figures, as its other columns or its language have it."""
    samples = (list(islice(filter(None, dict.fromkeys(column)), SAMPLE)) for column in columns)
    has_comma = any(decimal_mark(one) == "," and all(number(cell, ",") is not None for cell in one) for one in samples)
    return "," if has_comma or language_of(text, SURE) in POINTS_THOUSANDS else "."


def _end_in_total(cells: Sequence[tuple[str | None, ...]], marks: Container[str], mark: str) -> bool:
    """True if the last row is called a total, and some figure of it is the sum of those above, perhaps rounded."""
    if not any(cell and TOTAL.search(cell) for cell in cells[-1]):
        return False
    typed = (kind_of(column, marks, mark) for column in zip(*cells, strict=True))
    figures = (values for kind, values in typed if kind == "number")
    return any(math.isclose(one[-1] or 0, sum(filter(None, one[:-1])), rel_tol=0.01) for one in figures if one[-1])


def kind_of(cells: Sequence[str | None], marks: Container[str] = (), usual_mark: str = ".") -> tuple[Kind, list[Any]]:
    """Return of what kind a column is, and the values of its cells, None where there is none of that kind.

    A mark behind a cell's figure does not count; a raised figure is one where it is among ``marks``. Figures of several
    units, as 900 MB and 2 GB, are texts, but 1 h 15 min is one of 75 min. A dash is no cell.
    """
    distinct = {cell: None for cell in cells if cell and not DASH.fullmatch(cell)}
    sample = list(islice(distinct, SAMPLE))
    mark = decimal_mark(sample, usual_mark)

    def figure(cell: str) -> float | None:
        if len(sample) > 1 and cell.casefold() in FREE:
            return 0.0
        value = number(cell, mark)
        if value is None and (marked := MARKED.search(cell)) and (marked[1] in marks or not marked[1].isdigit()):
            return number(cell[: marked.start()], mark)
        return value

    day_of = partial(day, day_first=is_day_first(sample))
    kinds: list[tuple[Kind, Callable[[str], Any]]] = [("number", figure), ("date", day_of)]
    kinds += [("date", partial(clock, parts=parts)) for parts in (2, 3)] + [("number", minutes)]
    for kind, value_of in kinds if _have_one_unit(sample) else kinds[1:]:
        if sum(value_of(cell) is not None for cell in sample) >= TYPED * max(len(sample), 1):
            values = {cell: value_of(cell) for cell in distinct}
            return kind, [values.get(cell or "") for cell in cells]
    return "text", list(cells)


def _form_of(name: str, cells: Iterable[str | None], usual_mark: str) -> tuple[str, str, int]:
    """Return how most cells write a figure, with what stands before its decimals, and how many each has at least.

    Where they have no unit it is that in brackets behind the column's name.
    """
    sample = list(islice(filter(None, dict.fromkeys(cells)), SAMPLE))
    if not _have_one_unit(sample):
        return "{} min", ".", 0
    mark = decimal_mark(sample, usual_mark)
    matches = [(cell, match) for cell in sample if (match := FIGURE.fullmatch(cell)) and not match["power"]]
    forms = Counter(
        f"{cell[match.start('currency') : match.start('figure')] if match['currency'] else ''}{{}}"
        f"{cell[match.end('figure') : match.end('unit')] if match['unit'] else ''}"
        for cell, match in matches
    )
    form = forms.most_common(1)[0][0] if forms else "{}"
    if form == "{}" and (unit := IN_BRACKETS.search(name)) and (UNIT.fullmatch(unit[1]) or stem(unit[1]) in UNITS):
        form = "{} " + unit[1]
    return form, mark, min((len(match["figure"].partition(mark)[2]) for _, match in matches), default=0)


def _have_one_unit(cells: Iterable[str]) -> bool:
    """True if all cells that are figures with a unit have one, such as day and days, or are ordinals."""
    matches = (FIGURE.fullmatch(cell) for cell in cells if len(cell) <= LONGEST_FIGURE)
    units = {(match["unit"] or match["currency"] or "").casefold().rstrip(".") for match in matches if match} - {""}
    shortest = min(units, key=len, default="")
    is_plural = len(shortest) > 1 and all(unit.startswith(shortest) for unit in units)
    return len(units) < 2 or is_plural or units <= {"st", "nd", "rd", "th"}


def decimal_mark(cells: Iterable[str], usual: str = ".") -> str:
    """Return what stands before the decimals of a column's figures: ``.`` or ``,``, as usual where all are as 1.234."""
    mark = "."
    matches = (FIGURE.match(cell) for cell in cells if len(cell) <= LONGEST_FIGURE)
    figures = [match["figure"] for match in matches if match]  # a unit may end with a point
    if all(map(POINTS.fullmatch, figures)) and any(len(figure) > 3 for figure in figures):
        return "," if any(len(one) <= 3 or one.count(".") > 1 for one in figures) else usual  # 1.234 beside 567
    for figure in figures:
        point, comma = figure.rfind("."), figure.rfind(",")
        if point >= 0 and comma >= 0:
            return "." if point > comma else ","
        if figure.count(".") > 1 or (comma >= 0 and not THOUSANDS.fullmatch(figure)):
            mark = ","
    return mark


def number(cell: str, mark: str) -> float | None:
    """Return the value of a cell such as ``1,234.50 EUR``, or ``(5)`` for -5; None if it is no number."""
    match = FIGURE.fullmatch(cell) if len(cell) <= LONGEST_FIGURE else None
    if not match or not GROUPED[mark].fullmatch(match["figure"]):
        return None
    sign = (match["before"] + match["sign"]).strip("+")
    if sign.count("(") != cell.count(")"):
        return None
    value = float(GROUPING[mark].sub("", match["figure"]).replace(mark, ".") + (match["power"] or ""))
    return -value if sign else value


def minutes(cell: str) -> float | None:
    """Return how many minutes a cell such as 45 min, 1 h or 1 h 15 min says."""
    match = DURATION.fullmatch(cell) if any(map(str.isdecimal, cell)) else None
    return 60 * float(match[1] or 0) + float(match[2] or 0) if match else None


def is_day_first(cells: Iterable[str]) -> bool | None:
    """Return whether the days of a column such as 05.04.2021 begin with the day; None if nothing tells."""
    for match in filter(None, map(NUMERIC.search, cells)):
        if match[2] == "." or int(match[1]) > 12:
            return True
        if int(match[3]) > 12:
            return False
    return None


def day(cell: str, day_first: bool | None) -> str | None:
    """Return the one day that a cell states, as YYYY-MM-DD; ``day_first`` tells which of two readings it is."""
    full = [one for one in dates(cell) if one.year and one.month and one.day] if len(cell) <= LONGEST_DAY else []
    if day_first is not None and (match := NUMERIC.search(cell)):
        full = [one for one in full if one.day == int(match[1 if day_first else 3])]
    return f"{full[0].year:04}-{full[0].month:02}-{full[0].day:02}" if len(full) == 1 else None


def clock(cell: str, parts: int) -> str | None:
    """Return a time of so many parts, as hours, minutes and seconds, with two digits for each."""
    match = CLOCK.fullmatch(cell)
    if not match or (match[3] is None) == (parts == 3):
        return None
    hour = int(match[1]) % 12 + (12 if match[4] in "pP" else 0) if match[4] else int(match[1])
    return ":".join([f"{hour:02}", *filter(None, match.group(2, 3))])


def _keys(names: Iterable[str]) -> list[str]:
    """Return a plain identifier for each name, all different."""
    keys: list[str] = []
    for name in names:
        plain = re.sub(r"\W+", "_", name.casefold()).strip("_")[:40] or "column"
        plain = f"c_{plain}" if plain[0].isdecimal() or plain in RESERVED else plain
        keys.append(plain if plain not in keys else f"{plain}_{len(keys) + 1}")
    return keys


@dataclass(frozen=True)
class Found:
    """What a query found: a text for each row of its result, and the numbers of the table's rows that carry it.

    ``is_computed`` says that the result is a count, a sum or the like, rather than rows of the table; ``is_figure``
    that it is one or several figures.
    """

    sql: str
    result: list[str]
    rows: list[int]
    is_computed: bool
    is_figure: bool = False


def run(table: Table, query: "exp.Select") -> Found:
    """Run a query that was `parsed` over all rows of a table. Raises `QueryError`."""
    with closing(sqlite3.connect(":memory:")) as connection:
        _fill(connection, table)
        _confine(connection)
        found = _rows_found(connection, table, query) or _computed(connection, table, query)
    if not found.rows:
        raise QueryError("No row meets the condition.")
    return found


def parsed(written: str, table: Table) -> "exp.Select":
    """Return the one SELECT over one table that the text is. Raises `QueryError`."""
    import sqlglot  # a tenth of a second, which only questions of tables cost
    from sqlglot import errors, exp

    if len(written) > LONGEST_QUERY:
        raise QueryError("The query is too long.")
    try:
        statements = sqlglot.parse(TITLE.sub(lambda match: match[1] or f"FROM {NAME}", written), read="sqlite")
    except (errors.SqlglotError, RecursionError) as error:
        raise QueryError("That is no SELECT of SQLite.") from error
    query = statements[0] if len(statements) == 1 else None
    beyond = (exp.Join, exp.With, exp.SetOperation, exp.Window, exp.Fetch)
    if not isinstance(query, exp.Select) or not query.args.get("from_") or any(query.find_all(*beyond)):
        raise QueryError(f"Write one SELECT from {NAME}, without joins.")
    aliases = {one.alias for one in query.find_all(exp.Table) if one.alias}
    for one in list(query.find_all(exp.Table)):
        one.replace(exp.to_table(NAME, alias=one.alias or None))
    known = {column.key for column in table.columns} | {one.alias for one in query.find_all(exp.Alias)}
    without_accents = {folded(column.key): column.key for column in table.columns}
    for column in query.find_all(exp.Column):
        if column.name.casefold() not in known and (key := without_accents.get(folded(column.name))):
            column.set("this", exp.to_identifier(key))
        if column.table and column.table not in aliases:
            column.set("table", exp.to_identifier(NAME))
        if column.name.casefold() not in known and not isinstance(column.this, exp.Star):
            keys = ", ".join(one.key for one in table.columns)
            raise QueryError(f"There is no column {column.name} in this table, whose columns are {keys}.")
    if text := _ordered_text(query, table):
        raise QueryError(f"{text} has texts, which have no sum and no order: use a figure or a date.")
    return query


def _ordered_text(query: "exp.Select", table: Table) -> str:
    """Return the column of texts that the query adds up, or whose most or least it takes; none is ""."""
    from sqlglot import exp

    of_texts = {column.key for column in table.columns if column.kind == "text"}
    taken = [one.this for one in query.find_all(exp.Sum, exp.Avg, exp.Max, exp.Min)]
    taken += [one for each in query.find_all(exp.Select) if each.args.get("limit") for one, _ in _order(each)]
    names = (one.name.casefold() for one in taken if isinstance(one, exp.Column))
    return next((name for name in names if name in of_texts), "")


def only_rows(query: "exp.Select", column: str, cells: Sequence[str]) -> str:
    """Return the query of the rows alone in which the column has one of these cells; so are its extremes.

    Of two rows, that with a lower figure than the other becomes the row with the lowest: so the figure is shown.
    """
    from sqlglot import exp

    condition = where.this if (where := query.args.get("where")) else None
    if len(cells) == 2 and isinstance(condition, exp.LT | exp.GT) and condition.expression.find(exp.Where):
        is_higher = isinstance(condition, exp.GT)
        ordered = exp.Ordered(this=condition.this, desc=is_higher, nulls_first=not is_higher)
        query.set("where", None)
        query.order_by(ordered, copy=False).limit(1, copy=False)
    for one in list(query.find_all(exp.Select)):
        if one is query or any(one.find_all(exp.Max, exp.Min)):
            one.where(exp.column(column).isin(*cells), copy=False)
    return query.sql("sqlite")


def _rows_found(connection: sqlite3.Connection, table: Table, query: "exp.Select") -> Found | None:
    """Return the rows that the query selects, with all that tie with the last one; None if it computes anything."""
    from sqlglot import exp

    extremes = [one for column in query.expressions for one in column.find_all(exp.AggFunc)]
    if query.args.get("group") or query.args.get("having"):
        return None
    shown = [one.unalias() for one in query.expressions]
    order = _order(query)
    most, passed = _whole(query, "limit"), _whole(query, "offset") or 0
    if extremes:
        one = extremes[0]
        if len(extremes) > 1 or one not in shown or not isinstance(one, exp.Max | exp.Min):
            return None
        order, most = [(one.this, isinstance(one, exp.Max))], 1
        shown = [one.this if other is one else other for other in shown]
    if order and most is not None and _names_groups(table, shown):
        raise QueryError("It orders rows, where it names what several rows share: group them.")
    by = [one for one, _ in order]
    shown = [one for one in [*shown, *by] if not isinstance(one, exp.Star)]
    selected = _of_rows(query, [*by, *shown])
    if by and most is not None:
        selected = selected.where(by[0].is_(exp.null()).not_())  # an empty cell is not the least
    if order:
        ordered = (exp.Ordered(this=one.copy(), desc=desc, nulls_first=False) for one, desc in order)
        selected = selected.order_by(*ordered)
    rows = _fetched(connection, selected.sql("sqlite"))
    rows = _first(rows[passed:], most, slice(1, 1 + len(by)))
    texts = [_row_text(table, row[0], shown, row[1 + len(by) :]) for row in rows[:MOST_SHOWN]]
    return Found(query.sql("sqlite"), texts, [row[0] for row in rows], is_computed=False)


def _first(rows: list[tuple[Any, ...]], most: int | None, by: slice) -> list[tuple[Any, ...]]:
    """Return the first rows of a result, with all that tie with the last one in what they are sorted by."""
    first = rows[:most]
    return first + [row for row in rows[len(first) :] if first and row[by] and row[by] == first[-1][by]]


def _row_text(table: Table, row: int, shown: "Sequence[exp.Expression]", values: Sequence[object]) -> str:
    """Return a row of the result: cells as they are written, and what was computed from them."""
    from sqlglot import exp

    columns = {column.key: index for index, column in enumerate(table.columns)}
    parts: dict[str, str] = {}
    for one, value in zip(shown, values, strict=True):
        if isinstance(one, exp.Column):
            index = columns[one.name.casefold()]
            parts[table.columns[index].name] = table.cells[row][index] or ""
        elif value is not None:
            parts[one.sql("sqlite")] = _value_text(table, one, value)
    return table.text_of(row, parts)


def _names_groups(table: Table, shown: "Sequence[exp.Expression]") -> bool:
    """Whether the texts that are shown name groups of rows: none of them tells every row from the others."""
    names = {one.name.casefold() for one in shown}
    texts = [index for index, one in enumerate(table.columns) if one.key in names and one.kind == "text"]
    return bool(texts) and all(len(table.frequent_cells(index)) < len(table.cells) for index in texts)


def _of_rows(query: "exp.Select", shown: "Sequence[exp.Expression]") -> "exp.Select":
    """Return the query of the numbers of the rows that a query reads, and of these expressions. Raises `QueryError`."""
    from sqlglot import exp

    source = query.args["from_"].this.copy()
    if not isinstance(source, exp.Table) and [type(one) for one in source.selects] != [exp.Star]:
        raise QueryError(f"It reads what another query shows: write one SELECT from {NAME}.")
    selected = exp.select(ROW, *(one.copy() for one in shown)).from_(source)
    for condition in _parts(query, "where"):
        selected = selected.where(condition.copy())
    return selected


def _parts(query: "exp.Select", name: str) -> "list[exp.Expression]":
    """Return the expressions of a clause; none where there is no such clause."""
    clause = query.args.get(name)
    return [] if clause is None else clause.expressions or [clause.this]


def _order(query: "exp.Select") -> "list[tuple[exp.Expression, bool]]":
    """Return what a query orders by, and whether from the greatest down. Raises `QueryError`."""
    return [(_named(query, one.this), bool(one.args.get("desc"))) for one in _parts(query, "order")]


def _named(query: "exp.Select", one: "exp.Expression") -> "exp.Expression":
    """Return what a query orders or groups by, where it names that by an alias or a place. Raises `QueryError`."""
    from sqlglot import exp

    shown = query.expressions
    known = {str(place): each.unalias() for place, each in enumerate(shown, 1) if not isinstance(shown[0], exp.Star)}
    known |= {each.alias.casefold(): each.unalias() for each in shown if each.alias}
    found = known.get(one.name.casefold(), one) if isinstance(one, exp.Column | exp.Literal) else one
    if isinstance(found, exp.Literal):
        raise QueryError(f"It orders or groups by {found.name}: name a column.")
    return found


def _whole(query: "exp.Select", name: str) -> int | None:
    """Return the whole number that a clause gives; None if it gives none."""
    clause = query.args.get(name)
    return int(clause.expression.name) if clause and clause.expression.name.isdecimal() else None


def _computed(connection: sqlite3.Connection, table: Table, query: "exp.Select") -> Found:
    """Return what the query computes, and the rows that it computes it from."""
    group, by = [_named(query, one) for one in _parts(query, "group")], [one for one, _ in _order(query)]
    width, end = len(query.expressions), len(query.expressions) + len(by)
    most, passed = _whole(query, "limit"), _whole(query, "offset") or 0
    if not group and (most or 1) > 1:
        raise QueryError(f"LIMIT {most} takes no rows from what is computed of all.")
    every = query.copy().select(*(one.copy() for one in [*by, *group]))
    every.set("limit", None)
    every.set("offset", None)
    result = _fetched(connection, every.sql("sqlite"))
    if by and most is not None:
        result = [row for row in result if None not in (row[width], *row[end:])]
    result = _first(result[passed:], most, slice(width, end))[:MOST_SHOWN]
    groups = {row[end:] for row in result}
    carrying = _fetched(connection, _of_rows(query, group).sql("sqlite"))
    rows = [row[0] for row in carrying if row[1:] in groups]
    if all(one is None for row in result for one in row[:width]):
        raise QueryError("The result is empty.")
    named = [UNNAMED if one.unalias() in group else None for one in query.expressions]
    shown = [[name if one is None else one for name, one in zip(named, row, strict=False)] for row in result]
    texts = [
        ", ".join(_value_text(table, *one) for one in zip(query.expressions, row, strict=False) if one[1] is not None)
        for row in shown
    ]
    is_figure = all(isinstance(one, int | float) for row in shown for one in row)
    return Found(query.sql("sqlite"), texts, rows, is_computed=True, is_figure=is_figure)


def _value_text(table: Table, one: "exp.Expression", value: object) -> str:
    """Return a value, a figure as the columns write theirs that it is added up, compared or averaged from."""
    from sqlglot import exp

    plain = (exp.Sum, exp.Avg, exp.Max, exp.Min, exp.Round, exp.Abs, exp.Coalesce)
    keys = {each.name.casefold() for each in one.find_all(exp.Column)}
    columns = {column.form: column for column in table.columns if column.key in keys}
    is_plain = all(isinstance(each, plain) for each in one.find_all(exp.Func)) and not one.find(exp.Mul, exp.Div)
    if isinstance(value, int | float) and is_plain and len(columns) == 1:
        return next(iter(columns.values())).text_of(value)
    return figure_text(value)


def figure_text(value: object) -> str:
    """Return a figure with at most two decimals, or three significant digits; a text as it is."""
    if not isinstance(value, float):
        return str(value)
    rounded = round(value, 2) if abs(value) >= 1 else float(f"{value:.3g}")
    return f"{rounded:.2f}".rstrip("0").rstrip(".") if abs(rounded) >= 1 else f"{rounded:g}"


def _fetched(connection: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query. Raises `QueryError`."""
    end = time.monotonic() + SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
    try:
        return connection.execute(sql).fetchmany(MOST_ROWS)
    except sqlite3.OperationalError as error:
        why = "It took too long" if "interrupted" in str(error) else str(error)
        raise QueryError(f"SQLite cannot run it: {why}.") from error
    except (sqlite3.DatabaseError, OverflowError) as error:
        raise QueryError(f"SQLite does not run it: {error}.") from error


def _fill(connection: sqlite3.Connection, table: Table) -> None:
    types = {"number": "REAL", "date": "TEXT COLLATE NOCASE", "text": "TEXT COLLATE NOCASE"}
    columns = ", ".join(f'"{column.key}" {types[column.kind]}' for column in table.columns)
    connection.execute(f"CREATE TABLE {NAME} ({ROW} INTEGER PRIMARY KEY, {columns})")
    marks = ", ".join("?" * (len(table.columns) + 1))
    rows = ((number, *row) for number, row in enumerate(table.values))
    connection.executemany(f"INSERT INTO {NAME} VALUES ({marks})", rows)  # noqa: S608 - our own names


def _confine(connection: sqlite3.Connection) -> None:
    """Let queries read the table, call `ALLOWED`, and do nothing else."""

    def allow(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        reads = action == sqlite3.SQLITE_SELECT or (action == sqlite3.SQLITE_READ and first == NAME)
        calls = action == sqlite3.SQLITE_FUNCTION and str(second).lower() in ALLOWED
        return sqlite3.SQLITE_OK if reads or calls else sqlite3.SQLITE_DENY

    connection.commit()
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 1)
    connection.set_authorizer(allow)
