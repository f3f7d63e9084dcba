"""Search the documents for the current query."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from core.types import Passage
from graph.context import Context, Services
from graph.state import SelfRAGState


async def retrieve(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Find at most ``k`` passages for the last query, best first; a filter is passed only if there is one."""
    context, query = runtime.context, state["queries"][-1]
    within = {"filter": context.filter} if context.filter else {}
    found = await services.retriever.ainvoke(query, k=context.k, **within)
    passages = [as_passage(document) for document in found[: context.k]]
    each_once = {passage["id"]: passage for passage in state.get("found", state["passages"])}
    for passage in passages:
        each_once.setdefault(passage["id"], passage)
    return {
        "passages": passages,
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
