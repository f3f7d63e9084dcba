"""Documents are uploaded, indexed, searched and removed; each token's are its own."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import ClientDisconnect

from app.server import documents
from app.server.errors import StorageError
from core.errors import IndexBusy, RequestError
from tests.integration.graph.sky import AIR, QUESTION
from tests.integration.server.scripted_server import (
    ANN,
    BOB,
    RED,
    app_with_documents,
    client_of,
    found,
    listed,
    tokens,
    written,
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[FastAPI]:
    app = app_with_documents(tmp_path, access=tokens())
    yield app
    app.state.service.documents.close()


@pytest.fixture
def client(app: FastAPI) -> Iterator[httpx.AsyncClient]:
    with client_of(app, headers=ANN) as client:
        yield client


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def test_a_document_is_indexed_found_and_removed(client: httpx.AsyncClient, tmp_path: Path) -> None:
    assert set(await found(client)) == {"sky.txt"}
    put = await client.put("/api/documents/red light.txt", content=RED.encode())
    assert put.status_code == 200
    assert (put.json()["status"], put.json()["passages"], put.json()["removable"]) == ("indexed", 1, True)
    assert (tmp_path / "uploads" / "ann" / "red light.txt").read_text() == RED
    assert set(await found(client)) == {"sky.txt", "red light.txt"}
    assert set(await found(client, sources=["red*"])) == {"red light.txt"}
    removable = {name: one["removable"] for name, one in (await listed(client)).items()}
    assert removable == {"sky.txt": False, "red light.txt": True}
    assert (await client.put("/api/documents/red light.txt", content=AIR.encode())).json()["status"] == "indexed"
    assert (await client.delete("/api/documents/red light.txt")).status_code == 204
    assert (await client.delete("/api/documents/red light.txt")).status_code == 404
    assert set(await found(client)) == set(await listed(client)) == {"sky.txt"}


def test_what_a_kill_left_of_an_upload_is_removed_at_a_start(tmp_path: Path) -> None:
    folder = tmp_path / "uploads" / "ann"
    folder.mkdir(parents=True)
    left, running, kept = folder / ".0123456789abcdef.part", folder / ".fedcba9876543210.part", folder / "red.part"
    for file in (left, running, kept):
        file.write_text(RED)
    for file in (left, kept):
        os.utime(file, (0, 0))
    app_with_documents(tmp_path).state.service.documents.close()
    assert files_in(folder) == [running, kept]


async def test_what_changes_on_the_disk_or_in_the_persons_own_library_is_indexed_while_questions_are_asked(
    app: FastAPI, client: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = app.state.service.documents
    monkeypatch.setattr(held, "_follow", lambda: held.library.add([tmp_path / "own.txt"]))
    written(tmp_path, {"shared/red.txt": RED, "own.txt": f"{RED} So it is."})
    assert set(await found(client)) == {"sky.txt"}
    assert held._refreshing is None, "it was just looked through"
    monkeypatch.setattr(documents, "REFRESH_SECONDS", 0)
    while set(await found(client)) != {"sky.txt", "red.txt", "own.txt"}:
        pass
    (tmp_path / "shared" / "sky.txt").unlink()
    while set(await found(client)) != {"red.txt", "own.txt"}:
        pass


async def test_an_upload_that_is_excluded_is_said_to_be(app: FastAPI, client: httpx.AsyncClient) -> None:
    app.state.service.documents.library.exclude(["*red*"])
    put = (await client.put("/api/documents/red.txt", content=RED.encode())).json()
    assert (put["status"], put["reason"]) == ("failed", "It was excluded by '*red*'.")
    assert set(await found(client)) == {"sky.txt"}


@pytest.mark.parametrize("error", [IndexBusy("Another process writes."), RequestError("shared is not there.")])
async def test_a_disk_that_cannot_be_looked_through_does_not_end_a_question(
    app: FastAPI, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    fail = Mock(side_effect=error)
    monkeypatch.setattr(documents, "REFRESH_SECONDS", 0)
    monkeypatch.setattr(app.state.service.documents.library, "sync", fail)
    while fail.call_count < 2:
        assert set(await found(client)) == {"sky.txt"}


async def test_what_one_token_uploads_no_other_sees(client: httpx.AsyncClient) -> None:
    await client.put("/api/documents/ann.txt", content=RED.encode())
    await client.put("/api/documents/bob.txt", content=RED.replace("Red", "Reddish").encode(), headers=BOB)
    assert set(await listed(client)) == {"sky.txt", "ann.txt"}
    assert set(await listed(client, BOB)) == {"sky.txt", "bob.txt"}
    assert set(await found(client)) == {"sky.txt", "ann.txt"}
    assert set(await found(client, BOB)) == {"sky.txt", "bob.txt"}
    refusals = [
        await client.post("/api/ask", json={"question": QUESTION, "sources": [name]}, headers=BOB)
        for name in ("ann.txt", "nobody.txt")
    ]
    assert [refused.status_code for refused in refusals] == [400, 400]
    assert refusals[0].text.replace("ann", "nobody") == refusals[1].text, "that it is there is not told either"
    assert (await client.delete("/api/documents/ann.txt", headers=BOB)).status_code == 404
    assert (await client.delete("/api/documents/sky.txt", headers=BOB)).status_code == 404
    assert set(await found(client, sources=["ann.txt"])) == {"ann.txt"}


async def test_an_upload_with_many_spaces_in_its_name_is_removed_by_the_name_that_is_told(
    client: httpx.AsyncClient,
) -> None:
    told = (await client.put("/api/documents/red   light.txt", content=RED.encode())).json()
    assert set(await found(client, sources=[f"/{told['source']}"])) == {told["name"]}
    assert (await client.delete(f"/api/documents/{told['name']}")).status_code == 204


@pytest.mark.parametrize(
    "name",
    [
        "../up.txt", "..%2Fup.txt", "%2e%2e%2fup.txt", "..\\up.txt", "a/b.txt", "/etc/passwd.txt", "C:up.txt",
        ".hidden.txt",        "a\x00.txt", "a\n.txt", "a\x1b[31m.txt", "a\u202etxt.exe.txt", "\u200b.txt",
        " .txt", "x" * 300 + ".txt",
        "a\ud800.txt", "run.exe", "run.sh", "noending",
    ],
)  # fmt: skip
async def test_a_name_that_is_none_is_refused_and_nothing_is_written(
    client: httpx.AsyncClient, tmp_path: Path, name: str
) -> None:
    before = files_in(tmp_path)
    path = name if "%" in name else quote(name.encode("utf-8", "surrogatepass"), safe="")
    for method in ("PUT", "DELETE"):
        refused = await client.request(method, f"/api/documents/{path}", content=b"text")
        assert refused.status_code in (400, 404)
        assert refused.json()["error"]["message"].isprintable()
    assert files_in(tmp_path) == before


async def test_what_cannot_be_read_is_left_out_with_the_reason(client: httpx.AsyncClient) -> None:
    for name, data in {"empty.md": b"", "broken.pdf": b"%PDF-1.7"}.items():
        put = await client.put(f"/api/documents/{name}", content=data)
        told = put.json()
        assert (put.status_code, told["status"] in ("failed", "empty"), told["passages"]) == (200, True, 0), name
        assert told["reason"].endswith(".")
        assert (await listed(client))[name]["reason"] == told["reason"]
    assert set(await found(client)) == {"sky.txt"}


async def test_script_in_a_name_and_in_a_document_stays_text(client: httpx.AsyncClient) -> None:
    name, text = "<img src=x onerror=alert(1)>.html", f"<p>{AIR}</p><script>alert(1)</script>"
    assert (await client.put(f"/api/documents/{quote(name)}", content=text.encode())).json()["name"] == name
    answer = await client.post("/api/ask", json={"question": QUESTION, "sources": ["[<]img*"]})
    assert answer.headers["content-type"] == "application/json"
    assert "<script" not in answer.text
    page = await client.get(f"/api/runs/{answer.headers['x-run-id']}/export?format=html")
    assert "<img" not in page.text
    assert "&lt;img" in page.text


async def test_a_document_that_is_too_large_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    app = app_with_documents(tmp_path, largest_upload=1_000)

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 500

    with client_of(app) as client:
        for content in (b"x" * 1_001, chunks()):
            refused = await client.put("/api/documents/big.txt", content=content)
            assert refused.status_code == 413
        assert (await client.put("/api/documents/fits.txt", content=b"x" * 1_000)).status_code == 200
    assert [path.name for path in (tmp_path / "uploads").iterdir()] == ["fits.txt"]
    app.state.service.documents.close()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ClientDisconnect(), None),
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            r"note.txt cannot be stored \(No space left on device\): make room on the server's disk.",
        ),
    ],
)
async def test_an_upload_that_is_broken_off_leaves_the_old_document(
    app: FastAPI, client: httpx.AsyncClient, tmp_path: Path, error: Exception, told: str | None
) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise error

    await client.put("/api/documents/note.txt", content=RED.encode())
    with pytest.raises((ClientDisconnect, StorageError), match=told):
        await app.state.service.documents.put("ann", "note.txt", broken())
    assert [(path.name, path.read_text()) for path in (tmp_path / "uploads/ann").iterdir()] == [("note.txt", RED)]


async def test_while_another_process_writes_the_index_an_upload_is_kept_for_later(
    app: FastAPI, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = app.state.service.documents.library
    monkeypatch.setattr(library, "sync", Mock(side_effect=IndexBusy("Process 7 is indexing.")))
    refused = await client.put("/api/documents/note.txt", content=RED.encode())
    assert (refused.status_code, "note.txt is stored, and indexed later" in refused.text) == (503, True)
    monkeypatch.undo()
    assert (await client.put("/api/documents/other.txt", content=AIR.encode())).status_code == 200
    assert (await listed(client))["note.txt"]["status"] == "indexed"


async def test_a_document_is_seen_being_indexed(app: FastAPI, client: httpx.AsyncClient) -> None:
    held = app.state.service.documents
    async with held._writing:  # as while another one is indexed
        putting = asyncio.create_task(client.put("/api/documents/note.txt", content=RED.encode()))
        while not held.indexing:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert (await listed(client))["note.txt"]["status"] == "indexing"
        assert "note.txt" not in await listed(client, BOB)
    assert (await putting).json()["status"] == "indexed"
