"""Search the documents for the current query."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple, cast

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from core.passages import is_narrowed
from core.types import UNKNOWN, Compared, Passage, TableFound, Verdict
from grounding.compared import MOST_COMPARED, compares, how_many, is_of_it_alone, things_compared
from grounding.comparisons import adds_jointly, filters, needs_all_rows, orders, suits_query
from grounding.follow_ups import join_follow_up, leaned_on
from grounding.lengths import NAMED, document_asked_for
from nodes.concurrency import gather
from nodes.found_passages import as_passage, each_once, identity_of, table_in
from nodes.named_rows import narrowed
from prompts.grade_documents import RELEVANCE
from retrieval.documents.loaded import CELLS
from retrieval.named_documents import is_named, is_of_other_document, names_in
from run.context import Context, Services
from run.prefetch import PrefetchingRetriever
from run.segments import MOST_READ
from run.state import SelfRAGState, is_joined, standalone_question

PART_OF_DOCUMENT = Verdict(label="relevant", probabilities=None, reason="The whole document is asked for.")
OF_COMPARED = Verdict(label="relevant", probabilities=None, reason="It was found for what is compared.")
DEPTH = 4  # times k passages of each search are fused
JOINED_WEIGHT = 0.3  # of a question joined with earlier ones: tuned on mt-rag, where equal weights did harm
LONGEST_IN_ROW = 200  # characters of a cell: a row with a longer one is prose
SHARE_OF_PASSAGE = 0.6  # of its text that must be rows of one table
RANK_CONSTANT = 60  # of reciprocal rank fusion (Cormack et al., 2009)


class Search(NamedTuple):
    """A search; ``weight`` is the weight of its ranks where the results of several searches are fused."""

    query: str
    k: int
    weight: float = 1.0


async def retrieve(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Find at most ``k`` passages for the last query, best first.

    Passages of earlier searches that were judged relevant, or could not be judged, are kept and come first: an answer
    may rest on two places. In a conversation, a question that was not rewritten is searched for twice: by itself, and
    joined with earlier ones. "Summarise lease.pdf" reads this document in its order instead. For a comparison each of
    the things is searched for; "the two offers" are two of the documents found. A table is queried if one of its rows
    is the best passage; for a question that compares or filters, also if half of the passages are rows. Otherwise such
    a question is put to the table only if the texts fail; rows are left out of passages if the answer needs all rows.
    Of a table in which the question names rows, these alone are read, before it is queried. If the question names a
    document, tables of others are not read.
    """
    context, reader = runtime.context, cast("PrefetchingRetriever", services.retriever)
    if state.get("length") == "long" and not state["searched"]:
        name = document_asked_for(standalone_question(state))
        if name and (document := await reader.document_named(name, context.k, context.filter)):
            return _read_whole(list(map(as_passage, document)))
        if compares(standalone_question(state)) and (by_thing := await _by_thing(state, services, context)):
            return _to_compare(by_thing)
    searches = searches_of(state, context.k)
    found = await gather(_found(one, services, context) for one in searches)
    rankings = [list(map(as_passage, documents)) for documents in found]
    passages = rankings[0]
    if len(searches) > 1:
        passages = fused(rankings, [one.weight for one in searches])[: context.k]
    question = standalone_question(state)
    documents = {identity_of(one): one for each in found for one in each}
    tables = {identity: _table_of_passage(one) for identity, one in documents.items()}
    table = table_of([tables.get(one["id"]) for one in passages])
    is_table_best = bool(passages and tables.get(passages[0]["id"]))
    if not orders(question) and not is_joined(state) and state.get("length") != "long":
        passages = await narrowed(passages, documents, question, reader)
        if len(passages) < context.k and any(map(is_named, documents.values())):  # several were of one table
            more = await _found(searches[0]._replace(k=DEPTH * context.k), services, context)
            documents |= {identity_of(one): one for one in more}
            further = await narrowed(list(map(as_passage, more)), documents, question, reader)
            passages = each_once([*passages, *further])[: context.k]
    if not (suits_query(question) or is_table_best):
        table = None
    elif table and any(map(is_narrowed, passages)) and not filters(question) and not adds_jointly(question):
        table = {**table, "is_best": False}  # asked only if the rows do not answer
    elif table and not table["is_best"] and needs_all_rows(question):
        passages = [one for one in passages if is_narrowed(one) or not tables.get(one["id"])]
    known = state.get("found", state["passages"])
    new = {passage["id"] for passage in passages}
    judged = {name: one["label"] for name, one in state["verdicts"].items()}
    kept = [one for one in known if one["id"] not in new and judged.get(one["id"]) in (RELEVANCE.positive, UNKNOWN)]
    return {
        "passages": [*kept, *passages],
        "kept": [passage["id"] for passage in kept],
        "found": each_once([*known, *passages]),
        "relevant": [],
        "compared": [],
        "table": table,
        "searched": len(state["queries"]),
        "decided": {
            "query": state["queries"][-1],
            "retrieved": len(passages),
            "named": sorted({Path(one.metadata["source"]).name for one in documents.values() if is_named(one)}),
            "narrowed": sum(map(is_narrowed, passages)),
        },
    }


