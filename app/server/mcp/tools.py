"""The tools of the MCP server, with their arguments. Agents read the docstrings of the tools as descriptions."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

from pydantic import BaseModel, Field

from app.checking.verification import VerifiedClaim, require_claim
from app.options import as_text
from app.server.mcp.backends import LocalBackend, ServedBackend
from app.server.mcp.results import (
    AskResult,
    DocumentList,
    FetchResult,
    ListedDocument,
    SearchResult,
    fetch_page,
    found_passage,
    listed,
    read_passage,
)
from app.server.names import document_entry
from app.server.runs import INTERNAL
from app.server.service import AskOptions
from core.errors import RequestError, SelfRAGError
from run.initial_state import LONGEST_QUESTION, require_question

Backend: TypeAlias = LocalBackend | ServedBackend  # of one caller: on stdio, or of one request to the server

Report = Callable[[str], Awaitable[None]]  # tells the client how far a tool is
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_QUESTION)]


class Arguments(BaseModel, extra="forbid"):
    """The arguments of a tool; others are refused."""


class AskArguments(AskOptions):
    """A question, and how it is answered."""

    question: Text


class SearchArguments(Arguments):
    """What to look for."""

    query: Text
    k: int = Field(8, ge=1, le=50, description="how many passages")


class FetchArguments(Arguments):
    """A passage, or a document with the page to read."""

    passage_id: str | None = Field(None, max_length=100, description="the id of a passage")
    source: str | None = Field(
        None, max_length=4_096, description="the path of a document, or its name if no other has it"
    )
    page: int | None = Field(None, ge=1, le=1_000_000, description="a page of `source`")


class ListArguments(Arguments):
    """Which part of the list."""

    offset: int = Field(0, ge=0, le=1_000_000, description="how many documents to leave out at the beginning")
    limit: int = Field(200, ge=1, le=1_000)


class ClaimArguments(Arguments):
    """A sentence to check."""

    claim: Text
    question: Text | None = Field(None, description="the question that it answers, written so that it stands by itself")


class PathArguments(Arguments):
    """Files and folders of this machine."""

    paths: list[str] = Field(min_length=1, max_length=100, description="whole paths of files or folders")


class UploadArguments(Arguments):
    """A document's name and its text."""

    name: str = Field(max_length=1_000, description="the name of a file, such as notes.md")
    text: str


@dataclass(frozen=True)
class Tool:
    """A tool; ``call`` takes the backend, the arguments, and where to report progress."""

    name: str
    description: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    call: Callable[[Any, Any, Report], Awaitable[BaseModel]]
    writes: bool = False


async def ask(backend: Backend, given: AskArguments, report: Report) -> AskResult:
    """Answer a question from the documents: each claim of the answer is checked against a verbatim quote.

    Use it for an answer to rely on; use `search` to read for yourself. Write the question so that it stands by itself:
    nothing of your conversation is known. It takes seconds, with a local model minutes. `outcome` is 'grounded';
    'partially_grounded' (claims without support are marked); 'abstained': the documents do not answer the question, so
    say that, and give no answer of your own as if it were theirs; 'direct' (no documents were needed); or 'stopped' (a
    limit, or the model failed). `conflicts` are answers that documents disagree on: give all of them. `sources` are
    patterns of the files to search, such as 'lease*.pdf', `pages` the first and the last page, `since` and `until`
    days; leave other options out unless they are asked for.
    """
    run = await backend.start(as_text(given.question), given.context())
    with backend.runs.attended(run):
        async for event in run.follow():
            if event.kind == "node_started":
                await report(f"{event.data['node']} started")
            elif event.kind == "node_finished":
                await report(f"{event.data['node']} finished: {event.data['summary']}")
    if run.error:
        raise run.error if isinstance(run.error, SelfRAGError) else SelfRAGError(INTERNAL)
    if run.result is None:
        raise RequestError(f"The run was {run.state}: ask again.")
    return AskResult.of(run.result, run.numbered, run.id if backend.keeps_runs else None)


