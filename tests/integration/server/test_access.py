"""Who is let in, from where, and with what: hostile requests are refused in a sentence, or made harmless."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.server import access
from app.server.access import HEADERS, Access
from app.server.people import TokensFile
from tests.integration.graph.sky import QUESTION
from tests.integration.mcp_clients import ACCEPTED, HELLO
from tests.integration.server.scripted_server import (
    ADDRESS,
    ANN,
    BOB,
    Models,
    client_of,
    listening,
    pieces,
    scripted_app,
    tokens,
)

JSON = {"Content-Type": "application/json"}
ASK = {"question": QUESTION}
CHAT = {"model": "self-rag", "messages": [{"role": "user", "content": QUESTION}]}


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YW5uOg=="}, {"Authorization": "Bearer "}],
)
async def test_without_a_right_token_nothing_is_told(headers: dict[str, str]) -> None:
    models = Models()
    with client_of(scripted_app(models, access=tokens()), headers=headers) as client:
        for method, path in (
            ("POST", "/api/ask"), ("POST", "/v1/chat/completions"), ("GET", "/v1/models"), ("GET", "/api/runs"),
            ("GET", "/api/documents"), ("PUT", "/api/documents/a.txt"), ("GET", "/metrics"), ("GET", "/api/settings"),
            ("GET", "/mcp"), ("POST", "/mcp"), ("DELETE", "/mcp"), ("OPTIONS", "/mcp"),
        ):  # fmt: skip
            refused = await client.request(method, path, json=ASK)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert refused.json()["error"]["type"] == "authentication_error"
        assert (await client.get("/healthz")).status_code == (await client.get("/")).status_code == 200
    assert models.calls == []


async def test_a_run_of_somebody_elses_token_is_as_one_that_does_not_exist() -> None:
    with client_of(scripted_app(access=tokens())) as client:
        id_ = (await client.post("/api/ask", json=ASK, headers=ANN)).headers["x-run-id"]
        assert (await client.get(f"/api/runs/{id_}", headers=ANN)).status_code == 200
        paths = ("", "/events", "/picture.svg", "/export", "/citations/1", "/citations/1/page.png")
        for path in paths:
            others = await client.get(f"/api/runs/{id_}{path}", headers=BOB)
            none = await client.get(f"/api/runs/{'x' * len(id_)}{path}", headers=BOB)
            assert (others.status_code, others.json()) == (none.status_code, none.json())
            assert others.status_code == 404
        assert (await client.delete(f"/api/runs/{id_}", headers=BOB)).status_code == 404
        assert (await client.get("/api/runs", headers=BOB)).json() == {"runs": []}
        assert (await client.get("/api/settings", headers=BOB)).json()["owner"] == "bob"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8321"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost.evil.example"},
        {"Host": ""},
        {"Host": "user@127.0.0.1"},
        {"Host": "[::1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://127.0.0.1:8321.evil.example"},
        {"Origin": "http://[::1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_pages_elsewhere_may_not_use_the_server_on_loopback(headers: dict[str, str]) -> None:
    models = Models()
    with client_of(scripted_app(models), headers=headers) as client:
        for path, body in (("/api/ask", ASK), ("/v1/chat/completions", CHAT), ("/mcp", HELLO)):
            refused = await client.post(path, json=body)
            assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
        assert (await client.put("/api/documents/a.txt", content=b"x")).status_code == 403
        may_link = "Sec-Fetch-Site" in headers
        assert (await client.get("/")).status_code == (200 if may_link else 403)
    assert models.calls == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost:8321", "Origin": "http://localhost:8321"},
        {"Host": "[::1]:8321"},
        {"Host": "192.168.1.7:8321"},
        {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"},
        {"Host": "rag.example"},
        {"Origin": "https://rag.example"},
    ],
)
async def test_the_servers_own_page_may_also_by_an_allowed_name(headers: dict[str, str]) -> None:
    with client_of(scripted_app(access=Access(hosts=frozenset(("rag.example",)))), headers=headers) as client:
        assert (await client.post("/api/ask", json=ASK)).status_code == 200


async def test_every_answer_carries_the_headers_that_keep_it_harmless() -> None:
    with client_of(scripted_app(access=tokens())) as client:
        for path in ("/", "/docs", "/static/api.js", "/api/runs", "/nowhere", "/healthz"):
            headers = (await client.get(path)).headers
            assert {name: headers[name] for name in HEADERS} == HEADERS
            assert headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")
        assert "unsafe" not in HEADERS["Content-Security-Policy"]
        assert (await client.get("/api/runs", headers=ANN)).headers["cache-control"] == "no-store"


async def test_a_body_of_50_mb_is_refused_whether_its_length_is_told_or_not() -> None:
    models = Models()
    with client_of(scripted_app(models)) as client:
        for content in (b" " * 50_000_000, pieces(50_000_000)):
            for path in ("/api/ask", "/v1/chat/completions"):
                refused = await client.post(path, content=content, headers=JSON)
                assert refused.status_code == 413
                assert refused.json()["error"]["message"] == (
                    "The body is larger than the 4 MB that this address takes: send less."
                )
    assert models.calls == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"question": "\xff\xfe"}',
        b"\xff\xfe\x00",
        b"[" * 1_000 + b"]" * 1_000,
        b'{"question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"question": "why", "k": ' + b"9" * 10_000 + b"}",
        b'{"question": "why", "k": NaN}',
    ],
)
async def test_a_body_that_is_no_json_or_too_deep_is_refused_in_a_sentence(body: bytes) -> None:
    models = Models()
    with client_of(scripted_app(models)) as client:
        for path in ("/api/ask", "/api/runs", "/v1/chat/completions"):
            refused = await client.post(path, content=body, headers=JSON)
            assert refused.status_code == 400
            message = refused.json()["error"]["message"]
            assert len(message) < 300
            assert message.endswith(".")
    assert models.calls == []


async def test_a_body_that_comes_too_slowly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "BODY_SECONDS", 0.05)

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    with client_of(scripted_app()) as client:
        refused = await client.post("/api/ask", content=slow(), headers=JSON)
    assert refused.status_code == 408


async def test_connections_that_begin_no_request_are_closed_and_hold_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.listening.HEAD_SECONDS", 0.3)
    with listening(scripted_app()) as address:
        port = int(address.rpartition(":")[2])
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
        kept_reader, kept = await asyncio.open_connection("127.0.0.1", port)
        for byte in b"GET /healthz HTTP":
            for _, writer in slow:
                writer.write(bytes([byte]))
            kept.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = await kept_reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200")
            await kept_reader.readuntil(b"}")
        closed = await asyncio.gather(*(reader.read() for reader, _ in slow), return_exceptions=True)
        assert [one for one in closed if one != b"" and not isinstance(one, OSError)] == []
        kept.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await kept_reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        for writer in (kept, *(writer for _, writer in slow)):
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for _, writer in slow), kept.wait_closed(), return_exceptions=True)


async def test_a_token_may_have_any_characters(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("ann schlüssel-zum-garten\n", encoding="utf-8")
    with client_of(scripted_app(access=Access(TokensFile(file)))) as client:
        sent = {"Authorization": "Bearer schlüssel-zum-garten".encode()}
        assert (await client.get("/api/runs", headers=sent)).status_code == 200
        assert (await client.get("/api/runs", headers={"Authorization": b"Bearer schlussel"})).status_code == 401


async def test_nothing_is_told_to_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Recording:
        def __getattr__(self, name: str) -> object:
            told.append(name)
            raise AttributeError(name)

    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", Recording())
    for provider in ("metrics.get_meter_provider", "_logs.get_logger_provider"):
        monkeypatch.setattr(f"opentelemetry.{provider}", Recording)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    app = scripted_app()
    with client_of(app) as client:
        async with app.router.lifespan_context(app):
            assert (await client.post("/api/ask", json={"question": QUESTION})).status_code == 200
            assert (await client.post("/api/ask", json={})).status_code == 400
            assert (await client.post("/mcp", json=HELLO, headers=ACCEPTED)).status_code == 200
    assert told == []
