"""Correct or refuse a SELECT that a model wrote over a table, where it contradicts the question."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from core.words import STOP_WORDS
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
from grounding.dates import YEAR, dates, months
from grounding.language import ENGLISH, language_of, languages_of
from grounding.numerals import figures_in_full, in_digits
from grounding.stems import plain_figure, stems
from retrieval.table_query import NAME, QueryError, QueryResult, by_group, only_rows, only_where, parsed, run_query
from retrieval.tables import BEFORE_FIGURE, Table

WORD = re.compile(r"[^\W_]+")
SUBQUERY = re.compile(r"\(\s*SELECT\b[^()]*(?:\([^()]*\)[^()]*)*\)", re.IGNORECASE)
TEXT = re.compile(r"'((?:[^']|'')*)'")
BEGINNING = 3  # letters by which two words are taken for one: Italian, Italy
WHAT_IS_ASKED = re.compile(r"SELECT (\w+) FROM \w+ WHERE (?:.+ AND )?\1 =")  # a figure that the question states
ORDERED = re.compile(r"\b(?:ORDER BY |MAX\(|MIN\()(\w+)")
NEXT = re.compile(r"\bLIMIT \d+ OFFSET\b", re.IGNORECASE)
COMPARED_FIGURE = re.compile(r"(?:[<>=]|\bBETWEEN|\bAND)\s*(\d+(?:\.\d+)?)\b", re.IGNORECASE)
NOTHING = re.compile(r"\D*0\D*")
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
OF_ALL = re.compile(r"SELECT COUNT\(\*\)(?: AS \w+)? FROM \w+(?: WHERE NOT \w+ IS NULL)?")
QUOTE = "'"


class Named(NamedTuple):
    """The text cells of a table that a question names, each with the key of its column; ``rest`` is the other words.

    Those in ``unclear`` are in several columns: a winner may be a loser elsewhere.
    """

    cells: dict[str, str]
    rest: str
    unclear: frozenset[str] = frozenset()

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
        rows = [f"rows with {key} = {_quoted(cell)}" for cell, key in named.cells.items() if cell not in named.unclear]
        spoken = [*named_columns(table, question), *rows]
        return f"The question speaks of {', '.join(spoken)}." if spoken else ""
    if computed := of_figure(figure_of(table, question, "") or "X", question, named):
        figures = ", ".join(one.key for one in table.columns if one.kind == "number")
        return f"Write {computed}, where X is one of {figures}."
    return f"Begin with {_of_compared(named, named.compared_by)} ORDER BY, and the figure asked for."


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
        return _of_compared(named, f"MAX({figure}) - MIN({figure})") if is_of_two else ""
    return _of_compared(named, f"SUM({figure})") if asks_for_total(question) or asks_how_many(question) else ""


def _of_compared(named: Named, shown: str) -> str:
    keys = sorted(set(named.cells.values()), key=lambda key: key != named.compared_by)
    listed = {key: ", ".join(map(_quoted, (cell for cell, of in named.cells.items() if of == key))) for key in keys}
    conditions = " AND ".join(f"{key} IN ({texts})" for key, texts in listed.items())
    return f"SELECT {shown} FROM {NAME} WHERE {conditions}"  # noqa: S608 - it is parsed before it is run


def _quoted(cell: str) -> str:
    return f"'{cell.replace(QUOTE, QUOTE * 2)}'"


def tried(table: Table, query: str, question: str, named: Named) -> tuple[str, QueryResult]:
    """Return the query, corrected where the question tells how, and its result.

    Raises `QueryError` if the query fails, or its result cannot be what the question asks for.
    """
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
        if place and ((name not in STOP_WORDS and len(name) > 1) or question[slice(*place.span())] in (cell, short)):
            asked = asked[: place.start()] + " " * len(place[0]) + asked[place.end() :]
            named[cell] = cells[cell]
    files = [cell for cell, key in named.items() if key == table.file_key]
    if len(files) < len(table.sources):  # from 1990 to 1994: the table has no other years
        named = {cell: key for cell, key in named.items() if cell not in files}
    having = Counter(chain.from_iterable({row[index] for row in table.cells} for index, _ in texts))
    return Named(named, asked, frozenset(cell for cell in named if having[cell] > 1))


def implied_cells(table: Table, question: str) -> Iterator[str]:
    """Yield the cells of each column that the question names and that has just two values, such as yes and no."""
    asked = beginnings(question)
    for index, column in enumerate(table.columns):
        if column.kind == "text" and len(cells := table.frequent_cells(index)) == 2 and beginnings(column.name) & asked:
            yield from cells


def missing_from_query(table: Table, named: Named, query: str) -> str:
    """Say which cells and figures of the question the query lacks, apart from figures in the table's titles."""
    missing = [cell for cell in named.cells if _misses(query, cell)]
    others = languages_of([named.rest]) - ENGLISH
    rest = figures_in_full(named.rest, others) if others else named.rest  # 1.000 is a thousand in German
    missing += sorted(one for one in plain_figures(rest) if not _is_known(one, table, query))
    return f"It leaves out {', '.join(missing)}, which the question names." if missing else ""


def _misses(query: str, cell: str) -> bool:
    return cell.casefold() not in query.casefold().replace("''", "'")


def of_named_rows(table: Table, named: Named, query: str) -> str:
    """Restrict the query to the rows that the question names, by each column that the query leaves out.

    If it names several by one column, also by that column: for "Which is older, A or B?" models query all rows, or
    those older than A. Raises `QueryError` if it is no SELECT.
    """
    missing: dict[str, list[str]] = {}
    outer = SUBQUERY.sub("", query)
    for cell, key in named.cells.items():
        if _misses(outer, cell):
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
    if len(keys) != 1 or not year or keys[0] in query.casefold() or _is_known(year, table, query):
        return query
    only = next(iter(stated)) if stated else None
    day = f"{only.day:02}" if only and only.day else "%"
    period = f"{year}-{only.month:02}-{day}" if only else f"{year}-%"
    return only_where(parsed(query, table), f"{keys[0]} LIKE '{period}'")


def _is_known(figure: str, table: Table, query: str) -> bool:
    """Whether the query, the table's titles or its files name a figure, or say how many files there are."""
    titles = [str(table.passages[0].metadata.get(one, "")) for one in ("title", "heading")]
    return figure in plain_figures(" ".join((query, *titles, *table.sources, str(len(table.sources)))))


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


def named_columns(table: Table, question: str) -> list[str]:
    """Return the keys of the columns whose names, without brackets, the question has."""
    asked = stems(question)
    return [one.key for one in table.columns if (own := stems(one.name.partition("(")[0])) and own <= asked]


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
