"""Servers on several machines share one library in PostgreSQL: what one was sent, all have."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from fastapi import FastAPI

from app.libraries import add_uploads
from app.server import documents
from app.server.application import create_app
from app.server.asking import ServerOptions
from app.server.documents import Documents
from app.server.sources import Sources
from core.errors import RequestError, StoreUnavailable
from retrieval.library.library import Library, open_store
from retrieval.sandbox.pages import PageReader
from retrieval.splitter import SplitSettings
from retrieval.store import UPLOADS, Machine, Model
from tests.integration.graph.sky import AIR, QUESTION
from tests.integration.server.scripted_server import ANN, BOB, RED, Models, client_of, found, listed, tokens
from tests.unit.retrieval.documents.pdfs import pdf
from tests.unit.retrieval.fakes import BagOfWords

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -r requirements-postgres.txt")
pytestmark = pytest.mark.postgres
GREEN = "Green light of the sky is scattered by air as well."
Start = Callable[..., FastAPI]


@pytest.fixture
def start(tmp_path: Path, postgres_url: str) -> Iterator[Start]:
    """Start a server on a machine with a disk of its own; the first one's has a shared document."""
    with ExitStack() as stack:

        def start_(machine: str, split: SplitSettings | None = None, **options: Any) -> FastAPI:
            store = open_store(postgres_url, "shared", Model(BagOfWords(), "bow"), machine=Machine(machine))
            library = Library(store, split or SplitSettings())
            if machine == "a":
                shared = tmp_path / "a" / "shared"
                shared.mkdir(parents=True, exist_ok=True)
                (shared / "sky.txt").write_text(AIR)
                library.add([shared])
            library.sync()
            rag = Models().rag()
            held = Documents(rag, library, tmp_path / machine / "uploads")
            stack.callback(held.close)
            pages = PageReader(uploaded=held.uploaded)
            stack.callback(pages.close)
            sources = Sources(held.around, pages)
            return create_app(rag, ServerOptions(**{"access": tokens(), **options}), held, sources)

        yield start_


@pytest.fixture
def a(start: Start) -> FastAPI:
    return start("a")


@pytest.fixture
def b(a: FastAPI, start: Start) -> FastAPI:
    return start("b")


@pytest.fixture
def on_a(a: FastAPI) -> Iterator[httpx.AsyncClient]:
    with client_of(a, headers=ANN) as client:
        yield client


@pytest.fixture
def on_b(b: FastAPI) -> Iterator[httpx.AsyncClient]:
    with client_of(b, headers=ANN) as client:
        yield client


