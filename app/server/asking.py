"""Ask questions of an owner's documents, with the models, runs and options of the server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import BaseModel

from app.checking.checked_text import check_events
from app.conversations.checkpoints import answered, can_resume
from app.front_door import SelfRAG, question_after
from app.results.events import Event
from app.server.access import Access
from app.server.accounts import Accounts
from app.server.documents import Documents
from app.server.runs import Ask, Run, Runs
from core.types import Turn
from run.context import Context


@dataclass(frozen=True)
class ServerOptions:
    """The limits of a server: ``at_once`` questions run and ``queue`` wait; ``largest_upload`` is in bytes.

    ``lists_sources`` adds sources to the text of an answer, for clients that show no annotations. ``mcp_allow_write``
    lets agents upload documents over MCP.
    """

    access: Access = field(default_factory=Access)
    at_once: int = 8
    queue: int = 32
    largest_upload: int = 50_000_000
    lists_sources: bool = True
    mcp_allow_write: bool = False


class RunRequest(BaseModel):
    """The request of a run that is in no thread: the arguments of a question, or the text to check."""

    context: Context | None = None
    conversation: list[Turn] = []
    standalone: str | None = None
    text: str = ""
    headings: list[tuple[int, int]] = []


@dataclass
class Asking:
    """What all questions share: the models, runs, options, documents and accounts of the server."""

    rag: SelfRAG
    runs: Runs
    options: ServerOptions
    documents: Documents | None = None
    accounts: Accounts = field(default_factory=Accounts)

    async def fitting(self, owner: str, context: Context | None) -> Context | None:
        """Return the context with full paths in place of the names in its filter.

        Raises `RequestError` if nothing that the owner may see fits the filter.
        """
        if self.documents and context and (given := context.filter):
            names = self.documents.names_for(owner)
            given = given.model_copy(update={"sources": tuple(map(names.pattern, given.sources))})
            await self.documents.require_fitting(owner, given)
            context = context.model_copy(update={"filter": given})
        return context

    def streams_drafts(self, strategy: str | None) -> bool:
        """True if drafts can be shown as they are written: the strategy ``combined`` writes one at a time."""
        return (strategy or self.rag.context.strategy) == "combined"

    def rag_of(self, owner: str) -> SelfRAG:
        """Return the `SelfRAG` over the owner's documents; changes on the disk are indexed in the background."""
        if self.documents is None:
            return self.rag
        self.documents.refresh()
        return self.documents.rag_of(owner)

    def ask_of(self, run: Run, asked: RunRequest, saver: BaseCheckpointSaver[str] | None = None) -> Ask:
        """Return a function that answers a run outside threads, or continues it from its checkpoint in ``saver``.

        Drafts are streamed only if the run outlives its client: no other client shows them. A check always starts anew.
        """
        rag, context = self.rag_of(run.owner), asked.context
        if run.kind == "check":
            return lambda: check_events(
                lambda progress: rag.acheck(asked.text, headings=asked.headings, progress=progress)
            )
        chosen = context.strategy if context and "strategy" in context.model_fields_set else None
        tokens = run.outlives and self.streams_drafts(chosen)

        async def ask() -> AsyncGenerator[Event, None]:
            resumes = saver and run.events and await can_resume(rag, saver, run.id)
            given = None if resumes else question_after(run.question, asked.conversation, asked.standalone)
            async with aclosing(answered(rag, saver, run.id, given, context, tokens=tokens)) as events:
                async for event in events:
                    yield event

        return ask
