"""A server that keeps threads, in a process that may be killed."""

from __future__ import annotations

import re
from multiprocessing.connection import Connection
from pathlib import Path

from langchain_core.documents import Document
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from app.front_door import SelfRAG
from app.serve import listen, server_of
from app.server.application import create_app
from app.server.service import ServerOptions
from app.settings import Settings
from app.threads.store import Threads
from graph.builder import build_graph
from graph.context import Context, RetrieverLike, Services
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from tests.stress.faults.tickets import TicketRetriever, passages
from tests.stress.graph_kills.worker import ROOMY

AT_ONCE = 16
SILENCE = 2.0  # seconds after which the other servers take a server for dead


class MarkerRetriever:
    """Find the marker of the thread that a query names, and nothing of any other."""

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        """As LangChain's retrievers."""
        return [Document(marked(number), metadata={"source": "markers.txt"}) for number in re.findall(r"[0-9]+", input)]


def marked(number: str | int) -> str:
    """The sentence that only one thread may have in its answers."""
    return f"Thread {number} keeps the word marker{number}x."


def serve_threads(store: Path | str, base_url: str, model: str, markers: bool, ready: Connection) -> None:
    """Serve over the model at ``base_url``, and send the port when the server has started.

    ``store`` is the folder of the threads, or the address of a database that several servers share.
    """
    chat = openai_chat(model, base_url=base_url, api_key="none", call_seconds=60)
    retriever: RetrieverLike = MarkerRetriever() if markers else TicketRetriever(passages())
    named = ChatOpenAI(model=model, api_key=SecretStr("none"), base_url=base_url)
    rag = SelfRAG(retriever=retriever, model=named, settings=Settings())
    rag.services = Services(Generator(chat), Critic(chat), retriever)
    rag.context = Context(limits=ROOMY)
    rag.graph = build_graph(rag.services)
    options = ServerOptions(at_once=AT_ONCE)
    if isinstance(store, Path):
        app = create_app(rag, options, threads=Threads(store))
    else:
        from app.postgres.runs import RunTable
        from app.postgres.threads import SharedThreads

        threads = SharedThreads(store, silence=SILENCE)
        app = create_app(rag, options, threads=threads, table=RunTable(threads.database, threads.leases))
    listening = listen("127.0.0.1", 0)
    server_of(app, lambda: ready.send(listening.getsockname()[1])).run(sockets=[listening])