def _read_whole(document: list[Passage]) -> dict[str, Any]:
    """Return the update for a whole document: as many of its passages as can be read, all of them relevant."""
    ends, source = accumulate(len(one["text"]) for one in document), document[0]["source"]
    passages = [one for one, end in zip(document, ends, strict=True) if end <= MOST_READ]
    update = _all_relevant(passages, PART_OF_DOCUMENT, Path(source).name)
    update["decided"]["whole"] = True
    return {**update, "whole": source, "unread": len(document), "rewrites_left": 0}


def _all_relevant(passages: list[Passage], verdict: Verdict, query: str) -> dict[str, Any]:
    """Return the update for passages that all have the same ``verdict``, without a grade."""
    return {
        "passages": passages,
        "found": passages,
        "verdicts": {one["id"]: verdict for one in passages},
        "searched": 1,
        "decided": {"query": query, "retrieved": len(passages)},
    }


async def _by_thing(state: SelfRAGState, services: Services, context: Context) -> dict[str, list[Passage]]:
    """Return the passages found for each thing that the question compares: ``k`` for all of them together.

    Things without a name, as in "the two offers", are the documents that the question finds. Empty if any thing has no
    passage.
    """
    things, by = things_compared(standalone_question(state))
    if not things:
        search = Search(state["queries"][-1], DEPTH * context.k)
        passages = list(map(as_passage, await documents_for(search, services, context)))
        sources = list(dict.fromkeys(one["source"] for one in passages[: context.k]))
        sources = sources[: how_many(standalone_question(state))]
        share = context.k // max(1, len(sources))
        documents = [[one for one in passages if one["source"] == source][:share] for source in sources]
        titles = [own[0].get("title") or Path(own[0]["source"]).stem for own in documents]
        names = titles if len(set(titles)) == len(titles) else [Path(own[0]["source"]).name for own in documents]
        return dict(zip(names, documents, strict=True)) if 2 <= len(set(names)) <= MOST_COMPARED else {}
    found = await gather(_of_thing(thing, things, by, services, context) for thing in things)
    return dict(zip(things, found, strict=True)) if all(found) else {}


