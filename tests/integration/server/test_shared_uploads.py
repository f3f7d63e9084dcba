"""Servers on several machines share one library in PostgreSQL: what one was sent, all have."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from fastapi import FastAPI

from app.libraries import add_uploads
from app.server import documents
from core.errors import RequestError, StoreUnavailable
from retrieval.library.library import Library, open_store
from retrieval.splitter import SplitSettings
from retrieval.store import UPLOADS, Machine, Model
from tests.integration.graph.sky import AIR, QUESTION, Died
from tests.integration.server.scripted_server import ANN, BOB, RED, app_over, client_of, found, listed, tokens, written
from tests.unit.retrieval.documents.pdfs import pdf
from tests.unit.retrieval.fakes import BagOfWords

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -r requirements-postgres.txt")
pytestmark = pytest.mark.postgres
GREEN = "Green light of the sky is scattered by air as well."


@dataclass
class Server:
    """A server on a machine with a disk of its own, and a client of it."""

    app: FastAPI
    library: Library
    client: httpx.AsyncClient

    async def put(self, name: str, content: str | bytes) -> dict[str, Any]:
        answer = await self.client.put(f"/api/documents/{name}", content=content)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def listed(self, who: dict[str, str] = ANN) -> dict[str, dict[str, Any]]:
        return await listed(self.client, who)

    async def found(self, who: dict[str, str] = ANN, **options: Any) -> dict[str, str]:
        return await found(self.client, who, **options)

    @property
    def uploads(self) -> Any:
        return self.library.store.uploads


Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path, postgres_url: str) -> Iterator[Start]:
    """Start a server; the first one's disk has a shared document."""
    with ExitStack() as stack:

        def start_(machine: str, split: SplitSettings | None = None, **options: Any) -> Server:
            store = open_store(postgres_url, "library", Model(BagOfWords(), "bow"), machine=Machine(machine))
            library = Library(store, split or SplitSettings())
            if machine == "a":
                written(tmp_path / "a" / "shared", {"sky.txt": AIR})
                library.add([tmp_path / "a" / "shared"])
            library.sync()
            app = app_over(library, tmp_path / machine, access=tokens(), **options)
            stack.callback(app.state.service.documents.close)
            stack.callback(app.state.service.sources.pages.close)
            return Server(app, library, stack.enter_context(client_of(app, headers=ANN)))

        yield start_


@pytest.fixture
def a(start: Start) -> Server:
    return start("a")


@pytest.fixture
def b(a: Server, start: Start) -> Server:
    return start("b")


