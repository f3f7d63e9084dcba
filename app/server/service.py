"""What both APIs share: how a question is started, and the options that it may have."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.checking.checked_text import check_events
from app.checking.text_to_check import TextToCheck
from app.conversations.feedback import FeedbackStore
from app.results.events import Event
from app.server.asking import Asking
from app.server.documents import Documents
from app.server.errors import NotFoundError
from app.server.metrics import Metrics
from app.server.runs import Run, UnknownRunError
from app.server.sources import Sources
from app.server.threads import ThreadRuns
from core.errors import RequestError
from core.text import one_line
from core.types import Fallback, Turn
from retrieval.filters import Filter
from run.context import Constraints, Context
from run.initial_state import require_conversation, require_question, require_standalone

if TYPE_CHECKING:
    from app.server.shared_runs import SharedRuns

UNNAMED = "Your text"  # that is checked
FILTERS = {"sources", "pages", "since", "until"}


class AskOptions(BaseModel):
    """The options of one question; the server's settings apply to those left out."""

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
        """Return the given options as the graph's context. Raises `RequestError` for an invalid filter."""
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
class Service(Asking):
    """The models, the documents and the runs of a server."""

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

    async def run(self, id_: str, owner: str) -> Run:
        """Return a run of the owner's, even if another server answers it or only its thread still holds it.

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

    def require_documents(self) -> Documents:
        """Return the documents. Raises `NotFoundError` where there are none."""
        if self.documents is None:
            raise NotFoundError("This server asks a retriever of its own, and holds no documents.")
        return self.documents
