"""Refuse a SELECT that a model wrote over a table, or its result, where it contradicts the question."""

import re

from grounding.amounts import plain_figures, stated
from grounding.comparisons import (
    asks_for_difference,
    asks_for_next,
    asks_for_total,
    asks_how_many,
    asks_which,
    counted_things,
    names_alternatives,
    names_figure,
    needs_all_rows,
)
from grounding.dates import YEAR, months
from grounding.language import ENGLISH, language_of, languages_of
from grounding.numerals import figures_in_full, in_digits
from grounding.stems import plain_figure, stems
from nodes.named_cells import Named, beginnings, implied_cells, named_columns
from nodes.query_corrections import corrected, figure_of, is_known, misses, of_compared, of_figure, quoted
from retrieval.table_query import QueryError, QueryResult, parsed, run_query
from retrieval.tables import Table

WORD = re.compile(r"[^\W_]+")
TEXT = re.compile(r"'((?:[^']|'')*)'")
BEGINNING = 3  # letters by which two words are taken for one: Italian, Italy
WHAT_IS_ASKED = re.compile(r"SELECT (\w+) FROM \w+ WHERE (?:.+ AND )?\1 =")  # a figure that the question states
ORDERED = re.compile(r"\b(?:ORDER BY |MAX\(|MIN\()(\w+)")
COMPARED_FIGURE = re.compile(r"(?:[<>=]|\bBETWEEN|\bAND)\s*(\d+(?:\.\d+)?)\b", re.IGNORECASE)
NOTHING = re.compile(r"\D*0\D*")
COUNT = re.compile(r"\bCOUNT\(\*\)", re.IGNORECASE)
OF_ALL = re.compile(r"SELECT COUNT\(\*\)(?: AS \w+)? FROM \w+(?: WHERE NOT \w+ IS NULL)?")


def hint(table: Table, question: str, named: Named) -> str:
    """Write a hint for the next query: how to compute or compare the rows, or which columns the question names."""
    if not named.are_compared:
        rows = [f"rows with {key} = {quoted(cell)}" for cell, key in named.cells.items() if cell not in named.unclear]
        spoken = [*named_columns(table, question), *rows]
        return f"The question speaks of {', '.join(spoken)}." if spoken else ""
    if computed := of_figure(figure_of(table, question, "") or "X", question, named):
        figures = ", ".join(one.key for one in table.columns if one.kind == "number")
        return f"Write {computed}, where X is one of {figures}."
    return f"Begin with {of_compared(named, named.compared_by)} ORDER BY, and the figure asked for."


def tried(table: Table, query: str, question: str, named: Named) -> tuple[str, QueryResult]:
    """Return the query, corrected where the question tells how, and its result.

    Raises `QueryError` if the query fails, or its result cannot be what the question asks for.
    """
    query = corrected(table, query, question, named)
    found = run_query(table, parsed(query, table))
    problem = missing_from_query(table, named, query) or added(question, query, *implied_cells(table, question))
    problem = problem or other_figures(question, query) or other_kind(table, question, found)
    if problem := problem or counted_names(table, named, query) or not_compared(table, question, found, named):
        raise QueryError(problem)
    return query, found


def missing_from_query(table: Table, named: Named, query: str) -> str:
    """Say which cells and figures of the question the query lacks, apart from figures in the table's titles."""
    missing = [cell for cell in named.cells if misses(query, cell)]
    others = languages_of([named.rest]) - ENGLISH
    rest = figures_in_full(named.rest, others) if others else named.rest  # 1.000 is a thousand in German
    missing += sorted(one for one in plain_figures(rest) if not is_known(one, table, query))
    return f"It leaves out {', '.join(missing)}, which the question names." if missing else ""


def added(question: str, query: str, *implied: str) -> str:
    """Say which text of the query the question and ``implied`` lack; words are checked in English questions only."""
    asked = {word[:BEGINNING] for word in WORD.findall(question.casefold())}
    figures = {int(one) for one in stems(question) | plain_figures(question) if one.isdecimal()} | months(question)
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
