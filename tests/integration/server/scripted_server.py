"""A server over scripted models, in this process or on a loopback port."""

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from langchain_core.documents import Document
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from app.conversations.feedback import FeedbackFolder
from app.conversations.tables import ThreadTables
from app.front_door import SelfRAG
from app.server.access import Access
from app.server.application import create_app
from app.server.asking import ServerOptions
from app.server.documents import Documents
from app.server.listening import listen, server_of
from app.server.people import People
from app.server.sources import Sources
from app.settings import Settings
from core.errors import ModelError
from graph.builder import build_graph
from retrieval.library.library import Library
from retrieval.sandbox.pages import PageReader
from tests.integration.graph.sky import AIR, GOOD, QUESTION, SALT, critic
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever, services
from tests.unit.retrieval.fakes import BagOfWords

RED = "Red light is scattered less than blue light by the air of the sky."
ADDRESS = "http://127.0.0.1:8321"
ANN = {"Authorization": "Bearer ann-has-a-long-token"}
BOB = {"Authorization": "Bearer bob-has-another-token"}
TOKENS = (("ann", b"ann-has-a-long-token"), ("bob", b"bob-has-another-token"))
PEOPLE = People(TOKENS)
FOLLOW_UP = "And at night?"
CALLS = Counter(retrieve=1, relevance=2, draft=1, support=1, usefulness=1)  # of a question


@dataclass
class Models:
    """Scripted models that answer any number of questions; calls, or ``gated`` ones alone, wait at the ``gate``.

    Calls of the kind ``failing`` raise the ``error``, from that with the number ``failing_from`` on.
    """

    failing: str = ""
    failing_from: int = 1
    error: BaseException = field(default_factory=lambda: ModelError("The model is gone."))
    gate: asyncio.Event | None = None
    gated: str = ""
    judge: ScriptedCritic = field(default_factory=critic)
    searches: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    bounds: list[tuple[int, float | None]] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop | None = None

    async def wait(self, kind: str) -> None:
        self.calls.append(kind)
        self._loop = asyncio.get_running_loop()
        if self.gate and self.gated in ("", kind):
            await self.gate.wait()
        if kind == self.failing and self.calls.count(kind) >= self.failing_from:
            await asyncio.sleep(0.05)  # what runs beside it finishes, and is kept
            raise self.error
        await asyncio.sleep(0)

    async def open(self) -> None:
        """Open the gate, from any thread, once a model waits at it."""
        await until(lambda: self._loop)
        assert self.gate
        assert self._loop
        self._loop.call_soon_threadsafe(self.gate.set)

    def rag(self) -> SelfRAG:
        """A `SelfRAG` over the scripts."""
        chat = ChatOpenAI(model="scripted", api_key=SecretStr("none"), base_url="http://127.0.0.1:9/v1")
        rag = SelfRAG(retriever=ScriptedRetriever(), model=chat, settings=Settings())
        retriever = ScriptedRetriever(
            always=[Document(AIR, id="air", metadata={"source": "/docs/notes.txt", "page": 3}), SALT]
        )
        retriever.queries = self.searches
        self.judge.wait = self.wait
        generator = ScriptedGenerator(forever=lambda name, turn: GOOD, wait=self.wait, bounds=self.bounds)
        rag.services = services(generator, self.judge, retriever)
        rag.graph = build_graph(rag.services)
        return rag


def scripted_app(
    models: Models | None = None,
    *,
    feedback: FeedbackFolder | None = None,
    threads: ThreadTables | None = None,
    **options: Any,
) -> FastAPI:
    """The application over scripted models."""
    rag, served = (models or Models()).rag(), ServerOptions(**options)
    return create_app(rag, served, feedback=feedback, threads=threads)


def written(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their paths in a folder, as old as can be."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(path, (0, 0))


def app_with_documents(folder: Path, *roots: str, **given: Any) -> FastAPI:
    """The application over files and folders of a folder, or one shared document; ``given`` as to `app_over`."""
    if not roots:
        written(folder, {"shared/sky.txt": AIR})
    library = Library.open(folder / "index", BagOfWords(), embedding_name="bow")
    for root in roots or ("shared",):
        library.add([folder / root])
        library.sync()
    return app_over(library, folder, **given)


def app_over(
    library: Library,
    folder: Path,
    models: Models | None = None,
    *,
    people: Callable[[], People] = People,
    feedback: FeedbackFolder | None = None,
    threads: ThreadTables | None = None,
    **options: Any,
) -> FastAPI:
    """The application over scripted models that search a library, with its uploads in a folder."""
    rag = (models or Models()).rag()
    documents = Documents(rag, library, folder / "uploads", people=people)
    sources = Sources(documents.around, PageReader(uploaded=documents.uploaded))
    return create_app(rag, ServerOptions(**options), documents, sources, feedback, threads)


def tokens() -> Access:
    return Access(lambda: PEOPLE)


@contextmanager
def client_of(app: FastAPI, **given: Any) -> Iterator[httpx.AsyncClient]:
    """A client of the application, without a socket."""
    yield httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ADDRESS, **given)


@contextmanager
def listening(app: FastAPI, port: int = 0, *, drains: bool = True) -> Iterator[str]:
    """The address of the application, served from a thread as `serve` does; it ends at once unless it ``drains``."""
    server = server_of(app, lambda: None)
    if not drains:
        server.config.timeout_graceful_shutdown = 0
    socket = listen("127.0.0.1", port)
    thread = threading.Thread(target=server.run, args=([socket],))
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


async def ended(app: FastAPI) -> None:
    """End all runs of an application that is not served."""
    await app.state.service.runs.aclose()


async def asked(client: httpx.AsyncClient, app: FastAPI, path: str, **body: Any) -> str:
    """Start a run, and return its id when it has ended."""
    answer = await client.post(path, json=body)
    assert answer.status_code == 202, answer.text
    id_ = str(answer.json()["id"])
    await app.state.service.runs.get(id_).wait()
    return id_


async def listed(client: httpx.AsyncClient, headers: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """The documents that a token may see, by their names."""
    answer = (await client.get("/api/documents", headers=headers)).json()
    return {document["name"]: document for document in answer["documents"]}


async def found(client: httpx.AsyncClient, headers: dict[str, str] | None = None, **options: Any) -> dict[str, str]:
    """The texts of the passages that a question of the token's found, by the names of their documents."""
    answer = await client.post("/api/ask", json={"question": QUESTION, "mode": "always", **options}, headers=headers)
    assert answer.status_code == 200, answer.text
    return {Path(passage["source"]).name: passage["text"] for passage in answer.json()["passages"]}


async def pieces(size: int) -> AsyncGenerator[bytes, None]:
    """A body without a length, of so many bytes."""
    for _ in range(size // 1_000_000):
        yield b" " * 1_000_000


async def until(holds: Callable[[], Any]) -> None:
    """Return when something holds; the test's own time-out ends it if it never does."""
    while not holds():  # noqa: ASYNC110 - what is waited for may be in another thread
        await asyncio.sleep(0.002)


async def events_of(response: httpx.Response) -> AsyncGenerator[tuple[str, str, str], None]:
    """The id, the name and the data of each server-sent event."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line.startswith(":"):
            continue
        if not line and fields:
            yield fields.get("id", ""), fields.get("event", ""), fields.get("data", "")
            fields = {}
        elif line:
            name, _, value = line.partition(": ")
            fields[name] = value
