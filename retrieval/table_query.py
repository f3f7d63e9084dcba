"""Run one SELECT over all rows of a table, which can neither change nor reach anything else."""

import re
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grounding.names import folded
from retrieval.table_columns import figure_text
from retrieval.tables import MOST_ROWS, Table

if TYPE_CHECKING:
    from sqlglot import exp

NAME = "data"  # of the table in a query
ROW = "_row"  # of the column that numbers its rows, from 0
MOST_SHOWN = 20  # rows of a result
MOST_DISTINCT = 2 / 3  # share of rows with another text, up to which the text names groups of them
UNNAMED = "–"  # a group of rows whose cells are empty in the column that they are grouped by
SECONDS = 2.0  # of a query
LONGEST_QUERY = 1_000  # characters
LONGEST_VALUE = 10_000_000  # bytes
ALLOWED = frozenset("count sum avg total min max round abs lower upper length coalesce substr like".split())
# A string, or the name of a table, for which the query may use the words of the table's title.
TITLE = re.compile(
    r"('(?:[^']|'')*')|\bFROM(?!\s+data\b)(?:\s+(?!JOIN\b)[\w.-]+)+?(?=\s+(?:WHERE|GROUP|ORDER|LIMIT)\b|\s*(?:[;)]|$))",
    re.IGNORECASE,
)


class QueryError(Exception):
    """A query cannot be run, or finds nothing; the message tells the model why, and the model writes another query."""


@dataclass(frozen=True)
class QueryResult:
    """What a query found: a text for each row of its result, and the numbers, from 0, of the table rows it comes from.

    ``is_computed`` says that the result is a count, a sum or the like, rather than rows of the table; ``is_figure``
    says that a computed result has figures only.
    """

    sql: str
    result: list[str]
    rows: list[int]
    is_computed: bool
    is_figure: bool = False


def run_query(table: Table, query: "exp.Select") -> QueryResult:
    """Run a query that was `parsed` over all rows of a table. Raises `QueryError`."""
    with closing(sqlite3.connect(":memory:")) as connection:
        _fill(connection, table)
        _confine(connection)
        found = _rows_found(connection, table, query) or _computed(connection, table, query)
    if not found.rows:
        raise QueryError("No row meets the condition.")
    return found


def parsed(written: str, table: Table) -> "exp.Select":
    """Parse a text as one SELECT from the table. Raises `QueryError` for any other text."""
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
        if column.name.casefold() in table.partial_keys:
            raise QueryError(f"Not all files have the column {column.name}.")
    if text := _ordered_text(query, table):
        raise QueryError(f"{text} has texts, which have no sum and no order: use a figure or a date.")
    return query


def _ordered_text(query: "exp.Select", table: Table) -> str:
    """Return the name of a text column in SUM, AVG, MAX or MIN, or in ORDER BY beside a LIMIT; "" if there is none."""
    from sqlglot import exp

    of_texts = {column.key for column in table.columns if column.kind == "text"}
    taken = [one.this for one in query.find_all(exp.Sum, exp.Avg, exp.Max, exp.Min)]
    taken += [one for each in query.find_all(exp.Select) if each.args.get("limit") for one, _ in _order(each)]
    names = (one.name.casefold() for one in taken if isinstance(one, exp.Column))
    return next((name for name in names if name in of_texts), "")


def only_rows(query: "exp.Select", column: str, cells: Sequence[str]) -> str:
    """Restrict a query, and each maximum or minimum in it, to rows with one of these cells in a column; return the SQL.

    With two cells, the condition ``price < (SELECT price …)`` becomes ``ORDER BY price LIMIT 1``, to show the price.
    """
    from sqlglot import exp

    condition = where.this if (where := query.args.get("where")) else None
    if len(cells) == 2 and isinstance(condition, exp.LT | exp.GT) and condition.expression.find(exp.Where):
        is_higher = isinstance(condition, exp.GT)
        ordered = exp.Ordered(this=condition.this, desc=is_higher, nulls_first=not is_higher)
        query.set("where", None)
        query.order_by(ordered, copy=False).limit(1, copy=False)
    named = exp.column(column)
    return only_where(query, named.eq(cells[0]) if len(cells) == 1 else named.isin(*cells))


def only_where(query: "exp.Select", condition: "exp.Expression | str") -> str:
    """Restrict a query, and each maximum or minimum in it, to the rows that meet a condition; return the SQL."""
    from sqlglot import exp

    for one in list(query.find_all(exp.Select)):
        if one is query or any(one.find_all(exp.Max, exp.Min)):
            one.where(condition, copy=False)
    return query.sql("sqlite")


def by_group(query: "exp.Select", key: str) -> str:
    """Return the SQL with what it computes for each group of a column, unless it names the column or computes nothing.

    A single maximum or minimum is left as it is, since it shows a row.
    """
    from sqlglot import exp

    computed = [one for each in query.expressions for one in each.find_all(exp.AggFunc)]
    is_row = not computed or (len(computed) == 1 and isinstance(computed[0], exp.Max | exp.Min))
    named = {one.name.casefold() for one in query.find_all(exp.Column)}
    if key in named or (is_row and not query.args.get("group")):
        return query.sql("sqlite")
    shown = [exp.column(key), *query.expressions]
    return query.select(*shown, append=False).group_by(exp.column(key)).sql("sqlite")


