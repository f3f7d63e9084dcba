"""Passages of the state, from the documents that a search finds."""

from collections import Counter
from collections.abc import Iterable

from langchain_core.documents import Document

from core.types import Passage
from retrieval.documents.loaded import CELLS


def as_passage(document: Document) -> Passage:
    """Convert a LangChain document to a passage of the state; one without an id is identified by its text."""
    metadata = document.metadata
    passage = Passage(
        id=identity_of(document),
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


def identity_of(document: Document) -> str:
    """Return the id of a document that a search found, or else its text."""
    return str(document.id or document.metadata.get("id") or document.page_content)


def each_once(passages: Iterable[Passage]) -> list[Passage]:
    """Return the passages in their order, without repeated ids."""
    found: dict[str, Passage] = {}
    for passage in passages:
        found.setdefault(passage["id"], passage)
    return list(found.values())


def table_in(document: Document) -> tuple[tuple[str, int] | None, int]:
    """Return source and number of the table that has most of a passage, and its size in characters; None, 0 without."""
    sizes: Counter[int] = Counter()
    for table, _, start, middle, end in document.metadata.get(CELLS) or ():
        sizes[table] += end - min(start, middle)
    if not sizes:
        return None, 0
    table, size = sizes.most_common(1)[0]
    return (str(document.metadata.get("source", "")), table), size
