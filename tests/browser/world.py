"""A server as `serve` starts it, over a library of its own and a model server that answers from a script."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from fastapi import FastAPI
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from app.conversations.feedback import FeedbackFolder
from app.conversations.store import Threads
from app.front_door import SelfRAG
from app.server.application import create_app
from app.server.asking import ServerOptions
from app.server.documents import Documents
from app.server.sources import Sources
from app.settings import Settings
from retrieval.library.library import Library
from run.context import Limits
from tests.integration.openai_server import Asked, Fault, Inputs, OpenAIServer, Policy
from tests.integration.server.scripted_server import listening
from tests.unit.retrieval.documents.pdfs import pdf
from tests.unit.retrieval.fakes import BagOfWords

BREAK = "When may the tenant end the lease early, and what must it do first?"
CLAIMS = {
    "The tenant may end the lease early on 31 March 2030.": "fully supported",
    "It must give at least six months' written notice, that is, by 30 September 2029 at the latest.": "fully supported",
    "The break is valid only if all rent and the service charge have been paid.": "partially supported",
    "The landlord must confirm the notice within 14 days.": "no support",
}
DEPOSIT = "How many months' rent is the deposit?"
THREE, TWO = "three months' rent", "two months' rent"
UNANSWERED = "Which bank holds the landlord's account?"
HEADS = f"""# Heads of terms

## Deposit

Before the lease was signed, the parties agreed on a deposit of {TWO}, payable on signature.
"""
PARKING = "Which numbers do the parking spaces have?"
TABLE = "Which numbers do the eight parking spaces of the premises have, as a table?"
ROW = "| parking spaces | 21 to 28 |"
PLAN = "The eight parking spaces are numbered 21 to 28 and lie behind the mill."
LEASE = Path(__file__).parents[2] / "data" / "library" / "lease-summary.txt"


class Lawyer(Policy):
    """Knows the questions above; passages are relevant that share words with one of its own."""

    def label(self, kind: str, inputs: Inputs) -> str:
        if kind == "relevance":
            words = {BREAK: ("end the lease early",), DEPOSIT: ("deposit of",)}.get(inputs["question"])
            if words is None:
                return super().label(kind, inputs) if inputs["question"] != UNANSWERED else "irrelevant"
            return "relevant" if any(word in inputs["passage"] for word in words) else "irrelevant"
        if kind == "support":
            if inputs["claim"].endswith(ROW):
                return "fully supported"
            known = (label for claim, label in CLAIMS.items() if claim in inputs["claim"])
            return next(known, None) or super().label(kind, inputs)
        return super().label(kind, inputs)

    def text(self, kind: str, inputs: Inputs) -> str:
        if kind == "query":
            return "landlord's bank account" if inputs["question"] == UNANSWERED else "break clause notice"
        if kind == "brief":
            return next(answer for answer in (THREE, TWO, "none") if answer in inputs["passage"] or answer == "none")
        if kind in ("draft", "mend", "improve") and inputs["question"] == BREAK:
            return " ".join(CLAIMS)
        if kind == "draft" and inputs["question"] == PARKING:
            return PLAN
        if kind == "draft" and inputs["question"] == TABLE:
            return f"| parking | numbers |\n| --- | --- |\n{ROW}"
        if kind == "draft" and inputs["question"] == DEPOSIT:
            return f"The tenant has paid a deposit of 23,250 pounds, which equals {THREE}."
        return super().text(kind, inputs)


class Model(OpenAIServer):
    """The model server; it waits before a reply of a ``held`` kind until `release`, and streams with ``pause``."""

    def __init__(self) -> None:
        self.held = ""
        self.pause = 0.0
        self.broken = False
        self._free = threading.Event()
        self._passed: list[Asked] = []
        self._after = 0
        super().__init__(policy=Lawyer())
        self.always = self._fault

    def hold(self, kind: str, after: int = 0) -> None:
        """Wait before each reply of this kind but the first ``after`` ones."""
        self._free.clear()
        self._passed.clear()
        self.held, self._after = kind, after

    def release(self) -> None:
        self.held = ""
        self._free.set()

    def _fault(self, asked: Asked) -> Fault | None:
        if asked.kind == self.held:
            self._passed.append(asked)
            if len(self._passed) > self._after:
                self._free.wait(30)
        if self.broken:
            return Fault(carry=lambda wire: replace(wire, status=401, pieces=(b'{"error": {"message": "No."}}',)))
        pause = self.pause
        return Fault(carry=lambda wire: replace(wire, pause=pause)) if pause and asked.body.get("stream") else None


@dataclass
class World:
    address: str
    model: Model
    folder: Path
    app: Any = field(repr=False)
    restart: Callable[[], None] = field(repr=False)


@contextmanager
def served(
    folder: Path,
    arrange: Callable[[Path], None] = lambda shared: None,
    sources: Callable[[Library], Sources] = lambda library: Sources(),
    *,
    threads: bool = False,
    **options: Any,
) -> Iterator[World]:
    """Serve over documents in ``folder``, to which ``arrange`` may add; ``sources`` shows where quotes stand.

    A restart shuts the server down and starts another one, on the same port and with the same folders. One that keeps
    threads shuts down at once.
    """
    shared = folder / "documents"
    shared.mkdir()
    shutil.copy(LEASE, shared)
    (shared / "heads-of-terms.md").write_text(HEADS, encoding="utf-8")
    (shared / "parking-plan.pdf").write_bytes(pdf([PLAN]))
    arrange(shared)
    model = Model()

    def application() -> FastAPI:
        library = Library.open(folder / "index", BagOfWords(), embedding_name="bow")
        library.add([shared])
        library.sync()
        chat = ChatOpenAI(
            model="gpt-4o-mini",
            api_key=SecretStr("none"),
            base_url=model.base_url,
            max_retries=0,
            stream_usage=True,
            http_async_client=httpx.AsyncClient(),  # LangChain's own stays with the event loop of the first server
        )
        rag = SelfRAG(
            retriever=library.store.as_retriever(), model=chat, settings=Settings(selfrag_embedding_model="bow")
        )
        rag.context = rag.context.model_copy(update={"limits": Limits(rewrites=1, drafts=1)})
        documents, feedback = Documents(rag, library, folder / "uploads"), FeedbackFolder(folder / "feedback")
        kept = Threads(folder / "threads") if threads else None
        return create_app(rag, ServerOptions(**options), documents, sources(library), feedback, kept)

    with ExitStack() as server:

        def restart() -> None:
            server.close()
            world.app = application()
            server.enter_context(listening(world.app, urlsplit(world.address).port or 0))

        app = application()
        world = World("", model, folder, app, restart)
        world.address = server.enter_context(listening(app, drains=not threads))
        try:
            yield world
        finally:
            model.release()
            server.close()
            model.close()
