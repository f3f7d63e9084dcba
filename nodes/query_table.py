"""Answer from a table by one SELECT over all of its rows, which the model writes and the critic judges."""

import asyncio
import re
from typing import Any, cast

from langgraph.runtime import Runtime

from core.passages import is_narrowed
from core.text import shortened
from core.types import Claim, Draft, Queried, Quote, TableFound, Verdict
from grounding.capitals import names
from grounding.comparisons import filters, names_alternatives, needs_all_rows
from grounding.language import is_english
from grounding.names import lexicon_of
from nodes.finish import wording_of
from nodes.found_passages import as_passage, each_once, identity_of
from nodes.named_cells import Named, cells_named_by
from nodes.query_checks import hint, tried
from nodes.unnamed import SEARCHED, in_document
from prompts.delimiters import as_data
from prompts.query_table import FITS, MAX_TOKENS, NO_QUERY, QUERY_TABLE, REQUERY_TABLE
from retrieval.named_documents import stated, without_name
from retrieval.table_columns import figure_text
from retrieval.table_query import QueryError, QueryResult
from retrieval.tables import Table
from run.context import Context, Services
from run.prefetch import PrefetchingRetriever
from run.state import SelfRAGState, standalone_question

MOST_READ = 100  # passages of the table, before its document is searched for a name
MOST_CITED = 10  # rows
DISTINCT = 12  # values of a column that are all named to the model
EXAMPLES = 3  # cells of a column that has too many to name
LONGEST_SHOWN = 60  # characters of a cell
TOO_MANY = "The files with its columns have too many rows together: name one of them."
NO_WORD = re.compile(r"[\W\d_]+")
JOINED = re.compile(r"\b(SELECT|FROM|WHERE|BY)(?=[^\W\dA-Z])")  # as the embedded model writes before umlauts
FENCE = re.compile(r"```(?:sql)?|```", re.IGNORECASE)


async def query_table(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Draft the result of the query: each row of the result is a claim, with the table's rows behind it as quotes.

    Without a good query the passages are graded instead. A question that counts, adds up or compares is not answered
    from some of the rows: the rows are left out or, if a row is the best passage, the run ends.
    """
    question, within = standalone_question(state), cast("TableFound", state["table"])
    retriever = cast("PrefetchingRetriever", services.retriever)
    table = await retriever.table_of(within["source"], within["number"])
    if table is None:
        return {"table": None, "decided": {"query": None, "accepted": False}}
    every = await retriever.joined_table(table, question, runtime.context.filter)
    table = every or table
    described = as_data(await asyncio.to_thread(description, table, question))
    named = await asyncio.to_thread(cells_named_by, table, question)
    query, found, why = "", None, await _other_subject(question, table, services) if every else TOO_MANY
    if not why:
        query, found, why = await _write_query(table, described, question, named, services)
    verdict = None
    if found:
        verdict = await services.critic.choose(FITS, table=described, question=as_data(question), query=as_data(query))
        verdict = FITS.apply_threshold(verdict, runtime.context.effective_thresholds.fits)
    result = found.result if found else None
    decided: dict[str, Any] = {"query": query, "result": result, "failed": why, "verdict": verdict, "accepted": False}
    if not found or not verdict or not FITS.is_positive(verdict):
        compares = named.are_compared or (names_alternatives(question) and filters(question))
        needs_table = compares or needs_all_rows(question) or (found and found.is_computed)
        if not needs_table or any(map(is_narrowed, state["passages"])):
            return {"table": None, "decided": decided}
        rows = {identity_of(one) for one in table.passages}
        if state["passages"][0]["id"] in rows:  # the table is what the question is about
            return {"table": within, "decided": decided}
        read = {key: [one for one in state[key] if one["id"] not in rows] for key in ("passages", "found")}
        return {"table": None, **read, "decided": decided}
    return _draft_update(table, found, verdict, state) | {"decided": decided | {"accepted": True}}


async def _other_subject(question: str, table: Table, services: Services) -> str:
    """Return why a table is not asked: its document lacks a name of the question that another one has; else "".

    It is asked if the question names its file.
    """
    if any(without_name(question, source) != question for source in table.sources):
        return ""
    asked = dict.fromkeys(one.text for one in names(question) if not one.opens) if is_english(question) else {}
    known = await asyncio.to_thread(lexicon_of, "\n".join(map(stated, table.passages[:MOST_READ])))
    for name in asked:
        if not known.has(name) and (table.file_key or not await in_document([name], table.source, services)):
            found = await services.retriever.ainvoke(name, k=SEARCHED)
            having = {one.metadata.get("source") for one in found if lexicon_of(stated(one)).has(name)}
            if having and having.isdisjoint(table.sources):
                return f"Of the documents that name {name!r} none holds the table."
    return ""


async def _write_query(
    table: Table, described: str, question: str, named: Named, services: Services
) -> tuple[str, QueryResult | None, str]:
    """Let the model write a query, again if it fails. Return it, its result or None, and why it failed."""
    query = why = ""
    for prompt in (QUERY_TABLE, REQUERY_TABLE):
        given: dict[str, Any] = {"table": described, "question": as_data(question)}
        if query:
            given |= {"query": as_data(query), "error": as_data(why)}
        text = await services.generator.write(prompt, max_tokens=MAX_TOKENS, hidden=True, **given)
        query = JOINED.sub(r"\1 ", FENCE.sub("", text).strip("; \n"))
        if query.casefold().strip(".") == NO_QUERY:
            return query, None, why
        try:
            return *await asyncio.to_thread(tried, table, query, question, named), ""
        except QueryError as error:
            why = f"{error} {hint(table, question, named)}".strip()
    return query, None, why


def description(table: Table, question: str) -> str:
    """Describe a table to the model: its columns with their range or some cells, those in the question first."""
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


def _draft_update(table: Table, found: QueryResult, verdict: Verdict, state: SelfRAGState) -> dict[str, Any]:
    """Return the state's update with the draft and its claims, as if generated and checked."""
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
    queried = Queried(sql=found.sql, source=table.source, rows=len(table.cells), carried_by=len(found.rows))
    if table.file_key:
        queried["sources"] = list(table.sources)
    return {
        "passages": each_once([*state["passages"], *passages]),
        "found": each_once([*state["found"], *passages]),
        "verdicts": {**state["verdicts"], **{one["id"]: relevant for one in passages}},
        "relevant": [one["id"] for one in passages],
        "drafts": [Draft(text=text, passages=passages, relevance=1.0, declined=False)],
        "claims": [claims],
        "uses": [],
        "queried": queried,
    }
