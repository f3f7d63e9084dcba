"""MCP beside the other APIs: the official client over HTTP, and requests that no client would send."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from mcp.shared.exceptions import MCPError

from app.server.mcp import http
from app.server.runs import INTERNAL, Run
from app.server.service import Service
from tests.integration.graph.sky import AIR, GOOD, QUESTION
from tests.integration.mcp_clients import (
    ACCEPTED,
    HELLO,
    READING,
    called,
    in_both_eras,
    over_http,
    progress_of,
    refused,
)
from tests.integration.server.scripted_server import (
    ANN,
    BOB,
    CALLS,
    RED,
    Models,
    app_with_documents,
    listening,
    pieces,
    scripted_app,
    tokens,
    until,
)

MODERN = {"MCP-Protocol-Version": "2026-07-28"}
MODELLED: list[tuple[str, dict[str, str]]] = [("ask", {"question": QUESTION}), ("verify_claim", {"claim": AIR})]
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ask", "arguments": {"question": QUESTION}},
}


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return app_with_documents(tmp_path, access=tokens(), mcp_allow_write=True)


@pytest.fixture
def address(app: FastAPI) -> Iterator[str]:
    with listening(app) as address:
        yield address


def runs_of(app: FastAPI) -> list[Run]:
    service: Service = app.state.service
    return service.runs.of()


@asynccontextmanager
async def session(address: str, headers: dict[str, str] | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A plain client with a session of the older protocol, which sends what it likes."""
    async with httpx.AsyncClient(base_url=address, headers={**ACCEPTED, **(headers or {})}, timeout=30) as client:
        opened = await client.post("/mcp", json=HELLO)
        assert opened.status_code == 200, opened.text
        client.headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
        yield client


