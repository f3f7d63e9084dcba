"""Correct or refuse a SELECT that a model wrote over a table, where it contradicts the question."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from grounding.amounts import plain_figures, stated
from grounding.comparisons import (
    asks_for_difference,
    asks_for_least,
    asks_for_next,
    asks_for_total,
    asks_how_many,
    asks_which,
    counted_things,
    names_alternatives,
    names_figure,
    needs_all_rows,
)
from grounding.dates import YEAR
from grounding.language import ENGLISH, language_of, languages_of
from grounding.numerals import figures_in_full, in_digits
from grounding.stems import plain_figure, stems
from retrieval.table_query import NAME, QueryError, QueryResult, only_rows, parsed, run_query
from retrieval.tables import Table

WORD = re.compile(r"[^\W_]+")
SUBQUERY = re.compile(r"\(\s*SELECT\b[^()]*(?:\([^()]*\)[^()]*)*\)", re.IGNORECASE)
TEXT = re.compile(r"'((?:[^']|'')*)'")
BEGINNING = 3  # letters by which two words are taken for one: Italian, Italy
WHAT_IS_ASKED = re.compile(r"SELECT (\w+) FROM \w+ WHERE (?:.+ AND )?\1 =")  # a figure that the question states
ORDERED = re.compile(r"\b(?:ORDER BY |MAX\(|MIN\()(\w+)")
BEFORE_FIGURE = re.compile(r"\s+(?:\(|(?:[^\W\d]+ )?\d).*")  # names do without: Seniors from 67, Juniors (4 to 12)
NEXT = re.compile(r"\bLIMIT \d+ OFFSET\b", re.IGNORECASE)
COMPARED_FIGURE = re.compile(r"(?:[<>=]|\bBETWEEN|\bAND)\s*(\d+(?:\.\d+)?)\b", re.IGNORECASE)
NOTHING = re.compile(r"\D*0\D*")
ORDERED_ALL = re.compile(r"\bORDER BY (?:(?!LIMIT)[^();])+$")
GREATEST = re.compile(r"\bDESC(?=(?:\s+LIMIT\s+1)?$)")
COUNT = re.compile(r"\bCOUNT\(\*\)", re.IGNORECASE)
OF_ALL = re.compile(r"SELECT COUNT\(\*\)(?: AS \w+)? FROM \w+(?: WHERE NOT \w+ IS NULL)?")
QUOTE = "'"


class Named(NamedTuple):
    """The text cells of a table that a question names, each with the key of its column; ``rest`` is the other words."""

    cells: dict[str, str]
    rest: str

    @property
    def are_compared(self) -> bool:
        """Whether two of the cells are in one column, as in "Which is older, A or B?"."""
        return len(set(self.cells.values())) < len(self.cells)

    @property
    def compared_by(self) -> str:
        """The key of the column that has most of the cells."""
        return Counter(self.cells.values()).most_common(1)[0][0]


def hint(table: Table, question: str, named: Named) -> str:
    """Write a hint for the next query: how to compute or compare the rows, or which columns the question names."""
    if not named.are_compared:
        keys = named_columns(table, question)
        return f"The question speaks of {', '.join(keys)}." if keys else ""
    if computed := of_figure(figure_of(table, question, "") or "X", question, named):
        figures = ", ".join(one.key for one in table.columns if one.kind == "number")
        return f"Write {computed}, where X is one of {figures}."
    return f"Begin with {_of_compared(named, named.compared_by)} ORDER BY, and the figure asked for."


def figure_of(table: Table, question: str, query: str) -> str:
    """Return the key of the number column that the question names best; among equals, the only one in the query.

    "" if no single column is left, or the query computes a mean.
    """
    outside, asked = TEXT.sub("", query.casefold()), beginnings(question)
    shared = {one.key: len(beginnings(one.name) & asked) for one in table.columns if one.kind == "number"}
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
        return _of_compared(named, f"MAX({figure}) - MIN({figure})") if is_of_two else ""
    return _of_compared(named, f"SUM({figure})") if asks_for_total(question) or asks_how_many(question) else ""


def _of_compared(named: Named, shown: str) -> str:
    key = named.compared_by
    texts = ", ".join(f"'{cell.replace(QUOTE, QUOTE * 2)}'" for cell, of in named.cells.items() if of == key)
    return f"SELECT {shown} FROM {NAME} WHERE {key} IN ({texts})"  # noqa: S608 - it is parsed before it is run


def tried(table: Table, query: str, question: str, named: Named) -> tuple[str, QueryResult]:
    """Return the query, corrected where the question tells how, and its result.

    Raises `QueryError` if the query fails, or its result cannot be what the question asks for.
    """
    query = of_named_rows(table, named.cells, of_counted(table, question, query))
    if figure := figure_of(table, question, query):
        query = of_figure(figure, question, named) or query
    if asks_for_least(question):
        query = GREATEST.sub("ASC", query)
    if named.are_compared and names_alternatives(question) and ORDERED_ALL.search(query):
        query += " LIMIT 1"
    if asks_for_next(question):
        query = NEXT.sub("LIMIT 1 OFFSET", query)
    found = run_query(table, parsed(query, table))
    problem = missing_from_query(table, named, query) or added(question, query, *implied_cells(table, question))
    problem = problem or other_figures(question, query) or other_kind(table, question, found)
    if problem := problem or counted_names(table, named, query) or not_compared(table, question, found, named):
        raise QueryError(problem)
    return query, found


def cells_named_by(table: Table, question: str) -> Named:
    """Find the text cells that the question names: "Seniors from 67" also as "Seniors", unless that fits two cells."""
    asked, named = question.casefold(), {}
    texts = [(index, one.key) for index, one in enumerate(table.columns) if one.kind == "text"]
    cells = {cell: key for row in table.cells for index, key in texts if (cell := row[index])}
    shorter = Counter(BEFORE_FIGURE.sub("", cell) for cell in cells)
    for cell in sorted(cells, key=len, reverse=True):
        short = BEFORE_FIGURE.sub("", cell)
        name = (short if shorter[short] == 1 else cell).casefold()
        place = re.search(rf"(?<!\w){re.escape(name)}(?:e?s)?(?!\w)", asked) if name in asked else None
        if place:
            asked = asked[: place.start()] + " " * len(place[0]) + asked[place.end() :]
            named[cell] = cells[cell]
    return Named(named, asked)


def implied_cells(table: Table, question: str) -> Iterator[str]:
    """Yield the cells of each column that the question names and that has just two values, such as yes and no."""
    asked = beginnings(question)
    for index, column in enumerate(table.columns):
        if column.kind == "text" and len(cells := table.frequent_cells(index)) == 2 and beginnings(column.name) & asked:
            yield from cells


def missing_from_query(table: Table, named: Named, query: str) -> str:
    """Say which cells and figures of the question the query lacks, apart from figures in the table's titles."""
    missing = [cell for cell in named.cells if _misses(query, cell)]
    titles = (str(table.passages[0].metadata.get(one, "")) for one in ("source", "title", "heading"))
    others = languages_of([named.rest]) - ENGLISH
    rest = figures_in_full(named.rest, others) if others else named.rest  # 1.000 is a thousand in German
    missing += sorted(plain_figures(rest) - plain_figures(" ".join((query, *titles))))
    return f"It leaves out {', '.join(missing)}, which the question names." if missing else ""


