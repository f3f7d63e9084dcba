"""Search the documents for the current query."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from core.types import Passage
from graph.context import Context, Services
from graph.state import SelfRAGState
from prompts.grade_documents import RELEVANCE


async def retrieve(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Find at most ``k`` passages for the last query, best first; a filter is passed only if there is one.

    What earlier searches found and was judged relevant is kept, and comes first: an answer may rest on two places.
    """
    context, query = runtime.context, state["queries"][-1]
    within = {"filter": context.filter} if context.filter else {}
    found = await services.retriever.ainvoke(query, k=context.k, **within)
    passages = [as_passage(document) for document in found[: context.k]]
    known = state.get("found", state["passages"])
    new = {passage["id"] for passage in passages}
    kept = [one for one in known if one["id"] not in new and RELEVANCE.is_positive(state["verdicts"].get(one["id"]))]
    each_once = {passage["id"]: passage for passage in known}
    for passage in passages:
        each_once.setdefault(passage["id"], passage)
    return {
        "passages": [*kept, *passages],
        "kept": [passage["id"] for passage in kept],
        "found": list(each_once.values()),
        "relevant": [],
        "searched": len(state["queries"]),
        "decided": {"query": query, "retrieved": len(passages)},
    }


def as_passage(document: Document) -> Passage:
    """Convert a LangChain document to a passage of the state; one without an id is identified by its text."""
    metadata = document.metadata
    identity = document.id or metadata.get("id") or document.page_content
    passage = Passage(
        id=str(identity),
        text=document.page_content,
        source=str(metadata.get("source", "")),
        page=metadata.get("page"),
        row=metadata.get("row"),
        similarity=metadata.get("similarity"),
    )
    if title := metadata.get("title"):
        passage["title"] = str(title)
    if heading := metadata.get("heading"):
        passage["heading"] = str(heading)
    if date := metadata.get("date"):
        passage["date"] = str(date)
    return passage