@in_both_eras
async def test_a_question_of_an_agent_is_a_run_and_its_upload_a_document(address: str, mode: str) -> None:
    async with over_http(address, ANN, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [*READING, "upload_document"]
        assert [bool(tool.annotations and tool.annotations.read_only_hint) for tool in tools] == [True] * 5 + [False]
        told = await called(client, "ask", question=QUESTION, mode="always")
        assert (told["answer"], told["outcome"], told["stop_reason"]) == (f"{GOOD} [1]", "grounded", "accepted")
        assert (await called(client, "fetch", passage_id=told["citations"][0]["passage_id"]))["text"] == AIR
        async with httpx.AsyncClient(base_url=address, headers=ANN) as plain:
            kept = (await plain.get(f"/api/runs/{told['run_id']}")).json()
        assert (kept["question"], kept["state"]) == (QUESTION, "finished")
        progress = await progress_of(client, QUESTION)
        ended = [message.split()[0] for _, message in progress if " finished" in message]
        assert (ended[0], ended[-1]) == ("decide", "finish")
        uploaded = await called(client, "upload_document", name="red.txt", text=RED)
        assert (uploaded["status"], uploaded["passages"]) == ("indexed", 1)
        with pytest.raises(MCPError, match="There is no tool add_documents"):
            await client.call_tool("add_documents", {"paths": ["/etc"]})
        assert "is no name for an upload" in await refused(client, "upload_document", name="../red.txt", text=RED)


@in_both_eras
@pytest.mark.parametrize(("tool", "given"), MODELLED)
async def test_what_is_cancelled_frees_its_place_and_calls_no_model_any_more(
    mode: str, tool: str, given: dict[str, str]
) -> None:
    models = Models(gate=asyncio.Event())
    app = scripted_app(models, at_once=1, queue=0)
    with listening(app) as address:
        async with over_http(address, mode=mode) as client, httpx.AsyncClient(base_url=address) as plain:
            asking = asyncio.create_task(client.call_tool(tool, given))
            await until(lambda: models.calls)
            for other, arguments in MODELLED:
                assert "as many questions as it can queue" in await refused(client, other, **arguments)
            paid = Counter(models.calls)
            asking.cancel()
            while (await plain.post("/api/runs", json={"question": QUESTION})).status_code == 429:
                pass
            await models.open()
            await until(lambda: runs_of(app)[0].ended)
            assert 'selfrag_runs_total{outcome="grounded"} 1.0' in (await plain.get("/metrics")).text
    assert Counter(models.calls) == paid + CALLS
    assert [run.state for run in runs_of(app)] == ["finished"] + ["cancelled"] * (tool == "ask")


async def test_a_question_ends_with_the_connection_of_an_older_client() -> None:
    models = Models(gate=asyncio.Event())
    app = scripted_app(models)
    with listening(app) as address:
        async with session(address) as client:
            asking = asyncio.create_task(client.post("/mcp", json=CALL))
            await until(lambda: models.calls)
            asking.cancel()
            await until(lambda: runs_of(app)[0].state == "cancelled")
        await models.open()


async def test_what_fails_inside_is_told_in_a_sentence_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with listening(scripted_app(Models(failing="support", error=ValueError("the secret of the house")))) as address:
        async with over_http(address) as client, httpx.AsyncClient(base_url=address) as plain:
            for tool, given in MODELLED:
                assert await refused(client, tool, **given) == INTERNAL
            assert 'selfrag_verified_claims_total{label="failed"} 1.0' in (await plain.get("/metrics")).text
            assert "holds no documents" in await refused(client, "search", query="sky")
    assert caplog.text.count("the secret of the house") == 2


async def test_a_session_is_of_the_token_that_opened_it(address: str) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with session(address, ANN) as client:
        assert (await client.post("/mcp", json=listing, headers=BOB)).status_code == 404
        assert (await client.delete("/mcp", headers=BOB)).status_code == 404
        assert (await client.post("/mcp", json=listing)).status_code == 200
        assert (await client.delete("/mcp")).status_code == 200
        assert (await client.post("/mcp", json=listing)).status_code == 404


RUBBISH = (
    b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 50_000,
    b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": "\\ud800", "method": 5}', json.dumps([CALL, CALL]).encode(),
    b'{"jsonrpc": "2.0", "id": ' + b"9" * 10_000 + b', "method": "ping"}',
)  # fmt: skip


@pytest.mark.parametrize("era", [{}, MODERN])
async def test_rubbish_in_a_body_is_refused_and_opens_nothing(era: dict[str, str]) -> None:
    models = Models()
    with listening(scripted_app(models)) as address:
        async with httpx.AsyncClient(base_url=address, headers={**ACCEPTED, **era}) as client:
            for body in RUBBISH:
                sent = await client.post("/mcp", content=body)
                assert sent.status_code == 400, body[:60]
                assert "mcp-session-id" not in sent.headers or not era
            for large in (b" " * 5_000_000, pieces(5_000_000)):
                assert (await client.post("/mcp", content=large)).status_code == 413
            forms = {"Content-Type": "application/x-www-form-urlencoded"}
            assert (await client.post("/mcp", content=b"{}", headers=forms)).status_code == 400
            assert (await client.get("/mcp")).status_code == 405
            wrong = {"Mcp-Session-Id": "x" * 32}
            assert (await client.post("/mcp", json=CALL, headers=wrong)).status_code in (400, 404)
        async with over_http(address) as client:
            assert (await client.list_tools()).tools
    assert models.calls == []


async def test_clients_that_never_read_hold_nobody_up() -> None:
    with listening(scripted_app()) as address:
        port = int(address.rpartition(":")[2])
        async with session(address) as client:
            deaf = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            for number, (_, writer) in enumerate(deaf):
                params = {**CALL["params"], "_meta": {"progressToken": number}}
                body = json.dumps({**CALL, "id": number, "params": params})
                head = {**ACCEPTED, "Host": "localhost", "Content-Length": str(len(body))}
                head["Mcp-Session-Id"] = client.headers["mcp-session-id"]
                lines = [f"{name}: {value}" for name, value in head.items()]
                writer.write("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", body]).encode())
            async with over_http(address) as other:
                assert (await called(other, "ask", question=QUESTION))["outcome"] == "grounded"
            for _, writer in deaf:
                writer.close()


async def test_sessions_are_bounded_in_number_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_SESSIONS", 1)
    with listening(scripted_app()) as address:
        async with session(address) as first, httpx.AsyncClient(base_url=address, headers=ACCEPTED) as second:
            assert (await second.post("/mcp", json=HELLO)).status_code == 503
            async with over_http(address) as modern:
                assert (await modern.list_tools()).tools, "which needs no session"
            await first.delete("/mcp")
            assert (await second.post("/mcp", json=HELLO)).status_code == 200
    monkeypatch.setattr(http, "SESSION_SECONDS", 0.01)
    with listening(scripted_app()) as address:
        async with session(address) as client:
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            while (await client.post("/mcp", json=ping)).status_code != 404:  # noqa: ASYNC110 - another thread forgets it
                await asyncio.sleep(0.02)
