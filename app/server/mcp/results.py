"""The results of the MCP tools as pydantic models, and the functions that read them from the library."""

import os
from typing import Any, Self

from langchain_core.documents import Document
from pydantic import BaseModel, Field

from app.results.result import FoundPassage, Result, ResultClaim, ResultUsage
from app.server.names import without_paths
from core.errors import RequestError
from core.text import path_text, shortened
from core.types import Citation, Conflict, Outcome, StopReason
from nodes.found_passages import as_passage
from retrieval.filters import Visible
from retrieval.library.library import Library
from retrieval.sync_report import Source

AROUND = 2_000  # characters before a passage, and after it
LONGEST_TEXT = 20_000  # characters of a page or a document


class CitedPassage(Citation):
    """A citation, with the id of its passage, which `fetch` takes."""

    passage_id: str | None


class AskResult(BaseModel):
    """An answer with its evidence; ``run_id`` is that of the server's JSON API."""

    answer: str = Field(description="The answer; [1] stands behind a claim that citation 1 carries.")
    outcome: Outcome | None = Field(description="'abstained' means that the documents do not answer the question.")
    stop_reason: StopReason | None
    claims: list[ResultClaim]
    citations: list[CitedPassage]
    conflicts: list[Conflict]
    usage: ResultUsage
    run_id: str | None

    @classmethod
    def of(cls, result: Result, numbered: str, run_id: str | None) -> Self:
        """Make the tool's result of the fields that agents use; ``numbered`` is the answer with citation numbers."""
        ids = {(one.source, one.page, one.row, one.text): one.id for one in result.passages}
        citations: list[Any] = [
            {**one, "passage_id": ids.get((one["source"], one["page"], one["row"], one["passage"]))}
            for one in result.citations
        ]
        known = {name: getattr(result, name) for name in cls.model_fields.keys() - {"run_id"}}
        return cls(**{**known, "answer": numbered, "citations": citations}, run_id=run_id)


def found_passage(document: Document) -> FoundPassage:
    """Make a passage of a LangChain document, as the graph does."""
    passage = as_passage(document)
    return FoundPassage(**{name: passage.get(name) for name in FoundPassage.model_fields})


class SearchResult(BaseModel):
    """Passages, the best first."""

    passages: list[FoundPassage]


class FetchResult(BaseModel):
    """A passage with what stands before and after it, or the text of a page or of a document from its beginning."""

    source: str
    title: str | None = None
    heading: str | None = None
    page: int | None
    row: int | None = None
    date: str | None
    before: str = ""
    text: str
    after: str = ""
    complete: bool = Field(True, description="False if a page or a document goes on beyond the text.")


class ListedDocument(BaseModel):
    """A document, or why it is left out."""

    name: str
    source: str
    status: str
    passages: int
    reason: str
    date: str | None


class DocumentList(BaseModel):
    """Some of the documents, of ``total``."""

    documents: list[ListedDocument]
    total: int


def listed(library: Library, visible: Visible | None) -> list[Source]:
    """Return the documents that the caller may see."""
    return [one for one in library.sources() if visible is None or visible(os.fsencode(one.path))]


def read_passage(library: Library, id_: str, visible: Visible | None) -> FetchResult:
    """Return a passage with what surrounds it. Raises `RequestError` unless the caller may see one with this id."""
    passage = library.store.passage(id_, visible)
    if passage is None:
        raise RequestError(
            f"There is no passage {shortened(id_, 60)}: search again, for ids change with the documents."
        )
    about, text = passage.metadata, passage.page_content
    source, page, row = about["source"], about["page"], about["row"]
    around = library.store.surroundings(source, text, 0, len(text), page=page, row=row, most=AROUND)
    known = {name: about.get(name) for name in ("source", "title", "heading", "page", "row", "date")}
    return FetchResult(**known, before=around.before, text=text, after=around.after)


def fetch_page(library: Library, source: str, page: int | None, visible: Visible | None) -> FetchResult:
    """Return the text of a page, or of a document from its beginning. Raises `RequestError` where there is none."""
    known = listed(library, visible)
    wanted = path_text(source)
    found = [one for one in known if wanted in (path := path_text(one.path), without_paths(path, "source"))]
    found = found or [one for one in known if path_text(one.path.name) == wanted]
    told = shortened(source, 200)
    if not found:
        raise RequestError(f"There is no document {told}: list_documents names those there are.")
    if len(found) > 1:
        raise RequestError(f"{len(found)} documents have the name {told}: give the path of one.")
    (document,) = found
    text, complete = library.store.text_of(os.fsencode(document.path), page, LONGEST_TEXT)
    if not text:
        where = f"{told} has no page {page}" if page and document.passages else f"{told} has no text"
        raise RequestError(f"{where}: {document.reason or 'search names the pages that there are.'}")
    return FetchResult(source=path_text(document.path), page=page, date=document.date, text=text, complete=complete)
