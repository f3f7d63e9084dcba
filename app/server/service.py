"""What both APIs share: how a question is started, and the options that it may have."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.checked_text import check_events
from app.server.access import Access
from app.server.metrics import Metrics
from app.server.runs import Run, UnknownRunError
from app.server.sources import Sources
from core.errors import RequestError
from core.text import one_line
from core.types import Fallback, Turn
from graph.context import Constraints, Context
from graph.initial_state import require_conversation, require_question, require_standalone
from retrieval.filters import Filter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from app.feedback import FeedbackStore
    from app.front_door import Event, SelfRAG
    from app.server.documents import Documents
    from app.server.runs import Runs
    from app.server.shared_runs import SharedRuns
    from app.server.threads import ThreadRuns
    from app.text_to_check import TextToCheck

UNNAMED = "Your text"  # that is checked
FILTERS = {"sources", "pages", "since", "until"}


@dataclass(frozen=True)
class ServerOptions:
    """The limits of a server; ``lists_sources`` in the text of an answer, for clients that show no annotations.

    With ``mcp_allow_write`` agents may upload documents over MCP.
    """

    access: Access = field(default_factory=Access)
    at_once: int = 8
    queue: int = 32
    largest_upload: int = 50_000_000
    lists_sources: bool = True
    mcp_allow_write: bool = False


class AskOptions(BaseModel):
    """How one question is answered; what is left out is as the server's settings say."""

    model_config = ConfigDict(extra="forbid")

    mode: Literal["adaptive", "always", "never"] | None = None
    strategy: Literal["combined", "per-passage"] | None = None
    fallback: Fallback | None = None
    k: int | None = Field(None, ge=1, le=50)
    constraints: Constraints | None = None
    caution: float | None = Field(None, ge=0, le=1)
    explain: bool | None = None
    sources: list[Annotated[str, Field(min_length=1, max_length=1_000)]] = Field([], max_length=100)
    pages: tuple[int, int] | None = None
    since: date | None = None
    until: date | None = None

    def context(self, **more: Any) -> Context | None:
        """Return what was given, as the graph's context. Raises `RequestError` for a filter that is none."""
        asked = self.model_dump(include=set(AskOptions.model_fields))
        given = {name: value for name, value in asked.items() if value is not None and value != []}
        fields = {name: given.pop(name) for name in FILTERS & given.keys()}
        if fields:
            try:
                given["filter"] = Filter(**fields)
            except ValidationError as error:
                raise RequestError(
                    f"The filter is wrong: {error.errors()[0]['msg'].removeprefix('Value error, ')}."
                ) from error
        given |= {name: value for name, value in more.items() if value is not None}
        return Context(**given) if given else None


CHOICES: dict[str, Any] = {
    **{
        name: list(get_args(get_args(AskOptions.model_fields[name].annotation)[0]))
        for name in ("mode", "strategy", "fallback", "constraints")
    },
    "k": [1, 50],
}


@dataclass
class Service:
    """The models, the documents and the runs of a server."""

    rag: SelfRAG
    runs: Runs
    options: ServerOptions
    documents: Documents | None = None
    sources: Sources = field(default_factory=Sources)
    feedback: FeedbackStore | None = None
    metrics: Metrics = field(default_factory=Metrics)
    threads: ThreadRuns | None = None
    shared: SharedRuns | None = None

    async def start(
        self,
        question: str,
        context: Context | None,
        owner: str,
        *,
        outlives: bool = False,
        conversation: Sequence[Turn] = (),
        standalone: str | None = None,
    ) -> Run:
        """Start a run, with drafts streamed if it outlives its client, who then follows its events.

        Raises `RequestError` for a question that cannot be asked, or a filter that nothing fits.
        """
        require_question(question)
        turns, standalone = require_conversation(conversation), require_standalone(standalone)
        context = await self.fitting(owner, context)
        if self.shared:
            run = Run(question, owner, outlives)
            await self.shared.start_question(run, context, turns, standalone)
            return run
        rag = self.rag_of(owner)
        chosen = context.strategy if context and "strategy" in context.model_fields_set else None
        tokens = outlives and self.streams_drafts(chosen)

        def ask() -> AsyncGenerator[Event, None]:
            return rag.astream(question, context, tokens=tokens, conversation=turns, standalone=standalone)

        return self.runs.start(question, ask, owner=owner, outlives=outlives)

    async def check(self, given: TextToCheck, name: str, owner: str) -> Run:
        """Start a check of a text, which outlives its client."""
        name = one_line(name) or UNNAMED
        if self.shared:
            run = Run(name, owner, outlives=True, kind="check")
            await self.shared.start_check(run, given)
            return run
        rag = self.rag_of(owner)
        return self.runs.start(
            name,
            lambda: check_events(lambda progress: rag.acheck(given.text, headings=given.headings, progress=progress)),
            kind="check",
            owner=owner,
            outlives=True,
        )

    async def fitting(self, owner: str, context: Context | None) -> Context | None:
        """Return the context with whole paths for names in its filter.

        Raises `RequestError` for a filter that nothing fits which the owner may see.
        """
        if self.documents and context and (given := context.filter):
            given = given.model_copy(update={"sources": tuple(map(self.documents.names.pattern, given.sources))})
            await self.documents.require_fitting(owner, given)
            context = context.model_copy(update={"filter": given})
        return context

    def streams_drafts(self, strategy: str | None) -> bool:
        """Tell whether drafts can be shown as they are written: several at a time would be shown mixed."""
        return (strategy or self.rag.context.strategy) == "combined"

    async def run(self, id_: str, owner: str) -> Run:
        """Return a run of the owner's, of another server too, or that only its thread still has.

        Raises `UnknownRunError`.
        """
        with suppress(UnknownRunError):
            return self.runs.get(id_, owner)
        if self.shared:
            with suppress(UnknownRunError):
                return await self.shared.get(id_, owner)
        if self.threads is None:
            raise UnknownRunError
        return await self.threads.run(id_, owner)

    async def require_ready(self) -> None:
        """Raise `RequestError` if the database of the documents and runs cannot be reached."""
        if self.shared:
            await self.shared.require_reachable()

    def rag_of(self, owner: str) -> SelfRAG:
        """Return the models over the owner's documents, which are brought in step meanwhile."""
        if self.documents is None:
            return self.rag
        self.documents.refresh()
        return self.documents.rag_of(owner)