def _rows_found(connection: sqlite3.Connection, table: Table, query: "exp.Select") -> QueryResult | None:
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
    by = [one for one, _ in order]
    # If the condition lists several cells, the answer says which of them a row has.
    among = [one.this for each in _expressions_of(query, "where") for one in each.find_all(exp.In)]
    shown = [one for one in [*shown, *among, *by] if not isinstance(one, exp.Star)]
    selected = _of_rows(query, [*by, *shown])
    if by and most is not None:
        selected = selected.where(by[0].is_(exp.null()).not_())  # an empty cell is not the least
    if order:
        ordered = (exp.Ordered(this=one.copy(), desc=desc, nulls_first=False) for one, desc in order)
        selected = selected.order_by(*ordered)
    rows = _fetched(connection, selected.sql("sqlite"))
    if order and most is not None and (key := _names_groups(table, shown, [row[0] for row in rows])):
        raise QueryError(
            f"It orders rows, where it names what several rows share: GROUP BY {key}, and order by the SUM, AVG, MAX "
            "or COUNT of each group."
        )
    rows = _first(rows[passed:], most, slice(1, 1 + len(by)))
    texts = [_row_text(table, row[0], shown, row[1 + len(by) :]) for row in rows[:MOST_SHOWN]]
    return QueryResult(query.sql("sqlite"), texts, [row[0] for row in rows], is_computed=False)


def _first(rows: list[tuple[Any, ...]], most: int | None, by: slice) -> list[tuple[Any, ...]]:
    """Return the first ``most`` rows of a result, and all others that tie with the last one in the columns ``by``."""
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
    if table.file_key:
        parts.setdefault(table.columns[-1].name, table.cells[row][-1] or "")
    return table.text_of(row, parts)


def _names_groups(table: Table, shown: "Sequence[exp.Expression]", rows: Sequence[int]) -> str:
    """Return the key of a text column that is shown and names groups of ``rows``; "" if any such column does not."""
    names = {one.name.casefold() for one in shown}
    texts = [(index, one.key) for index, one in enumerate(table.columns) if one.key in names and one.kind == "text"]
    distinct = [len({table.cells[row][index] for row in rows}) for index, _ in texts]
    return texts[0][1] if texts and all(size <= MOST_DISTINCT * len(rows) for size in distinct) else ""


def _of_rows(query: "exp.Select", shown: "Sequence[exp.Expression]") -> "exp.Select":
    """Return a query for the rows that ``query`` reads: their numbers and the values ``shown``. Raises `QueryError`."""
    from sqlglot import exp

    source = query.args["from_"].this.copy()
    if not isinstance(source, exp.Table) and [type(one) for one in source.selects] != [exp.Star]:
        raise QueryError(f"It reads what another query shows: write one SELECT from {NAME}.")
    selected = exp.select(ROW, *(one.copy() for one in shown)).from_(source)
    for condition in _expressions_of(query, "where"):
        selected = selected.where(condition.copy())
    return selected


def _expressions_of(query: "exp.Select", name: str) -> "list[exp.Expression]":
    """Return the expressions of a clause; none where there is no such clause."""
    clause = query.args.get(name)
    return [] if clause is None else clause.expressions or [clause.this]


def _order(query: "exp.Select") -> "list[tuple[exp.Expression, bool]]":
    """Return what a query orders by, and whether from the greatest down. Raises `QueryError`."""
    return [(_without_alias(query, one.this), bool(one.args.get("desc"))) for one in _expressions_of(query, "order")]


def _without_alias(query: "exp.Select", one: "exp.Expression") -> "exp.Expression":
    """Return the expression that ``one`` stands for, perhaps by its alias or position. Raises `QueryError`."""
    from sqlglot import exp

    shown = query.expressions
    known = {str(place): each.unalias() for place, each in enumerate(shown, 1) if not isinstance(shown[0], exp.Star)}
    known |= {each.alias.casefold(): each.unalias() for each in shown if each.alias}
    found = known.get(one.name.casefold(), one) if isinstance(one, exp.Column | exp.Literal) else one
    if isinstance(found, exp.Literal):
        raise QueryError(f"It orders or groups by {found.name}: name a column.")
    return found


def _whole(query: "exp.Select", name: str) -> int | None:
    """Return the whole number of a clause such as LIMIT; None if it has none."""
    clause = query.args.get(name)
    return int(clause.expression.name) if clause and clause.expression.name.isdecimal() else None


def _computed(connection: sqlite3.Connection, table: Table, query: "exp.Select") -> QueryResult:
    """Return what the query computes, and the rows that it computes it from."""
    group, by = (
        [_without_alias(query, one) for one in _expressions_of(query, "group")],
        [one for one, _ in _order(query)],
    )
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
    return QueryResult(query.sql("sqlite"), texts, rows, is_computed=True, is_figure=is_figure)


def _value_text(table: Table, one: "exp.Expression", value: object) -> str:
    """Return a value as text; the sum, average or extreme of a column gets the column's form, such as £{}."""
    from sqlglot import exp

    plain = (exp.Sum, exp.Avg, exp.Max, exp.Min, exp.Round, exp.Abs, exp.Coalesce)
    keys = {each.name.casefold() for each in one.find_all(exp.Column)}
    columns = {column.form: column for column in table.columns if column.key in keys}
    is_plain = all(isinstance(each, plain) for each in one.find_all(exp.Func)) and not one.find(exp.Mul, exp.Div)
    if isinstance(value, int | float) and is_plain and len(columns) == 1:
        return next(iter(columns.values())).text_of(value)
    return figure_text(value)


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
    """Let queries read the table, call the functions in `ALLOWED`, and do nothing else."""

    def allow(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        reads = action == sqlite3.SQLITE_SELECT or (action == sqlite3.SQLITE_READ and first == NAME)
        calls = action == sqlite3.SQLITE_FUNCTION and str(second).lower() in ALLOWED
        return sqlite3.SQLITE_OK if reads or calls else sqlite3.SQLITE_DENY

    connection.commit()
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 1)
    connection.set_authorizer(allow)