def _misses(query: str, cell: str) -> bool:
    return cell.casefold() not in query.casefold().replace("''", "'")


def of_named_rows(table: Table, cells: Mapping[str, str], query: str) -> str:
    """Restrict the query to the rows that the question names, if it names several by one column.

    For "Which is older, A or B?" models query all rows, or those older than A. Raises `QueryError` if it is no SELECT.
    """
    missing: dict[str, list[str]] = {}
    outer = SUBQUERY.sub("", query)
    for cell, key in cells.items():
        if _misses(outer, cell):
            missing.setdefault(key, []).append(cell)
    several = [(key, named) for key, named in missing.items() if len(named) > 1]
    return only_rows(parsed(query, table), *several[0]) if len(several) == 1 else query


def of_counted(table: Table, question: str, query: str) -> str:
    """Return the query with its count of rows made a sum, or a count of distinct cells, if "how many" asks for one."""
    if not asks_how_many(question):
        return query
    used, things = query.casefold(), named_columns(table, counted_things(question))
    figures = [one.key for one in table.columns if one.kind == "number"]
    named = [key for key in named_columns(table, question) if key in figures]
    if named and not any(key in used for key in figures):
        return COUNT.sub(f"SUM({named[0]})", query)
    if things and things[0] not in used and table.repeats(things[0]):
        return COUNT.sub(f"COUNT(DISTINCT {things[0]})", query)
    return query


