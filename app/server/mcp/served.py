"""The tools' backend of one request to the server: what the owner of its token may ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from app.options import as_text
from app.server.errors import NotFoundError

if TYPE_CHECKING:
    from anyio import CancelScope
    from starlette.requests import Request

    from app.front_door import SelfRAG
    from app.server.documents import Documents
    from app.server.runs import Run, Runs
    from app.server.service import Service
    from retrieval.filters import Visible
    from retrieval.library.library import Library
    from run.context import Context


class ServedBackend:
    """What the owner of a request's token may ask, in the server's runs."""

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
        """Tell the paths that the owner may see from others'."""
        return self._documents.visible_to(self._owner)

    def attended(self) -> CancelScope:
        """Cancel the block when the client closes the connection on which it waits."""
        return self._scope

    async def library(self) -> Library:
        """Return the documents that are asked."""
        self._documents.refresh()
        return self._documents.asked

    async def rag(self) -> SelfRAG:
        """Return the models over what the owner may see."""
        return self._service.documents.rag_of(self._owner) if self._service.documents else self._service.rag

    def count_verified(self, label: str) -> None:
        """Count it among the server's metrics."""
        self._service.metrics.count_verified(label)

    async def start(self, question: str, context: Context | None) -> Run:
        """Start a run of the owner's."""
        return await self._service.start(question, context, self._owner)

    async def put(self, name: str, text: str) -> dict[str, Any]:
        """Store a text among the owner's uploads, and return its entry."""

        async def body() -> AsyncIterator[bytes]:
            yield text.encode("utf-8", "replace")

        return await self._documents.put(self._owner, as_text(name), body())

    @property
    def _documents(self) -> Documents:
        if self._service.documents is None:
            raise NotFoundError("This server asks a retriever of its own, and holds no documents.")
        return self._service.documents
