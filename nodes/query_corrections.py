"""Correct a SELECT that a model wrote over a table, where the question tells how."""

import re
from collections import Counter

from grounding.amounts import plain_figures
from grounding.comparisons import (
    asks_for_difference,
    asks_for_least,
    asks_for_next,
    asks_for_total,
    asks_how_many,
    asks_which,
    counted_things,
    names_alternatives,
)
from grounding.dates import YEAR, dates, months
from grounding.language import languages_of
from grounding.numerals import in_digits
from grounding.stems import stems
from nodes.named_cells import Named, beginnings, named_columns
from retrieval.table_query import NAME, by_group, only_rows, only_where, parsed
from retrieval.tables import Table

SUBQUERY = re.compile(r"\(\s*SELECT\b[^()]*(?:\([^()]*\)[^()]*)*\)", re.IGNORECASE)
TEXT = re.compile(r"'((?:[^']|'')*)'")
NEXT = re.compile(r"\bLIMIT \d+ OFFSET\b", re.IGNORECASE)
ORDERED_ALL = re.compile(r"\bORDER BY (?:(?!LIMIT)[^();])+$")
GROUPED = re.compile(r"(SELECT (\w+) FROM \w+(?: WHERE .+)?) ORDER BY (\w+|\w+\(.+\))((?: DESC| ASC)? LIMIT \d+)", re.I)
ON_A_DAY = re.compile(r"(\w+) = '((\d{4})-(\d\d))-\d\d'")
QUANTITY = re.compile(
    r"\b(?:quantity|qty|units|pieces|menge|anzahl|stück|quantité|cantidad|unidades)\b|数量", re.IGNORECASE
)  # the name of a column that tells how many of a thing a row stands for
BOUND = re.compile(
    r"\b(?:since|before|after|until|till|from|between|by|through|to|later|earlier|nach|vor|ab|seit|bis|zwischen|avant|"
    r"après|depuis|jusqu|entre|antes|después|desde|hasta)\b",
    re.IGNORECASE,
)
ACROSS = re.compile(r"\b(?:across|overall)\b", re.IGNORECASE)
GREATEST = re.compile(r"\bDESC(?=(?:\s+LIMIT\s+1)?$)")
COUNT = re.compile(r"\bCOUNT\(\*\)", re.IGNORECASE)
QUOTE = "'"


def corrected(table: Table, query: str, question: str, named: Named) -> str:
    """Return the query, corrected where the question tells how. Raises `QueryError` if it is no SELECT."""
    query = of_named_rows(table, named, of_counted(table, question, query, named))
    query = of_groups(table, question, of_period(table, question, query))
    if figure := figure_of(table, question, query):
        query = of_figure(figure, question, named) or query
    if asks_for_least(question):
        query = GREATEST.sub("ASC", query)
    if named.are_compared and names_alternatives(question) and ORDERED_ALL.search(query):
        query += " LIMIT 1"
    if asks_for_next(question):
        query = NEXT.sub("LIMIT 1 OFFSET", query)
    if table.repeats_rows and not asks_for_total(named.rest) and not names_all_files(table, question):
        query = by_group(parsed(query, table), table.file_key)
    return query


def figure_of(table: Table, question: str, query: str) -> str:
    """Return the key of the number column that the question names best; among equals, the only one in the query.

    "" if no single column is left, or the query computes a mean.
    """
    outside, asked = TEXT.sub("", query.casefold()), beginnings(question)
    figures = _figures(table)
    shared = {one.key: len(beginnings(one.name) & asked) for one in table.columns if one.key in figures}
    best = max(shared.values(), default=0)
    named = [key for key, words in shared.items() if words == best]
    used = [key for key in named if re.search(rf"\b{key}\b", outside)]
    if "avg(" in outside:
        return ""
    return named[0] if best and len(named) == 1 else used[0] if len(used) == 1 else ""


def of_figure(figure: str, question: str, named: Named) -> str:
    """Return a query for the sum or difference of column ``figure`` over the rows named; "" if neither is asked for."""
    if not named.are_compared or asks_which(question) or names_alternatives(question):
        return ""
    if asks_for_difference(question):
        is_of_two = Counter(named.cells.values())[named.compared_by] == 2
        return of_compared(named, f"MAX({figure}) - MIN({figure})") if is_of_two else ""
    return of_compared(named, f"SUM({figure})") if asks_for_total(question) or asks_how_many(question) else ""


def of_compared(named: Named, shown: str) -> str:
    listed: dict[str, list[str]] = {named.compared_by: []}
    for cell, key in named.cells.items():
        if key == named.compared_by or cell not in named.unclear:
            listed.setdefault(key, []).append(quoted(cell))
    conditions = " AND ".join(f"{key} IN ({', '.join(cells)})" for key, cells in listed.items())
    return f"SELECT {shown} FROM {NAME} WHERE {conditions}"  # noqa: S608 - it is parsed before it is run


def quoted(cell: str) -> str:
    return f"'{cell.replace(QUOTE, QUOTE * 2)}'"


