"""What the tools return: the models that their output schemas are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from app.results.result import FoundPassage, ResultClaim, ResultUsage
from core.text import one_line, path_text
from core.types import Citation, Conflict, Outcome, StopReason
from nodes.retrieve import as_passage

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from app.results.result import Result
    from retrieval.sync_report import Source


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
    def of(cls, result: Result, numbered: str, run_id: str | None) -> AskResult:
        """Leave out what an agent has no use for; ``numbered`` is the answer with the numbers of its citations."""
        ids = {(one.source, one.page, one.row, one.text): one.id for one in result.passages}
        citations: list[Any] = [
            {**one, "passage_id": ids.get((one["source"], one["page"], one["row"], one["passage"]))}
            for one in result.citations
        ]
        return cls(
            answer=numbered,
            outcome=result.outcome,
            stop_reason=result.stop_reason,
            claims=result.claims,
            citations=citations,
            conflicts=result.conflicts,
            usage=result.usage,
            run_id=run_id,
        )


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

    @classmethod
    def of(cls, source: Source) -> ListedDocument:
        """Make it of a library's document."""
        return cls(
            name=one_line(source.path.name),
            source=path_text(source.path),
            status=source.status,
            passages=source.passages,
            reason=source.reason,
            date=source.date,
        )


class DocumentList(BaseModel):
    """Some of the documents, of ``total``."""

    documents: list[ListedDocument]
    total: int
