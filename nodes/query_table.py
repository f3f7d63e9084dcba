"""Answer from a table by one SELECT over all of its rows, which the model writes and the critic judges."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from langgraph.runtime import Runtime

from core.text import shortened
from core.types import Claim, Draft, Queried, Quote, TableFound, Verdict
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
    names_figure,
    needs_all_rows,
)
from grounding.language import language_of
from grounding.stems import stems
from nodes.finish import wording_of
from nodes.retrieve import as_passage, each_once, identity_of
from prompts.delimiters import as_data
from prompts.query_table import FITS, MAX_TOKENS, NO_QUERY, QUERY_TABLE, REQUERY_TABLE
from retrieval.tables import DISTINCT, NAME, Found, QueryError, Table, figure_text, only_rows, parsed, run
from run.context import Context, Services
from run.prefetch import PrefetchingRetriever
from run.state import SelfRAGState, standalone_question

MOST_CITED = 10  # rows
EXAMPLES = 3  # cells of a column that has too many to name
LONGEST_SHOWN = 60  # characters of a cell
NO_WORD = re.compile(r"[\W\d_]+")
WORD = re.compile(r"[^\W_]+")
SUBQUERY = re.compile(r"\(\s*SELECT\b[^()]*(?:\([^()]*\)[^()]*)*\)", re.IGNORECASE)
TEXT = re.compile(r"'((?:[^']|'')*)'")
BEGINNING = 3  # letters by which two words are taken for one: Italian, Italy
WHAT_IS_ASKED = re.compile(r"SELECT (\w+) FROM \w+ WHERE (?:.+ AND )?\1 =")  # a figure that the question says
BARE_NUMBER = re.compile(r"[-\d.e]+")
ORDERED = re.compile(r"\b(?:ORDER BY |MAX\(|MIN\()(\w+)")
ORDERED_ALL = re.compile(r"\bORDER BY (?:(?!LIMIT)[^();])+$")
GREATEST = re.compile(r"\bDESC(?=(?: LIMIT 1)?;?$)")
COUNT = re.compile(r"\bCOUNT\(\*\)", re.IGNORECASE)
OF_ALL = re.compile(r"SELECT COUNT\(\*\)(?: AS \w+)? FROM \w+")
QUOTE = "'"
FENCE = re.compile(r"```(?:sql)?|```", re.IGNORECASE)


class Named(NamedTuple):
    """The texts of a table that a question names, with the key of their column, and the question's other words."""

    cells: dict[str, str]
    rest: str

    @property
    def are_compared(self) -> bool:
        """Whether two of the texts are of one column, as in "Which is older, A or B?"."""
        return len(set(self.cells.values())) < len(self.cells)

    def compared(self) -> str:
        """Say how the texts of one column are compared; empty where none are."""
        if not self.are_compared:
            return ""
        key = Counter(self.cells.values()).most_common(1)[0][0]
        texts = ", ".join(f"'{cell.replace(QUOTE, QUOTE * 2)}'" for cell, of in self.cells.items() if of == key)
        select = f"SELECT {key} FROM {NAME} WHERE {key} IN ({texts})"  # noqa: S608 - the model reads it, nothing runs it
        return f"Begin with {select} ORDER BY, and the figure asked for."


