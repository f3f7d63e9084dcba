"""What each question of a server needs: the models over its owner's documents, the runs, and the server's options."""

from dataclasses import dataclass, field

from app.front_door import SelfRAG
from app.server.access import Access
from app.server.documents import Documents
from app.server.runs import Runs
from run.context import Context


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


@dataclass
class Asking:
    """What the questions of all owners share."""

    rag: SelfRAG
    runs: Runs
    options: ServerOptions
    documents: Documents | None = None

    async def fitting(self, owner: str, context: Context | None) -> Context | None:
        """Return the context with its filter's document names resolved to paths.

        Raises `RequestError` for a filter that nothing fits which the owner may see.
        """
        if self.documents and context and (given := context.filter):
            given = given.model_copy(update={"sources": tuple(map(self.documents.names.pattern, given.sources))})
            await self.documents.require_fitting(owner, given)
            context = context.model_copy(update={"filter": given})
        return context

    def streams_drafts(self, strategy: str | None) -> bool:
        """Return whether drafts can be streamed: not where several are written at once, which would mix."""
        return (strategy or self.rag.context.strategy) == "combined"

    def rag_of(self, owner: str) -> SelfRAG:
        """Return the models over the owner's documents; indexing what changed begins in the background."""
        if self.documents is None:
            return self.rag
        self.documents.refresh()
        return self.documents.rag_of(owner)