@pytest.fixture
def admin(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET search_path = selfrag_shared, public")
        yield connection


def library_of(app: FastAPI) -> Library:
    library = app.state.service.documents.library
    assert isinstance(library, Library)
    return library


async def put(client: httpx.AsyncClient, name: str, text: str, **options: Any) -> dict[str, Any]:
    answer = await client.put(f"/api/documents/{name}", content=text.encode(), **options)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def count(admin: psycopg.Connection[Any], table: str) -> int:
    row = admin.execute(psycopg.sql.SQL("SELECT count(*) FROM {}").format(psycopg.sql.Identifier(table))).fetchone()
    return int(row[0])  # type: ignore[index]


class Death(BaseException):
    """The end of a process."""


async def upload_and_die(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server die between storing an upload and reading it."""

    async def body() -> Any:
        yield RED.encode()

    held = app.state.service.documents
    with monkeypatch.context() as patched:
        patched.setattr(held.library, "read_upload", Mock(side_effect=Death))
        with pytest.raises(Death):
            await held.put("ann", "red.txt", body())
    held.close()


async def test_what_one_server_was_sent_another_lists_asks_about_replaces_and_removes(
    on_a: httpx.AsyncClient, on_b: httpx.AsyncClient, tmp_path: Path, admin: psycopg.Connection[Any]
) -> None:
    told = await put(on_a, "red light.txt", RED)
    assert (told["status"], told["passages"], told["removable"]) == ("indexed", 1, True)
    assert not (tmp_path / "a" / "uploads").exists(), "an upload lies on one machine's disk"
    assert (await listed(on_b))["red light.txt"] == told
    assert await found(on_b) == {"sky.txt": AIR, "red light.txt": RED}
    assert await found(on_b, sources=["red*"]) == {"red light.txt": RED}
    await put(on_b, "red light.txt", GREEN)
    assert await found(on_a) == {"sky.txt": AIR, "red light.txt": GREEN}
    assert (await on_a.delete("/api/documents/red light.txt")).status_code == 204
    assert (await on_b.delete("/api/documents/red light.txt")).status_code == 404
    assert set(await found(on_b)) == set(await listed(on_b)) == {"sky.txt"}
    assert [count(admin, table) for table in ("uploads", "queue", "documents")] == [0, 0, 1]


async def test_a_sync_on_any_machine_leaves_uploads_alone(a: FastAPI, b: FastAPI, on_a: httpx.AsyncClient) -> None:
    await put(on_a, "red.txt", RED)
    for app in (a, b):
        report = library_of(app).sync()
        assert (report.removed, report.updated, report.added, report.notes) == ([], [], [], [])
        assert report.passages == 2
    for root in library_of(a).roots():
        library_of(a).remove(root)
    assert library_of(a).sync().removed == []
    assert await found(on_a) == {"red.txt": RED}


async def test_an_upload_whose_server_died_is_read_by_the_next_refresh_of_another(
    a: FastAPI, on_b: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upload_and_die(a, monkeypatch)
    assert (await listed(on_b))["red.txt"]["status"] == "indexing"
    assert "red.txt" not in await listed(on_b, BOB)
    monkeypatch.setattr(documents, "REFRESH_SECONDS", 0)
    while await found(on_b) != {"sky.txt": AIR, "red.txt": RED}:
        pass
    assert (await listed(on_b))["red.txt"]["status"] == "indexed"


async def test_an_upload_that_no_queue_has_any_more_is_read_by_the_next_sync(
    a: FastAPI, b: FastAPI, on_b: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, admin: psycopg.Connection[Any]
) -> None:
    await upload_and_die(a, monkeypatch)
    admin.execute("DELETE FROM queue")
    library_of(b).sync()
    assert await found(on_b) == {"sky.txt": AIR, "red.txt": RED}


async def test_uploads_are_read_again_with_other_settings(
    on_a: httpx.AsyncClient, start: Start, admin: psycopg.Connection[Any]
) -> None:
    await put(on_a, "red.txt", " ".join([RED, GREEN] * 10))
    other = start("c", SplitSettings(100, 0))
    assert library_of(other).store.outdated(SplitSettings(100, 0)) == []
    with client_of(other, headers=ANN) as client:
        assert (await listed(client))["red.txt"]["passages"] > 10


async def test_an_upload_with_other_settings_makes_the_library_anew(a: FastAPI, on_a: httpx.AsyncClient) -> None:
    await put(on_a, "long.txt", " ".join([RED, GREEN] * 10))
    library_of(a).settings = SplitSettings(100, 0)
    assert (await put(on_a, "red.txt", RED))["status"] == "indexed"
    assert (await listed(on_a))["long.txt"]["passages"] > 10


async def test_an_upload_that_is_replaced_while_it_is_read_is_the_new_one(
    a: FastAPI, b: FastAPI, on_a: httpx.AsyncClient, on_b: httpx.AsyncClient
) -> None:
    class Slow(BagOfWords):
        replaced = False

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if texts == [RED] and not self.replaced:
                self.replaced = True
                library_of(b).store.uploads.put(UPLOADS + b"/ann/note.txt", GREEN.encode())
            return super().embed_documents(texts)

    library_of(a).store.model = Model(Slow(), "bow")
    await put(on_a, "note.txt", RED)
    assert (await found(on_b))["note.txt"] == GREEN


async def test_an_upload_that_is_removed_while_it_is_read_stays_removed(
    a: FastAPI, b: FastAPI, on_a: httpx.AsyncClient, on_b: httpx.AsyncClient, admin: psycopg.Connection[Any]
) -> None:
    class Slow(BagOfWords):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            assert library_of(b).store.uploads.remove(UPLOADS + b"/ann/note.txt")
            return super().embed_documents(texts)

    library_of(a).store.model = Model(Slow(), "bow")
    told = await put(on_a, "note.txt", RED)
    assert told["reason"] == "It was removed meanwhile."
    assert set(await found(on_b)) == set(await listed(on_b)) == {"sky.txt"}
    assert count(admin, "queue") == 0


async def test_an_upload_that_cannot_be_read_is_listed_with_the_reason_and_not_read_again(
    b: FastAPI, on_a: httpx.AsyncClient, on_b: httpx.AsyncClient, admin: psycopg.Connection[Any]
) -> None:
    told = await put(on_a, "broken.pdf", "%PDF-1.7")
    assert (told["status"], told["passages"], told["reason"].startswith("broken.pdf ")) == ("failed", 0, True)
    assert (await listed(on_b))["broken.pdf"] == told
    uploads = library_of(b).store.uploads
    assert not uploads.unread()
    admin.execute("UPDATE documents SET sha256 = '' WHERE status = 'failed'")  # as of one that ends its reader
    assert not uploads.unread()
    assert (await on_b.delete("/api/documents/broken.pdf")).status_code == 204
    assert "broken.pdf" not in await listed(on_a)


async def test_an_upload_that_is_too_large_or_broken_off_leaves_the_old_one(
    start: Start, admin: psycopg.Connection[Any]
) -> None:
    app = start("a", largest_upload=1_000)

    async def broken() -> Any:
        yield b"half"
        raise OSError(28, "No space left on device")

    with client_of(app, headers=ANN) as client:
        await put(client, "red.txt", RED)
        assert (await client.put("/api/documents/red.txt", content=b"x" * 1_001)).status_code == 413
        with pytest.raises(RequestError, match="make room on the server's disk"):
            await app.state.service.documents.put("ann", "red.txt", broken())
        assert (await found(client))["red.txt"] == RED


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (StoreUnavailable("The database is gone: look."), 503, "The database is gone: look."),
        (RequestError("The disk is full: free some."), 507, "red.txt cannot be stored: The disk is full: free some."),
    ],
)
async def test_what_the_database_does_not_take_is_said(
    a: FastAPI, on_a: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, said: str
) -> None:
    monkeypatch.setattr(library_of(a).store.uploads, "put", Mock(side_effect=error))
    refused = await on_a.put("/api/documents/red.txt", content=RED.encode())
    assert (refused.status_code, refused.json()["error"]["message"]) == (status, said)


async def test_an_upload_is_kept_for_later_when_the_database_goes_away(
    a: FastAPI, on_a: httpx.AsyncClient, on_b: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Mock(side_effect=StoreUnavailable("The database is gone: look."))
    monkeypatch.setattr(library_of(a).require_queue(), "take", away)
    refused = await on_a.put("/api/documents/red.txt", content=RED.encode())
    assert refused.status_code == 503
    assert refused.json()["error"]["message"].startswith("red.txt is stored, and indexed later")
    assert (await listed(on_b))["red.txt"]["status"] == "indexing"


async def test_the_first_documents_of_a_library_may_be_sent_to_several_servers_at_once(start: Start) -> None:
    apps = [start("c"), start("d")]
    with client_of(apps[0], headers=ANN) as one, client_of(apps[1], headers=ANN) as other:
        clients = [one, other] * 3
        await asyncio.gather(*(put(client, f"{number}.txt", RED * number) for number, client in enumerate(clients, 1)))
        assert [entry["status"] for entry in (await listed(one)).values()] == ["indexed"] * 6
    made = library_of(apps[0]).store.made()
    assert (made.embedding, made.splitter) == ("bow", asdict(SplitSettings()))
    assert library_of(apps[0]).verify().problems == []


async def test_damage_of_an_upload_is_mended_from_its_bytes(
    b: FastAPI, on_a: httpx.AsyncClient, on_b: httpx.AsyncClient, admin: psycopg.Connection[Any]
) -> None:
    await put(on_a, "red.txt", RED)
    admin.execute("UPDATE passages SET text = 'Nothing.' WHERE text = %s", (RED,))
    assert any("were read again" in repair for repair in library_of(b).verify().repairs)
    assert await found(on_b) == {"sky.txt": AIR, "red.txt": RED}


async def test_the_page_of_a_pdf_is_shown_by_a_server_that_never_had_it(
    on_a: httpx.AsyncClient, on_b: httpx.AsyncClient
) -> None:
    before = pdf(["A page before it.", AIR])
    assert (await on_a.put("/api/documents/air.pdf", content=before)).json()["status"] == "indexed"
    asked = {"question": QUESTION, "mode": "always", "sources": ["air.pdf"]}
    id_ = (await on_b.post("/api/ask", json=asked)).headers["x-run-id"]
    place = (await on_b.get(f"/api/runs/{id_}/citations/1")).json()
    assert (place["kind"], place["source"], place["page"]) == ("page", "uploads:/ann/air.pdf", 2)
    assert len(place["rectangles"]) == 1
    picture = await on_b.get(place["page_image"])
    assert (picture.headers["content-type"], picture.content[:4]) == ("image/png", b"\x89PNG")
    await on_a.put("/api/documents/air.pdf", content=pdf([AIR]))
    assert (await on_b.get(place["page_image"])).status_code == 404
    id_ = (await on_b.post("/api/ask", json=asked)).headers["x-run-id"]
    assert (await on_b.get(f"/api/runs/{id_}/citations/1")).json()["page"] == 1
    await on_a.delete("/api/documents/air.pdf")
    assert (await on_b.get(f"/api/runs/{id_}/citations/1/page.png")).status_code == 404


async def test_what_an_older_version_kept_in_a_folder_is_moved_into_the_database(
    a: FastAPI, on_a: httpx.AsyncClient, on_b: httpx.AsyncClient, tmp_path: Path
) -> None:
    folder = tmp_path / "a" / "uploads"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / "red.txt").write_text(RED)
    (folder / "ann" / ".1234.part").write_text(GREEN)
    library_of(a).add([folder])
    library_of(a).sync()
    assert {path.name for path in (source.path for source in library_of(a).sources())} == {"sky.txt", "red.txt"}
    assert "red.txt" not in await listed(on_a, BOB), "before it is moved it is told from shared documents"
    for _ in range(2):
        add_uploads(library_of(a), folder)
        library_of(a).sync()
    assert (await listed(on_b))["red.txt"]["source"] == "uploads:/ann/red.txt"
    assert await found(on_b) == {"sky.txt": AIR, "red.txt": RED}
    assert set(await found(on_b, BOB)) == {"sky.txt"}
    assert folder.resolve() not in library_of(a).roots()