def named_columns(table: Table, question: str) -> list[str]:
    """Return the keys of the columns whose names, without brackets, the question has."""
    asked = stems(question)
    return [one.key for one in table.columns if (own := stems(one.name.partition("(")[0])) and own <= asked]


def added(question: str, query: str, *implied: str) -> str:
    """Say which text of the query the question and ``implied`` lack; words are checked in English questions only."""
    asked = {word[:BEGINNING] for word in WORD.findall(question.casefold())}
    figures = {int(one) for one in stems(question) | plain_figures(question) if one.isdecimal()}
    for text in TEXT.findall(query):
        words = WORD.findall(text.casefold())
        if all(map(str.isdecimal, words)):  # a time, or a date of which the question may name the year alone
            near = [any(abs(int(word) - one) <= 1 for one in figures) for word in words if int(word)]
            known = all(near) if ":" in text else any(near)
        else:
            words = [word for word in words if len(word) >= BEGINNING and language_of(question) == "en"]
            known = any(word.isdecimal() or word[:BEGINNING] in asked for word in words)
        if words and not known and text not in implied:
            return f"It compares with {text!r}, which the question does not name."
    return ""


def other_figures(question: str, query: str) -> str:
    """Say which figure that the query compares with is not in the question; 0, 1 and years are allowed."""
    known = stated(question) | plain_figures(in_digits(question, languages_of([question]))) | {"0", "1"}
    figures = [plain_figure(one) for one in COMPARED_FIGURE.findall(TEXT.sub("", query))]
    other = [one for one in figures if one not in known and not YEAR.fullmatch(one)]
    return f"It compares with {other[0]}, which the question does not name." if other else ""


def other_kind(table: Table, question: str, found: QueryResult) -> str:
    """Say how the result differs in kind from what the question asks for."""
    counts = asks_how_many(question) and (len(found.rows) > 1 or WHAT_IS_ASKED.match(found.sql))
    if not found.is_computed and (counts or (asks_for_total(question) and not asks_which(question))):
        return "It gives rows, where the question asks for a number: use COUNT or SUM."
    if found.is_figure and asks_which(question):
        return "It gives a number, where the question asks which one it is."
    if asks_for_difference(question) and ("-" not in found.sql or all(map(NOTHING.fullmatch, found.result))):
        return "It gives no difference."
    if asks_for_next(question) and "OFFSET" not in found.sql:
        return "It gives the first, where the question asks for a later one: add OFFSET."
    if OF_ALL.fullmatch(found.sql) and language_of(question) != "zh":
        things = counted_things(question)
        if not beginnings(things) & beginnings(table.title, *(one.name for one in table.columns)):
            return f"It counts all rows, which are no {things}."
    return ""


def counted_names(table: Table, named: Named, query: str) -> str:
    """Say if a query counts rows that the question or the query names one by one, such as the mallards among birds."""
    labels = [one.key for one in table.columns if one.kind != "number"][:1]
    compared = [key for key in labels if re.search(rf"\b{key} = '", query)]
    if COUNT.search(query) and not all(map(table.repeats, [*compared, *named.cells.values()])):
        return "It counts rows that the question names: show, or add up, a figure of them."
    return ""


def beginnings(*texts: str) -> set[str]:
    """Return the first four letters of each word that has four or more, so that weight and weigh match."""
    return {word[: BEGINNING + 1] for text in texts for word in WORD.findall(text.casefold()) if len(word) > BEGINNING}


def not_compared(table: Table, question: str, found: QueryResult, named: Named) -> str:
    """Say why a query over rows that the question names does not compare them as the question asks."""
    if not named.are_compared or found.is_computed:
        return ""
    asks_for_one = needs_all_rows(question) or names_alternatives(question) or asks_which(question)
    if len(found.rows) == 1 and not asks_for_one:
        return "It gives one of those that the question names, where it asks for none of them alone."
    ordered = ORDERED.search(found.sql)
    if not ordered:
        several = names_alternatives(question) and len(found.rows) > 1
        return "It orders nothing, where one of several is asked for." if several else ""
    for index, column in enumerate(table.columns):
        if column.key != ordered[1]:
            continue
        if names_figure(question) and not stems(column.name) & stems(question):
            return f"It compares by {column.key}, of which the question does not speak."
        rows = zip(table.cells, table.values, strict=True)
        if any(values[index] is None for cells, values in rows if not named.cells.keys().isdisjoint(cells)):
            return f"Not all that it compares have {column.key}."
    return ""
