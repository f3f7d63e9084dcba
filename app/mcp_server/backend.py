"""What the tools work on: the documents and the models of one caller, on stdio or of one request to the server."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from app.front_door import SelfRAG
    from app.server.runs import Run, Runs
    from graph.context import Context
    from retrieval.filters import Visible
    from retrieval.library.library import Library


class Backend(Protocol):
    """The documents and models of one caller; ``keeps_runs`` where another API can ask for a run by its id."""

    keeps_runs: bool

    @property
    def runs(self) -> Runs:
        """The questions of all callers."""
        ...

    @property
    def visible(self) -> Visible | None:
        """Tell the paths that the caller may see from others'; None where there is one owner."""
        ...

    def attended(self) -> AbstractContextManager[object]:
        """Cancel what is done in the block when nobody is there any more to be told its result."""
        ...

    async def library(self) -> Library:
        """Return the documents to ask. Raises `RequestError` where there are none."""
        ...

    async def rag(self) -> SelfRAG:
        """Return the models over what the caller may see, loaded if need be."""
        ...

    def count_verified(self, label: str) -> None:
        """Count a sentence that was checked, by its label or ``failed``."""
        ...

    async def start(self, question: str, context: Context | None) -> Run:
        """Start a run. Raises `RequestError` for a question that cannot be asked, or a filter that nothing fits."""
        ...
