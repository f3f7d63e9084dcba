"""What a question is asked of: the models over an owner's documents, with the server's runs and options."""

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

    def rag_of(self, owner: str) -> SelfRAG:
        """Return the models over the owner's documents, which are brought in step meanwhile."""
        if self.documents is None:
            return self.rag
        self.documents.refresh()
        return self.documents.rag_of(owner)
