"""Narrow the passages of a table to the rows that a question names: a small model cannot read one row among many."""

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from core.types import Passage
from grounding.comparisons import needs_all_rows
from grounding.stems import fold, stems
from nodes.found_passages import as_passage, each_once, table_in
from retrieval.documents.loaded import CELLS
from retrieval.named_documents import without_name
from retrieval.tables import Table
from run.prefetch import PrefetchingRetriever

MOST_NAMED = 3  # rows: a question that fits more names none


async def narrowed(
    passages: Sequence[Passage],
    documents: Mapping[str, Document],
    question: str,
    retriever: PrefetchingRetriever,
) -> list[Passage]:
    """Replace the rows of each table by those that the question names, wherever these stand in the document.

    ``documents`` maps the ids of the passages to what was found. A table without a named row stays as it is, as do the
    rows of a CSV file, of which each is a passage.
    """
    table_of = {one["id"]: _table_of(documents[one["id"]]) for one in passages}
    named: dict[tuple[str, int], tuple[Table, list[int]]] = {}
    for key in dict.fromkeys(one for one in table_of.values() if one):
        table = await retriever.table_of(*key)
        rows = await asyncio.to_thread(named_rows, table, question) if table else []
        if table and rows:
            named[key] = table, rows
    read: list[Passage] = []
    for one in passages:
        within = table_of[one["id"]]
        if within not in named:
            read.append(one)
            continue
        table, rows = named[within]
        for document in (table.passages[row] for row in rows):
            changes: Any = {"similarity": one["similarity"], "left_out": _other_rows(document, table, rows)}
            titled: Any = {"title": one["title"]} if "title" in one else {}
            read.append({**as_passage(document), **titled, **changes})
    return each_once(read)


def named_rows(table: Table, question: str) -> list[int]:
    """Return the rows whose names share the rarest words with the question; none if these are too many.

    A row's name is its first cell and its texts. A word weighs log(rows / rows with it). A figure that is counted or
    added up may stand in one row, but not in several. What names the file names no row. Of rows that share the same
    words, those without other words are named.
    """
    asked = stems(without_name(question, table.source))
    texts = [index for index, one in enumerate(table.columns) if index == 0 or one.kind == "text"]
    names = [" ".join(row[index] or "" for index in texts) for row in table.cells]
    # Stems take a second for 10,000 rows, of which most have no word of the question.
    shared = [stems(name) & asked if any(map(fold(name).__contains__, asked)) else set() for name in names]
    rows_with = Counter(word for words in shared for word in words)
    weights = [sum(math.log(len(shared) / rows_with[word]) for word in sorted(words)) for words in shared]
    best = max(weights)
    found = [row for row, weight in enumerate(weights) if weight == best]
    exact = {row for row in found if shared[row] == stems(names[row])}  # Assets rather than Current assets
    covered = [shared[row] for row in exact]
    found = [row for row in found if row in exact or shared[row] not in covered]
    return found if best > 0 and len(found) <= (1 if needs_all_rows(question) else MOST_NAMED) else []


def _table_of(document: Document) -> tuple[str, int] | None:
    """Return source and number of the table of a passage; None without one, and in a file of rows."""
    return table_in(document)[0] if document.metadata.get("row") is None else None


def _other_rows(document: Document, table: Table, rows: Sequence[int]) -> list[tuple[int, int]]:
    """Return the spans of a table's other rows in a passage."""
    shown, spans = {table.places[row] for row in rows}, dict[int, tuple[int, int]]()
    for number, row, start, _, end in document.metadata.get(CELLS) or ():
        if number == table.places[0][0] and (number, row) not in shown:
            first, last = spans.get(row, (start, end))
            spans[row] = min(first, start), max(last, end)
    text = document.page_content
    return [(start, end + text.startswith("\n", end)) for start, end in sorted(spans.values())]