def of_named_rows(table: Table, named: Named, query: str) -> str:
    """Restrict the query to the rows that the question names, by each column that the query leaves out.

    If it names several by one column, also by that column: for "Which is older, A or B?" models query all rows, or
    those older than A. Raises `QueryError` if it is no SELECT.
    """
    missing: dict[str, list[str]] = {}
    outer = SUBQUERY.sub("", query)
    for cell, key in named.cells.items():
        if misses(outer, cell):
            missing.setdefault(key, []).append(cell)
    several = [(key, cells) for key, cells in missing.items() if len(cells) > 1]
    single = [
        (key, cells)
        for key, cells in missing.items()
        if len(cells) == 1 and cells[0] not in named.unclear and not re.search(rf"\b{key}\b", outer)
    ]
    for key, cells in [*(several if len(several) == 1 else ()), *single]:
        query = only_rows(parsed(query, table), key, cells)
    return query


def _figures(table: Table) -> list[str]:
    """Return the keys of the columns of figures that may be added up, or compared."""
    return [one.key for at, one in enumerate(table.columns) if one.kind == "number" and not table.is_numbering(at)]


def names_all_files(table: Table, question: str) -> bool:
    """Whether the question says how many files there are, or speaks across them, as in "at all ten stations"."""
    figures = plain_figures(in_digits(question, languages_of([question])))
    return str(len(table.sources)) in figures or ACROSS.search(question) is not None


def of_groups(table: Table, question: str, query: str) -> str:
    """Return the query with rows grouped by the text it shows, if it orders by a sum or the question asks for one."""
    match = GROUPED.fullmatch(query)
    kinds = {one.key: one.kind for one in table.columns}
    if not match or kinds.get(match[2].casefold()) != "text" or " group by " in match[1].casefold():
        return query
    key, by = match[2].casefold(), match[3]
    is_summed = kinds.get(by.casefold()) == "number" and asks_for_total(question) and table.repeats(key)
    if by.isidentifier() and not is_summed:
        return query
    by = f"SUM({by})" if by.isidentifier() else by
    return f"{match[1]} GROUP BY {key} ORDER BY {by}{match[4]}"


def of_period(table: Table, question: str, query: str) -> str:
    """Return the query with the period that the question names, where the query leaves it out or takes a day of it.

    Raises `QueryError` if it is no SELECT.
    """
    stated, named, years = dates(question), months(question), set(YEAR.findall(question))

    def widened(match: re.Match[str]) -> str:
        if named:
            return f"{match[1]} LIKE '{match[2]}-%'" if int(match[4]) in named else match[0]
        return f"{match[1]} LIKE '{match[3]}-%'" if match[3] in years else match[0]

    if not any(one.day for one in stated):
        query = ON_A_DAY.sub(widened, query)
    keys = [one.key for index, one in enumerate(table.columns) if one.kind == "date" and table.has_days(index)]
    is_one = len(years) == 1 and len(stated) == len(named) <= 1 and not BOUND.search(question)
    year = years.pop() if is_one else ""
    if len(keys) != 1 or not year or keys[0] in query.casefold() or is_known(year, table, query):
        return query
    only = next(iter(stated)) if stated else None
    day = f"{only.day:02}" if only and only.day else "%"
    period = f"{year}-{only.month:02}-{day}" if only else f"{year}-%"
    return only_where(parsed(query, table), f"{keys[0]} LIKE '{period}'")


def of_counted(table: Table, question: str, query: str, named: Named) -> str:
    """Return the query with its count of rows made a sum, or a count of distinct cells, if "how many" asks for one.

    What numbers the rows is counted rather than added up; of a thing that a cell names, the quantity is added up.
    """
    if not asks_how_many(question):
        return query
    things = named_columns(table, counted_things(question))
    figures = _figures(table)
    numbers = [one.key for one in table.columns if one.kind == "number" and one.key not in figures]
    query = re.sub(rf"\bSUM\((?:{'|'.join(numbers)})\)", "COUNT(*)", query, flags=re.IGNORECASE) if numbers else query
    used = query.casefold()
    added_up = [key for key in named_columns(table, question) if key in figures]
    counted = stems(counted_things(question))
    if any(stems(cell) <= counted for cell in named.cells):
        added_up += [one.key for one in table.columns if one.key in figures and QUANTITY.search(one.name)]
    if added_up and not any(key in used for key in figures):
        return COUNT.sub(f"SUM({added_up[0]})", query)
    if things and things[0] not in used and table.repeats(things[0]):
        return COUNT.sub(f"COUNT(DISTINCT {things[0]})", query)
    return query


def misses(query: str, cell: str) -> bool:
    return cell.casefold() not in query.casefold().replace("''", "'")


def is_known(figure: str, table: Table, query: str) -> bool:
    """Whether the query, the table's titles or its files name a figure, or say how many files there are."""
    titles = [str(table.passages[0].metadata.get(one, "")) for one in ("title", "heading")]
    return figure in plain_figures(" ".join((query, *titles, *table.sources, str(len(table.sources)))))
