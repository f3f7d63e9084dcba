"""What the MCP tools ask: on stdio one person's documents, on a server the documents that a token's owner may see."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

from anyio import CancelScope
from starlette.requests import Request

from app.checking.verification import VerifiedClaim
from app.compose import questions_at_once
from app.front_door import SelfRAG
from app.libraries import open_docs, open_served, sync
from app.options import as_text
from app.server.runs import Run, Runs
from app.server.service import Service
from app.server.uploads import INDEX_SECONDS
from app.settings import Settings
from app.terminal.screen import Screen
from core.files import is_below
from retrieval.filters import Visible
from retrieval.library.library import Library
from retrieval.sync_report import Source
from run.context import Context
from run.initial_state import require_question

T = TypeVar("T")


class LocalBackend:
    """One person's documents and models, both loaded when a tool first needs them.

    The documents are ``docs`` if there are any, else the library, or the sample while the library is empty. They
    are synced with the disk before each call.
    """

    keeps_runs = False
    visible = None

    def __init__(self, settings: Settings, docs: Sequence[Path], screen: Screen) -> None:
        self.runs = Runs(at_once=questions_at_once(settings), queue=settings.selfrag_server_queue)
        self._settings = settings
        self._docs = docs
        self._screen = screen
        self._opened: tuple[Library, Library | None] | None = None
        self._rag: SelfRAG | None = None
        self._disk = Lock()
        self._tasks: dict[object, asyncio.Task[Any]] = {}

    def attended(self) -> AbstractContextManager[None]:
        """Do nothing: when the client leaves, the whole process ends."""
        return nullcontext()

    async def library(self) -> Library:
        """Return the library to ask, synced with the disk."""
        return await self._in_thread(self._asked, "library")

    async def rag(self) -> SelfRAG:
        """Return the `SelfRAG` over the documents, which is loaded at the first call."""
        library = await self.library()
        rag: SelfRAG | None = self._rag
        if rag is None:
            rag = await self._in_thread(partial(self._load, library), "models")
        if rag.library is not library:  # the sample is asked no more
            rag = self._rag = rag.over(library, library.store.as_retriever())
        return rag

    def verifying(self, claim: str) -> AbstractContextManager[list[VerifiedClaim]]:
        """Yield a list for the verified claim; count nothing, as the agent of a local user has no quota."""
        return nullcontext([])

    def record(self, what: str, **more: object) -> None:
        """Do nothing: there is no audit log of what a local user's agent reads."""

    async def start(self, question: str, context: Context | None) -> Run:
        require_question(question)
        library = await self.library()
        await asyncio.to_thread(library.require_passages, context.filter if context else None)
        rag = await self.rag()
        return self.runs.start(Run(question), lambda: rag.astream(question, context, tokens=False))

    async def add(self, paths: Sequence[Path]) -> list[Source]:
        """Add files and folders to the library, and return the documents in them."""
        await self.library()
        return await self._in_thread(partial(self._add, paths))

    async def aclose(self) -> None:
        """End what is running, and close what was opened, unless a thread still works with it."""
        await self.runs.aclose()
        if self._rag:
            await self._rag.services.aclose()
        if not self._tasks:
            for library in self._opened or ():
                if library:
                    library.close()

    async def _in_thread(self, work: Callable[[], T], name: str = "") -> T:
        """Do work in a thread; it goes on if the caller is cancelled. Calls with the same name share one execution."""
        key = name or work

        def forget(done: asyncio.Task[T]) -> None:
            del self._tasks[key]
            done.cancelled() or done.exception()  # marks it as retrieved, if nobody waits for it

        if key not in self._tasks:
            task = self._tasks[key] = asyncio.create_task(asyncio.to_thread(work))
            task.add_done_callback(forget)
        return cast("T", await asyncio.shield(self._tasks[key]))

    def _asked(self) -> Library:
        with self._disk:
            if self._opened is None:
                self._opened = self._open()
            else:
                sync(self._opened[0], self._screen, complete=False)
            library, sample = self._opened
            return sample if sample and not library.sources() else library

    def _open(self) -> tuple[Library, Library | None]:
        if not self._docs:
            return open_served(self._settings, self._screen, self._settings.owned_folder("uploads"))
        library = open_docs(self._docs, self._settings, self._screen)
        sync(library, self._screen, complete=False)
        return library, None

    def _load(self, library: Library) -> SelfRAG:
        rag = SelfRAG(retriever=library.store.as_retriever(), settings=self._settings, screen=self._screen)
        rag.ask_of(library, self._screen)
        self._rag = rag
        return rag

    def _add(self, paths: Sequence[Path]) -> list[Source]:
        with self._disk:
            library, _ = self._opened or self._open()
            library.add(paths)
            library.sync(seconds=INDEX_SECONDS)
            roots = [os.fsencode(path.resolve()) for path in paths]
            return [one for one in library.sources() if any(is_below(os.fsencode(one.path), root) for root in roots)]


class ServedBackend:
    """A server's models and runs, and those of its documents that the owner of a request's token may see."""

    keeps_runs = True

    def __init__(self, service: Service, request: Request) -> None:
        self._service = service
        self._owner = str(request.state.owner)
        self._scope: CancelScope = request.state.attended

    @property
    def runs(self) -> Runs:
        """The server's runs."""
        return self._service.runs

    @property
    def visible(self) -> Visible | None:
        """Return a test of whether the owner may see a path; None if they see all."""
        return self._service.require_documents().visible_to(self._owner)

    def attended(self) -> CancelScope:
        """Return a scope that is cancelled when the client closes the connection of its call."""
        return self._scope

    async def library(self) -> Library:
        """Return the documents that are asked."""
        documents = self._service.require_documents()
        documents.refresh()
        return documents.asked

    async def rag(self) -> SelfRAG:
        """Return the `SelfRAG` over what the owner may see."""
        return self._service.rag_of(self._owner)

    @contextmanager
    def verifying(self, claim: str) -> Iterator[list[VerifiedClaim]]:
        """Count a claim that the block verifies, as `Accounts.verifying` does, and in the server's metrics."""
        with self._service.accounts.verifying(claim, self._owner) as verified:
            try:
                yield verified
            finally:
                self._service.metrics.verified.labels(verified[0].label if verified else "failed").inc()

    def record(self, what: str, **more: object) -> None:
        """Record in the audit log what the agent searches or reads."""
        self._service.accounts.record(what, self._owner, **more)

    async def start(self, question: str, context: Context | None) -> Run:
        """Start a run of the owner's."""
        return await self._service.start(question, context, self._owner)

    async def put(self, name: str, text: str) -> dict[str, Any]:
        """Store a text among the owner's uploads, and return its entry."""

        async def body() -> AsyncIterator[bytes]:
            yield text.encode("utf-8", "replace")

        return await self._service.put(self._owner, as_text(name), body())