async def _of_thing(thing: str, things: Sequence[str], by: str, services: Services, context: Context) -> list[Passage]:
    """Return the best passages on a thing, found with the points ``by``: at most ``k`` divided by the number of things.

    If the thing is a file name, only passages of that file are returned. If the names of some documents have a word of
    this thing and of no other, only passages of these documents are.
    """
    found = await documents_for(Search(f"{thing} {by}".strip(), DEPTH * context.k), services, context)
    passages = list(map(as_passage, found))
    if NAMED.fullmatch(thing):
        reader = cast("PrefetchingRetriever", services.retriever)
        whole = list(map(as_passage, await reader.document_named(thing, context.k, context.filter)))
        ids = {one["id"] for one in whole}
        passages = each_once([*(one for one in passages if one["id"] in ids), *whole])
    else:
        passages = [one for one in passages if is_of_it_alone(thing, things, _name_of(one))] or passages
    return passages[: context.k // len(things)]


def _name_of(passage: Passage) -> str:
    """Return the words of the file's name and the document's title."""
    return f"{re.sub(r'[-_.]', ' ', Path(passage['source']).stem)} {passage.get('title', '')}"


def _to_compare(by_thing: Mapping[str, Sequence[Passage]]) -> dict[str, Any]:
    """Return the state's update for a comparison: each passage is graded relevant; the cells are checked later."""
    compared = [Compared(thing=thing, passages=[one["id"] for one in own]) for thing, own in by_thing.items()]
    passages = each_once(chain(*by_thing.values()))
    return {**_all_relevant(passages, OF_COMPARED, ", ".join(by_thing)), "compared": compared}


async def documents_for(search: Search, services: Services, context: Context) -> Sequence[Document]:
    """Return what a search finds, best first; a filter is passed only if there is one."""
    within = {"filter": context.filter} if context.filter else {}
    return (await services.retriever.ainvoke(search.query, k=search.k, **within))[: search.k]


async def _found(search: Search, services: Services, context: Context) -> Sequence[Document]:
    """Search, without the tables of other documents if the question names one: a row does not say whose it is."""
    found = await documents_for(search, services, context)
    if named := list(filter(is_named, found)):
        more = await documents_for(search._replace(k=DEPTH * search.k), services, context)
        names = names_in(search.query, named)
        found = [one for one in more if not (_table_of_passage(one) and is_of_other_document(one, names))]
    return found[: search.k]


def table_of(tables: Sequence[tuple[str, int] | None]) -> TableFound | None:
    """Return the table to query, given the table of each passage, best first; None if no passage has one.

    That is the table whose rows are at least half of the passages, if any; else that of the best passage of rows.
    """
    rows = list(filter(None, tables))
    if not rows:
        return None
    ((most, count),) = Counter(rows).most_common(1)
    is_most = 2 * count >= len(tables)
    source, number = most if is_most else rows[0]
    return TableFound(source=source, number=number, is_best=is_most or tables[0] is not None)


def _table_of_passage(document: Document) -> tuple[str, int] | None:
    """Return the source and number of the table whose rows are most of a passage; None if there is none."""
    if any(end - middle > LONGEST_IN_ROW for *_, middle, end in document.metadata.get(CELLS) or ()):
        return None
    table, size = table_in(document)
    return table if size >= SHARE_OF_PASSAGE * len(document.page_content) else None


def searches_of(state: SelfRAGState, k: int) -> list[Search]:
    """Return the next searches: the last query and, at first in a conversation, the question joined with earlier ones.

    The joined question weighs less, so that a question that changes the subject still finds what it asks for.
    """
    query = state["queries"][-1]
    before = leaned_on(state.get("conversation") or [])
    if state["searched"] or state.get("rewritten") or not before:
        return [Search(query, k)]
    return [Search(query, DEPTH * k), Search(join_follow_up(before, state["question"]), DEPTH * k, JOINED_WEIGHT)]


def fused(rankings: Sequence[Sequence[Passage]], weights: Sequence[float]) -> list[Passage]:
    """Return the passages of several searches by reciprocal rank, Σ weight / (60 + rank), each as first found."""
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, identity in enumerate(dict.fromkeys(one["id"] for one in ranking), 1):
            scores[identity] = scores.get(identity, 0.0) + weight / (RANK_CONSTANT + rank)
    return sorted(each_once(chain(*rankings)), key=lambda one: -scores[one["id"]])
