"""Where documents lie on the server's disk, which no answer tells, and the names by which clients know them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from fastapi import FastAPI

from app.conversations.feedback import FeedbackFolder
from app.conversations.store import Threads
from core.errors import ModelError, RequestError
from tests.integration.graph.sky import AIR, QUESTION
from tests.integration.mcp_clients import over_http
from tests.integration.server.scripted_server import Models, app_with_documents, asked, client_of, listening, written
from tests.scripted import ScriptedCritic
from tests.unit.retrieval.documents.pdfs import pdf

ALL_RIGHT = {"retrieve": "retrieve", "relevance": "relevant", "support": "fully supported", "usefulness": "5"}
CHAT = {"model": "self-rag", "messages": [{"role": "user", "content": QUESTION}]}


def app_of(folder: Path, models: Models | None = None) -> FastAPI:
    """A server over the files of that folder, where it keeps threads and feedback too."""
    return app_with_documents(
        folder,
        "ada/contracts",
        "bob/contracts",
        "notes.md",
        models=models or Models(judge=ScriptedCritic(otherwise=ALL_RIGHT)),
        feedback=FeedbackFolder(folder / "feedback"),
        threads=Threads(folder / "threads"),
        mcp_allow_write=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(
        tmp_path,
        {
            "ada/contracts/2024/sky.txt": AIR,
            "ada/contracts/air.pdf": pdf([AIR]),
            "ada/contracts/broken.pdf": b"no PDF",
            "bob/contracts/sky.txt": "The air of the sky scatters blue light, says Bob.",
            "notes.md": "The air of the sky scatters blue light, say the notes.",
        },
    )
    return tmp_path


def filled(path: str, **values: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], path)


@pytest.mark.parametrize("failing", ["", "draft"])
async def test_no_answer_names_a_folder_of_the_servers_disk(
    folder: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unread = ModelError(f"The model file {folder}/models/chat.gguf cannot be read.")
    models = Models(failing=failing, error=unread, judge=ScriptedCritic(otherwise=ALL_RIGHT))
    app = app_of(folder, models)
    if failing:
        full = RequestError(f"The feedback cannot be kept in {folder}/feedback/own.jsonl (no room).")
        monkeypatch.setattr(FeedbackFolder, "add", Mock(side_effect=full))
    bodies: dict[tuple[str, str], list[str]] = {}  # what the client was sent, by the method and the path

    async def keep(response: httpx.Response) -> None:
        await response.aread()
        request, headers = response.request, "\n".join(response.headers.values())
        bodies.setdefault((request.method, request.url.path), []).append(f"{response.text}\n{headers}")

    with client_of(app, event_hooks={"response": [keep]}) as client:
        thread = (await client.post("/api/threads", json={})).json()["id"]
        filter_: dict[str, Any] = {"sources": [f"{folder}/ada/*"]}
        runs = [
            await asked(client, app, f"/api/threads/{thread}/runs", question=QUESTION, **filter_),
            await asked(client, app, "/api/runs", question=QUESTION, explain=True),
            await asked(client, app, "/api/checks", text=AIR),
        ]
        uploaded = {"name": "red.txt", "id_": thread}
        bodied: dict[tuple[str, str], Any] = {
            ("post", "/api/ask"): {"question": QUESTION, **filter_},
            ("post", "/api/runs"): {"question": QUESTION, "sources": [f"{folder}/nothing/*"]},
            ("post", "/api/checks"): {"text": "?"},
            ("post", "/api/checks/{name}"): "What?",
            ("post", "/v1/chat/completions"): CHAT,
            ("post", "/api/runs/{id_}/feedback"): {"judgement": "right"},
            ("post", "/api/threads"): {"title": "sky"},
            ("post", "/api/threads/{id_}/runs"): {"question": QUESTION, "sources": [f"{folder}/nothing/*"]},
            ("put", "/api/documents/{name}"): "Red light is scattered less.",
            ("patch", "/api/threads/{id_}"): {"title": "the sky"},
            ("delete", "/api/documents/{name}"): None,
            ("delete", "/api/runs/{id_}"): None,
            ("delete", "/api/threads/{id_}"): None,
        }
        paths = app.openapi()["paths"]
        assert {(way, path) for path, ways in paths.items() for way in ways if way != "get"} == set(bodied)
        await client.post("/v1/chat/completions", json={**CHAT, "stream": True})
        for (method, path), body in bodied.items():
            if method == "delete":
                continue
            for id_ in runs if path.startswith("/api/runs/") else [thread]:
                sent = {"content": body} if isinstance(body, str) else {"json": body}
                await client.request(method, filled(path, **{**uploaded, "id_": id_}), **sent)
        gets = [path for path, ways in paths.items() if "get" in ways]
        for path in [*gets, "/", "/docs", "/openapi.json", "/nowhere"]:
            for id_ in [thread] if "threads" in path else runs:
                for form in ("markdown", "json", "html") if path.endswith("export") else ("",):
                    filling = {"id_": id_, "name": "self-rag", "number": "1"}
                    await client.get(filled(path, **filling), params={"format": form} if form else {})
        for method, path in bodied:
            if method == "delete":
                for id_ in runs if "runs" in path else [thread]:
                    await client.delete(filled(path, **{**uploaded, "id_": id_}))
    app.state.service.documents.close()
    assert len(bodies) > len(gets) + len(bodied)
    assert [request for request, texts in bodies.items() if any(str(folder) in text for text in texts)] == []
    answered = bodies["GET", f"/api/runs/{runs[1]}"][0]
    if failing:
        assert "The model file chat.gguf cannot be read." in answered
        assert "kept in own.jsonl" in bodies["POST", f"/api/runs/{runs[2]}/feedback"][0] + str(bodies)
    else:
        assert '"source": "ada/contracts/2024/sky.txt"' in answered


async def test_agents_on_the_server_are_told_names_and_read_by_them(folder: Path) -> None:
    app = app_of(folder)
    said: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        said.append(str(message))

    with listening(app) as address:
        async with over_http(address) as client:

            async def told(tool: str, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments, progress_callback=note)
                said.append(result.model_dump_json())
                return result.structured_content

            assert (await told("ask", question=QUESTION))["citations"]
            cited = {one["source"] for one in (await told("verify_claim", claim=AIR))["citations"]}
            (first, *_) = (await told("search", query="blue light"))["passages"]
            assert (await told("fetch", passage_id=first["id"]))["source"] == first["source"]
            names = [one["source"] for one in (await told("list_documents"))["documents"]]
            assert set(names) == {
                *("ada/contracts/2024/sky.txt", "ada/contracts/air.pdf", "ada/contracts/broken.pdf"),
                *("bob/contracts/sky.txt", "notes.md"),
            }
            assert cited
            assert cited <= set(names)
            for name, text in (("bob/contracts/sky.txt", "says Bob"), ("notes.md", "say the notes")):
                assert text in (await told("fetch", source=name))["text"]
            assert (await told("upload_document", name="red.txt", text="Red."))["source"] == "uploads/red.txt"
            await told("ask", question=QUESTION, sources=[f"{folder}/nothing"])
            await told("fetch", source=f"{folder}/nothing")
    assert [text for text in said if str(folder) in text and "There is no document" not in text] == []


@pytest.fixture
def app(folder: Path) -> Iterator[FastAPI]:
    app = app_of(folder)
    yield app
    app.state.service.documents.close()


@pytest.fixture
def client(app: FastAPI) -> Iterator[httpx.AsyncClient]:
    with client_of(app) as client:
        yield client


async def found(client: httpx.AsyncClient, *sources: str) -> set[str]:
    """The documents whose passages a question with a filter found."""
    answer = await client.post("/api/ask", json={"question": QUESTION, "mode": "always", "sources": sources})
    assert answer.status_code == 200, answer.text
    return {passage["source"] for passage in answer.json()["passages"]}


async def test_a_filter_takes_the_names_that_clients_are_told(client: httpx.AsyncClient, folder: Path) -> None:
    written(folder, {"ada/contracts/notes.md": "The air of the sky scatters blue light, says Ada."})
    await client.put("/api/documents/red.txt", content="Red light of the sky is scattered less.")
    listed = (await client.get("/api/documents")).json()["documents"]
    names = {one["source"] for one in listed if one["passages"]}
    assert {"notes.md", "ada/contracts/notes.md", "bob/contracts/sky.txt", "uploads/red.txt"} < names
    for name in names:
        assert name in await found(client, name)
        assert await found(client, f"/{name}") == {name}
    assert await found(client, "contracts/*.txt", "uploads") == {"bob/contracts/sky.txt", "uploads/red.txt"}
    assert await found(client, f"{folder}/bob/contracts/*") == {"bob/contracts/sky.txt"}


async def test_an_upload_is_replaced_and_removed_by_the_name_that_is_told(client: httpx.AsyncClient) -> None:
    put = await client.put("/api/documents/red.txt", content="Red light.")
    name = put.json()["source"]
    assert (await client.put(f"/api/documents/{name}", content="Redder light.")).json()["source"] == name
    assert (await client.delete(f"/api/documents/{name}")).status_code == 204
    assert (await client.delete("/api/documents/notes.md")).status_code == 404
    assert (await client.delete("/api/documents/ada/contracts/air.pdf")).status_code == 400
    sources = [one["source"] for one in (await client.get("/api/documents")).json()["documents"]]
    assert name not in sources


async def test_what_is_kept_has_whole_paths(app: FastAPI, client: httpx.AsyncClient, folder: Path) -> None:
    threads = app.state.service.threads.threads
    thread = (await client.post("/api/threads", json={})).json()["id"]
    run = await asked(client, app, f"/api/threads/{thread}/runs", question=QUESTION, sources=["/notes.md"])
    kept = threads.turn(run)
    assert {one.source for one in kept.result.passages} == {str(folder / "notes.md")}
    assert kept.options["filter"]["sources"] == [str(folder / "notes.md")]
    exported = (await client.get(f"/api/threads/{thread}/export", params={"format": "json"})).text
    (turn,) = json.loads(exported)["turns"]
    assert turn["options"]["filter"]["sources"] == [turn["result"]["passages"][0]["source"]] == ["notes.md"]
    await client.post(f"/api/runs/{run}/feedback", json={"judgement": "right"})
    (label,) = FeedbackFolder(folder / "feedback").labels()
    assert {one["source"] for one in label.gold} == {str(folder / "notes.md")}