async def query_table(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Draft the result of the query, each row of it a claim with the rows of the table that carry it.

    Where there is no such query, the passages that were found are graded instead; but no rows for a question that
    counts, adds up or compares rows which it names: only all rows answer it, or a comparison that the model gets wrong.
    """
    question, within = standalone_question(state), cast("TableFound", state["table"])
    table = await cast("PrefetchingRetriever", services.retriever).table_of(within["source"], within["number"])
    if table is None:
        return {"table": None, "decided": {"query": None, "accepted": False}}
    described = as_data(await asyncio.to_thread(description, table, question))
    named = await asyncio.to_thread(named_cells, table, question)
    query, found, why = await _found(table, described, question, named, services)
    verdict = None
    if found:
        verdict = await services.critic.choose(FITS, table=described, question=as_data(question), query=as_data(query))
        verdict = FITS.apply_threshold(verdict, runtime.context.effective_thresholds.fits)
    result = found.result if found else None
    decided: dict[str, Any] = {"query": query, "result": result, "failed": why, "verdict": verdict, "accepted": False}
    if not found or not verdict or not FITS.is_positive(verdict):
        if not named.are_compared and not needs_all_rows(question) and not (found and found.is_computed):
            return {"table": None, "decided": decided}
        rows, passages = {identity_of(one) for one in table.passages}, state["passages"]
        if passages[0]["id"] in rows:  # the table is what the question is about
            return {"table": within, "decided": decided}
        return {"table": None, "passages": [one for one in passages if one["id"] not in rows], "decided": decided}
    return _drafted(table, found, verdict, state) | {"decided": decided | {"accepted": True}}


async def _found(
    table: Table, described: str, question: str, named: Named, services: Services
) -> tuple[str, Found | None, str]:
    """Return the query, what it finds, and why it finds nothing; one that fails is written once more."""
    query = why = ""
    for prompt in (QUERY_TABLE, REQUERY_TABLE):
        given: dict[str, Any] = {"table": described, "question": as_data(question)}
        if query:
            given |= {"query": as_data(query), "error": as_data(why)}
        text = await services.generator.write(prompt, max_tokens=MAX_TOKENS, hidden=True, **given)
        query = FENCE.sub("", text).strip()
        if query.casefold().strip(".") == NO_QUERY:
            return query, None, why
        try:
            return *await asyncio.to_thread(tried, table, query, question, named), ""
        except QueryError as error:
            why = " ".join(filter(None, (str(error), named.compared() or named_columns(table, question))))
    return query, None, why


def tried(table: Table, query: str, question: str, named: Named) -> tuple[str, Found]:
    """Return the query, perhaps of fewer rows, and what it finds.

    Raises `QueryError` also where that cannot be what the question asks for.
    """
    query = of_named_rows(table, named.cells, of_counted(table, question, query))
    if asks_for_least(question):
        query = GREATEST.sub("ASC", query)
    if named.are_compared and names_alternatives(question) and ORDERED_ALL.search(query):
        query += " LIMIT 1"
    found = run(table, parsed(query, table))
    if problem := left_out(*named, query) or added(question, query) or other_kind(table, question, found):
        raise QueryError(problem)
    if named.are_compared and not found.is_computed and (problem := not_compared(table, question, found)):
        raise QueryError(problem)
    return query, found


def description(table: Table, question: str) -> str:
    """Return what the model reads of a table: its columns with their range, or cells, first those that are asked of."""
    title = NO_WORD.sub(" ", shortened(table.title, LONGEST_SHOWN)).strip()
    lines = [f"data ({len(table.cells)} rows; {title})"]
    asked = question.casefold()
    for index, column in enumerate(table.columns):
        is_plain = column.name.casefold() in (column.key, "")
        named = "" if is_plain else f", named {shortened(column.name, LONGEST_SHOWN)!r}"
        if column.kind == "text":
            common = table.frequent_cells(index)
            if len(common) > DISTINCT:
                common = sorted(common, key=lambda cell: cell.casefold() not in asked)[:EXAMPLES]
            values = ", ".join(repr(shortened(cell, LONGEST_SHOWN)) for cell in common)
        else:
            given = [row[index] for row in table.values if row[index] is not None]
            values = f"{figure_text(min(given))} to {figure_text(max(given))}"
        lines.append(f"{column.key} ({column.kind}{named}): {values}")
    return "\n".join(lines)


def left_out(cells: Iterable[str], rest: str, query: str) -> str:
    """Say what the question names and the query does not: cells of the table, and figures of its other words."""
    missing = [cell for cell in cells if _misses(query, cell)]
    missing += sorted(plain_figures(rest) - plain_figures(query))
    return f"It leaves out {', '.join(missing)}, which the question names." if missing else ""


def named_cells(table: Table, question: str) -> Named:
    """Find the texts of the table that the question names."""
    asked, named = question.casefold(), {}
    texts = [(index, one.key) for index, one in enumerate(table.columns) if one.kind == "text"]
    cells = {cell: key for row in table.cells for index, key in texts if (cell := row[index])}
    for cell in sorted(cells, key=len, reverse=True):
        place = re.search(rf"(?<!\w){re.escape(cell.casefold())}(?!\w)", asked) if cell.casefold() in asked else None
        if place:
            asked = asked[: place.start()] + " " * len(cell) + asked[place.end() :]
            named[cell] = cells[cell]
    return Named(named, asked)


def _misses(query: str, cell: str) -> bool:
    return cell.casefold() not in query.casefold().replace("''", "'")


def of_named_rows(table: Table, cells: Mapping[str, str], query: str) -> str:
    """Return the query of those rows alone that the question names, where it names several by one column.

    "Which is older, A or B?" is written as if it were asked of all rows, or of those older than A. Raises `QueryError`.
    """
    missing: dict[str, list[str]] = {}
    outer = SUBQUERY.sub("", query)
    for cell, key in cells.items():
        if _misses(outer, cell):
            missing.setdefault(key, []).append(cell)
    several = [(key, named) for key, named in missing.items() if len(named) > 1]
    return only_rows(parsed(query, table), *several[0]) if len(several) == 1 else query


def added(question: str, query: str) -> str:
    """Say which text the query compares with that an English question does not name."""
    if language_of(question) != "en":
        return ""
    asked = {word[:BEGINNING] for word in WORD.findall(question.casefold())}
    for text in TEXT.findall(query):
        words = [word for word in WORD.findall(text.casefold()) if len(word) >= BEGINNING]
        if words and not any(word.isdecimal() or word[:BEGINNING] in asked for word in words):
            return f"It compares with {text!r}, which the question does not name."
    return ""


def other_kind(table: Table, question: str, found: Found) -> str:
    """Say how the result differs in kind from what the question asks for."""
    counts = asks_how_many(question) and (len(found.rows) > 1 or WHAT_IS_ASKED.match(found.sql))
    if not found.is_computed and (asks_for_total(question) or counts):
        return "It gives rows, where the question asks for a number: use COUNT or SUM."
    if found.is_computed and asks_which(question) and all(map(BARE_NUMBER.fullmatch, found.result)):
        return "It gives a number, where the question asks which one it is."
    if asks_for_difference(question) and "-" not in found.sql:
        return "It gives no difference."
    if asks_for_next(question) and "OFFSET" not in found.sql:
        return "It gives the first, where the question asks for a later one: add OFFSET."
    known = stems(" ".join([table.title, *(one.name for one in table.columns)]))
    if OF_ALL.fullmatch(found.sql) and language_of(question) == "en" and not stems(counted_things(question)) & known:
        return f"It counts all rows, which are no {counted_things(question)}."
    return ""


def of_counted(table: Table, question: str, query: str) -> str:
    """Return a query that counts rows as one that counts, or adds up, what the question asks how many there are."""
    if not asks_how_many(question):
        return query
    asked, things, used = stems(question), stems(counted_things(question)), query.casefold()
    figures = [one for one in table.columns if one.kind == "number"]
    named = [one.key for one in figures if (own := stems(one.name.partition("(")[0])) and own <= asked]
    if named and not any(one.key in used for one in figures):
        return COUNT.sub(f"SUM({named[0]})", query)
    counted = [index for index, one in enumerate(table.columns) if (own := stems(one.name)) and own <= things]
    if counted and (key := table.columns[counted[0]].key) not in used and table.repeats(counted[0]):
        return COUNT.sub(f"COUNT(DISTINCT {key})", query)
    return query


def named_columns(table: Table, question: str) -> str:
    """Say which columns the question names; empty where it names none."""
    asked = stems(question)
    keys = [one.key for one in table.columns if (own := stems(one.name.partition("(")[0])) and own <= asked]
    return f"The question speaks of {', '.join(keys)}." if keys else ""


def not_compared(table: Table, question: str, found: Found) -> str:
    """Say how a query of rows that the question names fails to compare them by the figure that it asks for."""
    ordered = ORDERED.search(found.sql)
    if not ordered:
        several = names_alternatives(question) and len(found.rows) > 1
        return "It orders nothing, where one of several is asked for." if several else ""
    by = [stems(one.name) for one in table.columns if one.key == ordered[1]]
    if names_figure(question) and by and not by[0] & stems(question):
        return f"It compares by {ordered[1]}, of which the question does not speak."
    return ""


def _drafted(table: Table, found: Found, verdict: Verdict, state: SelfRAGState) -> dict[str, Any]:
    """Return the draft with its claims, as if generated and checked."""
    numbers = found.rows[:MOST_CITED] if found.is_computed else found.rows[: len(found.result)]
    rows = [as_passage(table.passages[number]) for number in numbers]
    spans = map(table.span, numbers)
    quotes = [Quote(passage=row["id"], start=start, end=end) for row, (start, end) in zip(rows, spans, strict=True)]
    p = FITS.score(verdict)
    shares = {"fully supported": p, "partially supported": 0.0, "no support": 1 - p}
    judged = Verdict(label="fully supported", probabilities=shares if verdict["probabilities"] else None, reason=None)
    if found.is_computed:
        text = "\n".join(found.result)
        claims = [Claim(text=text, verdict=judged, quote=quotes[0], row_quotes=quotes[1:])]
    else:
        each = dict(zip(found.result, quotes, strict=True))
        claims = [Claim(text=line, verdict=judged, quote=quote) for line, quote in each.items()]
        text = "\n".join(f"- {line}" for line in each) if len(each) > 1 else found.result[0]
        if (more := len(found.rows) - len(numbers)) > 0:
            text += f"\n- {wording_of(state['question']).more.format(count=more)}"
    notes = [(as_passage(one), start, end) for one, start, end in table.notes_on(numbers, found.sql)]
    if notes:
        claims[0]["conditions"] = [Quote(passage=one["id"], start=start, end=end) for one, start, end in notes]
    passages = each_once([*rows, *(one for one, _, _ in notes)])
    relevant = Verdict(label="relevant", probabilities=None, reason="The result of the query rests on it.")
    return {
        "passages": each_once([*state["passages"], *passages]),
        "found": each_once([*state["found"], *passages]),
        "verdicts": {**state["verdicts"], **{one["id"]: relevant for one in passages}},
        "relevant": [one["id"] for one in passages],
        "drafts": [Draft(text=text, passages=passages, relevance=1.0, declined=False)],
        "claims": [claims],
        "uses": [],
        "queried": Queried(sql=found.sql, source=table.source, rows=len(table.cells), carried_by=len(found.rows)),
    }
