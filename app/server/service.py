"""What the APIs share: the options of a question, and how its runs are started and found."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, ValidationError

from app.checking.text_to_check import TextToCheck
from app.conversations.drift import drift_since
from app.conversations.feedback import FeedbackStore
from app.server.asking import Asking, RunRequest
from app.server.documents import Documents
from app.server.errors import NotFoundError
from app.server.metrics import Metrics
from app.server.runs import Run, UnknownRunError
from app.server.sources import Sources
from core.errors import RequestError
from core.text import one_line
from core.types import Fallback, Length, Turn
from retrieval.filters import Filter
from run.context import Constraints, Context
from run.initial_state import require_conversation, require_question, require_standalone

if TYPE_CHECKING:
    from app.server.shared_runs import SharedRuns
    from app.server.threads import ThreadRuns

DRIFT_SECONDS = 3_600.0
UNNAMED = "Your text"  # the name of a text that was sent without one
FILTERS = {"sources", "pages", "since", "until"}
Page = Annotated[int, Field(le=999_999_999)]  # as on the command line; databases take no number of any length


class AskOptions(BaseModel, extra="forbid"):
    """The options of one question; the server's settings apply to those left out."""

    mode: Literal["adaptive", "always", "never"] | None = None
    strategy: Literal["combined", "per-passage"] | None = None
    fallback: Fallback | None = None
    length: Length | None = None
    k: int | None = Field(None, ge=1, le=50)
    constraints: Constraints | None = None
    caution: float | None = Field(None, ge=0, le=1)
    explain: bool | None = None
    sources: list[Annotated[str, Field(min_length=1, max_length=1_000)]] = Field([], max_length=100)
    pages: tuple[Page, Page] | None = None
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
        for name in ("mode", "length", "strategy", "fallback", "constraints")
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
    _drift: tuple[float, list[str]] = (-math.inf, [])

    async def drift(self) -> list[str]:
        """Return sentences on what changed since the library was calibrated; found out at most once an hour."""
        kept, now = self.rag.library_calibration, time.monotonic()
        if kept and now - self._drift[0] > DRIFT_SECONDS:
            self._drift = now, self._drift[1]  # not by two at once
            threads = self.threads.threads if self.threads else None
            with suppress(RequestError):
                found = await asyncio.to_thread(drift_since, kept, threads, self.feedback)
                self._drift = now, found.sentences
        self.metrics.drift.set(bool(self._drift[1]))
        return self._drift[1]

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
        """Start a run. Raises `RequestError` for a question that cannot be asked, or a filter that nothing fits."""
        require_question(question)
        turns, standalone = require_conversation(conversation), require_standalone(standalone)
        context = await self.fitting(owner, context)
        asked = RunRequest(context=context, conversation=turns, standalone=standalone)
        return await self._start(Run(question, owner, outlives), asked)

    async def check(self, given: TextToCheck, name: str, owner: str) -> Run:
        """Start a check of a text, which outlives its client."""
        run = Run(one_line(name) or UNNAMED, owner, outlives=True, kind="check")
        return await self._start(run, RunRequest(text=given.text, headings=given.headings))

    async def _start(self, run: Run, asked: RunRequest) -> Run:
        if self.shared:
            return await self.shared.start(run, asked)
        return self.runs.start(run, self.ask_of(run, asked))

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

    async def put(self, owner: str, name: str, body: AsyncIterable[bytes]) -> dict[str, Any]:
        """Record an upload, and store it: see `Documents.put`."""
        documents = self.require_documents()
        self.accounts.record("uploaded", owner, document=name)
        return await documents.put(owner, name, body)

    def require_documents(self) -> Documents:
        """Return the documents. Raises `NotFoundError` where there are none."""
        if self.documents is None:
            raise NotFoundError("This server asks a retriever of its own, and holds no documents.")
        return self.documents