async def search(backend: Backend, given: SearchArguments, _: Report) -> SearchResult:
    """Find passages of the documents by words and meaning, the best first, without a chat model.

    Use it to see what the documents say about something, or to read before you ask. That passages are found does not
    mean that they answer. `fetch` shows what stands around one.
    """
    library = await backend.library()
    found = await asyncio.to_thread(
        library.store.similarity_search, require_question(as_text(given.query)), given.k, visible=backend.visible
    )
    backend.record("searched", query=as_text(given.query), documents=sorted({one.metadata["source"] for one in found}))
    return SearchResult(passages=[found_passage(document) for document in found])


async def fetch(backend: Backend, given: FetchArguments, _: Report) -> FetchResult:
    """Read on: a passage with the text before and after it, by an id of `search` or `ask` (`passage_id`), or a page of
    a document (`source`, `page`). Without `page` a document is read from its beginning.
    """
    if (given.passage_id is None) == (given.source is None):
        raise RequestError("Give either passage_id or source.")
    library = await backend.library()
    if given.passage_id is not None:
        found = await asyncio.to_thread(read_passage, library, as_text(given.passage_id), backend.visible)
    else:
        source = as_text(given.source or "")
        found = await asyncio.to_thread(fetch_page, library, source, given.page, backend.visible)
    backend.record("read", documents=[found.source])
    return found


async def list_documents(backend: Backend, given: ListArguments, _: Report) -> DocumentList:
    """List the documents that are asked: path, date, number of passages, and why one is left out.

    Use it to learn what there is, or a path for `fetch` or for `sources` of `ask`.
    """
    sources = await asyncio.to_thread(listed, await backend.library(), backend.visible)
    part = sources[given.offset : given.offset + given.limit]
    return DocumentList(documents=[ListedDocument(**document_entry(one)) for one in part], total=len(sources))


async def verify_claim(backend: Backend, given: ClaimArguments, _: Report) -> VerifiedClaim:
    """Check one sentence against the documents.

    `label` is 'fully supported', 'partially supported', 'no support' (the documents do not say it, which does not make
    it false), 'contradicted', or 'no claim' (nothing in it can be checked); `citations` have the quotes. Of an answer
    give the `question` too: it is then judged as the claims of `ask` are. Use it for a statement that you have; `ask`
    for a question.
    """
    claim = require_claim(as_text(given.claim))
    question = None if given.question is None else require_question(as_text(given.question))
    rag = await backend.rag()
    async with backend.runs.place():
        with backend.verifying(claim) as verified:
            verified.append(await rag.averify(claim, question=question))
    return verified[0]


async def add_documents(backend: LocalBackend, given: PathArguments, _: Report) -> DocumentList:
    """Add files or folders of this machine to the library, where they stay, and index them.

    Use it only when the user asks for it. The result says of each document whether it could be read.
    """
    paths = [Path(as_text(path)) for path in given.paths]
    if not all(path.is_absolute() for path in paths):
        raise RequestError("A path is not whole: begin each with the root of the disk.")
    added = await backend.add(paths)
    return DocumentList(documents=[ListedDocument(**document_entry(one)) for one in added], total=len(added))


async def upload_document(backend: ServedBackend, given: UploadArguments, _: Report) -> ListedDocument:
    """Store a text as a document and index it, replacing one of the same name.

    Use it only when the user asks for it. The result says whether it could be read.
    """
    return ListedDocument.model_validate(await backend.put(given.name, given.text))


def _tool(call: Callable[[Any, Any, Report], Awaitable[BaseModel]], *, writes: bool = False) -> Tool:
    """Make a tool of a function, from its name, its types and its docstring."""
    types, told = get_type_hints(call), " ".join((call.__doc__ or "").split())
    return Tool(call.__name__, told, types["given"], types["return"], call, writes)


TOOLS = (
    _tool(ask),
    _tool(search),
    _tool(fetch),
    _tool(list_documents),
    _tool(verify_claim),
    _tool(add_documents, writes=True),
    _tool(upload_document, writes=True),
)


def offered(writing: str | None) -> dict[str, Tool]:
    """Return the tools by name: all that only read, and the writing tool that ``writing`` names, if any."""
    return {tool.name: tool for tool in TOOLS if not tool.writes or tool.name == writing}