async def upload_and_die(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server die between storing an upload and reading it."""

    async def body() -> Any:
        yield RED.encode()

    held = server.app.state.service.documents
    with monkeypatch.context() as patched:
        patched.setattr(held.library, "read_upload", Mock(side_effect=Died))
        with pytest.raises(Died):
            await held.put("ann", "red.txt", body())
    held.close()


async def test_what_one_server_was_sent_another_lists_asks_about_replaces_and_removes(
    a: Server, b: Server, tmp_path: Path, admin: psycopg.Connection[Any]
) -> None:
    told = await a.put("red light.txt", RED)
    assert (told["status"], told["passages"], told["removable"]) == ("indexed", 1, True)
    assert not (tmp_path / "a" / "uploads").exists(), "an upload lies on one machine's disk"
    assert (await b.listed())["red light.txt"] == told
    assert await b.found() == {"sky.txt": AIR, "red light.txt": RED}
    assert await b.found(sources=["red*"]) == {"red light.txt": RED}
    await b.put("red light.txt", GREEN)
    assert await a.found() == {"sky.txt": AIR, "red light.txt": GREEN}
    assert (await a.client.delete("/api/documents/red light.txt")).status_code == 204
    assert (await b.client.delete("/api/documents/red light.txt")).status_code == 404
    assert set(await b.found()) == set(await b.listed()) == {"sky.txt"}
    for table, rows in ((b"uploads", 0), (b"queue", 0), (b"documents", 1)):
        assert admin.execute(b"SELECT count(*) FROM " + table).fetchone() == (rows,), table


async def test_a_sync_on_any_machine_leaves_uploads_alone(a: Server, b: Server) -> None:
    await a.put("red.txt", RED)
    for server in (a, b):
        report = server.library.sync()
        assert (report.removed, report.updated, report.added, report.notes) == ([], [], [], [])
        assert report.passages == 2
    for root in a.library.roots():
        a.library.remove(root)
    assert a.library.sync().removed == []
    assert await a.found() == {"red.txt": RED}


async def test_an_upload_whose_server_died_is_read_by_the_next_refresh_of_another(
    a: Server, b: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upload_and_die(a, monkeypatch)
    assert (await b.listed())["red.txt"]["status"] == "indexing"
    assert "red.txt" not in await b.listed(BOB)
    monkeypatch.setattr(documents, "REFRESH_SECONDS", 0)
    while await b.found() != {"sky.txt": AIR, "red.txt": RED}:
        pass
    assert (await b.listed())["red.txt"]["status"] == "indexed"


async def test_an_upload_that_no_queue_has_any_more_is_read_by_the_next_sync(
    a: Server, b: Server, monkeypatch: pytest.MonkeyPatch, admin: psycopg.Connection[Any]
) -> None:
    await upload_and_die(a, monkeypatch)
    admin.execute("DELETE FROM queue")
    b.library.sync()
    assert await b.found() == {"sky.txt": AIR, "red.txt": RED}


async def test_uploads_are_read_again_with_other_settings(a: Server, start: Start) -> None:
    await a.put("red.txt", " ".join([RED, GREEN] * 10))
    other = start("c", SplitSettings(100, 0))
    assert other.library.store.outdated(SplitSettings(100, 0)) == []
    assert (await other.listed())["red.txt"]["passages"] > 10


async def test_an_upload_with_other_settings_makes_the_library_anew(a: Server) -> None:
    await a.put("long.txt", " ".join([RED, GREEN] * 10))
    a.library.settings = SplitSettings(100, 0)
    assert (await a.put("red.txt", RED))["status"] == "indexed"
    assert (await a.listed())["long.txt"]["passages"] > 10


async def test_an_upload_that_is_replaced_while_it_is_read_is_the_new_one(a: Server, b: Server) -> None:
    class Slow(BagOfWords):
        replaced = False

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if texts == [RED] and not self.replaced:
                self.replaced = True
                b.uploads.put(UPLOADS + b"/ann/note.txt", GREEN.encode())
            return super().embed_documents(texts)

    a.library.store.model = Model(Slow(), "bow")
    await a.put("note.txt", RED)
    assert (await b.found())["note.txt"] == GREEN


async def test_an_upload_that_is_removed_while_it_is_read_stays_removed(
    a: Server, b: Server, admin: psycopg.Connection[Any]
) -> None:
    class Slow(BagOfWords):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            assert b.uploads.remove(UPLOADS + b"/ann/note.txt")
            return super().embed_documents(texts)

    a.library.store.model = Model(Slow(), "bow")
    told = await a.put("note.txt", RED)
    assert told["reason"] == "It was removed meanwhile."
    assert set(await b.found()) == set(await b.listed()) == {"sky.txt"}
    assert admin.execute("SELECT count(*) FROM queue").fetchone() == (0,)


async def test_an_upload_that_cannot_be_read_is_listed_with_the_reason_and_not_read_again(
    a: Server, b: Server, admin: psycopg.Connection[Any]
) -> None:
    told = await a.put("broken.pdf", "%PDF-1.7")
    assert (told["status"], told["passages"], told["reason"].startswith("broken.pdf ")) == ("failed", 0, True)
    assert (await b.listed())["broken.pdf"] == told
    uploads = b.uploads
    assert not uploads.unread()
    admin.execute("UPDATE documents SET sha256 = '' WHERE status = 'failed'")  # as of one that ends its reader
    assert not uploads.unread()
    assert (await b.client.delete("/api/documents/broken.pdf")).status_code == 204
    assert "broken.pdf" not in await a.listed()


async def test_an_upload_that_is_broken_off_leaves_the_old_one(a: Server) -> None:
    async def broken() -> Any:
        yield b"half"
        raise OSError(28, "No space left on device")

    await a.put("red.txt", RED)
    with pytest.raises(RequestError, match="make room on the server's disk"):
        await a.app.state.service.documents.put("ann", "red.txt", broken())
    assert (await a.found())["red.txt"] == RED


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (StoreUnavailable("The database is gone: look."), 503, "The database is gone: look."),
        (RequestError("The disk is full: free some."), 507, "red.txt cannot be stored: The disk is full: free some."),
    ],
)
async def test_what_the_database_does_not_take_is_said(
    a: Server, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, said: str
) -> None:
    monkeypatch.setattr(a.uploads, "put", Mock(side_effect=error))
    refused = await a.client.put("/api/documents/red.txt", content=RED.encode())
    assert (refused.status_code, refused.json()["error"]["message"]) == (status, said)


async def test_an_upload_is_kept_for_later_when_the_database_goes_away(
    a: Server, b: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Mock(side_effect=StoreUnavailable("The database is gone: look."))
    monkeypatch.setattr(a.library.require_queue(), "take", away)
    refused = await a.client.put("/api/documents/red.txt", content=RED.encode())
    assert refused.status_code == 503
    assert refused.json()["error"]["message"].startswith("red.txt is stored, and indexed later")
    assert (await b.listed())["red.txt"]["status"] == "indexing"


async def test_the_first_documents_of_a_library_may_be_sent_to_several_servers_at_once(start: Start) -> None:
    servers = [start("c"), start("d")]
    several = enumerate(servers * 3, 1)
    await asyncio.gather(*(server.put(f"{number}.txt", RED * number) for number, server in several))
    assert [entry["status"] for entry in (await servers[0].listed()).values()] == ["indexed"] * 6
    library = servers[0].library
    made = library.store.made()
    assert (made.embedding, made.splitter) == ("bow", asdict(SplitSettings()))
    assert library.verify().problems == []


async def test_damage_of_an_upload_is_mended_from_its_bytes(
    a: Server, b: Server, admin: psycopg.Connection[Any]
) -> None:
    await a.put("red.txt", RED)
    admin.execute("UPDATE passages SET text = 'Nothing.' WHERE text = %s", (RED,))
    assert any("were read again" in repair for repair in b.library.verify().repairs)
    assert await b.found() == {"sky.txt": AIR, "red.txt": RED}


async def test_the_page_of_a_pdf_is_shown_by_a_server_that_never_had_it(a: Server, b: Server) -> None:
    before = pdf(["A page before it.", AIR])
    assert (await a.put("air.pdf", before))["status"] == "indexed"
    asked = {"question": QUESTION, "mode": "always", "sources": ["air.pdf"]}
    id_ = (await b.client.post("/api/ask", json=asked)).headers["x-run-id"]
    place = (await b.client.get(f"/api/runs/{id_}/citations/1")).json()
    assert (place["kind"], place["source"], place["page"]) == ("page", "uploads:/ann/air.pdf", 2)
    assert len(place["rectangles"]) == 1
    picture = await b.client.get(place["page_image"])
    assert (picture.headers["content-type"], picture.content[:4]) == ("image/png", b"\x89PNG")
    await a.put("air.pdf", pdf([AIR]))
    assert (await b.client.get(place["page_image"])).status_code == 404
    id_ = (await b.client.post("/api/ask", json=asked)).headers["x-run-id"]
    assert (await b.client.get(f"/api/runs/{id_}/citations/1")).json()["page"] == 1
    await a.client.delete("/api/documents/air.pdf")
    assert (await b.client.get(f"/api/runs/{id_}/citations/1/page.png")).status_code == 404


async def test_what_an_older_version_kept_in_a_folder_is_moved_into_the_database(
    a: Server, b: Server, tmp_path: Path
) -> None:
    folder = tmp_path / "a" / "uploads"
    written(folder, {"ann/red.txt": RED, "ann/.1234.part": GREEN})
    a.library.add([folder])
    a.library.sync()
    assert {path.name for path in (source.path for source in a.library.sources())} == {"sky.txt", "red.txt"}
    assert "red.txt" not in await a.listed(BOB), "before it is moved it is told from shared documents"
    for _ in range(2):
        add_uploads(a.library, folder)
        a.library.sync()
    assert (await b.listed())["red.txt"]["source"] == "uploads:/ann/red.txt"
    assert await b.found() == {"sky.txt": AIR, "red.txt": RED}
    assert set(await b.found(BOB)) == {"sky.txt"}
    assert folder.resolve() not in a.library.roots()
