"""The command `serve`: what it refuses, and a server in a process of its own from its start to SIGTERM."""

import asyncio
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from app.commands.serve import is_loopback, opened_threads
from app.server.listening import listen
from app.settings import Settings
from app.terminal.screen import Screen
from tests.command_line import Program
from tests.integration.mcp_clients import READING, called, over_http
from tests.integration.openai_server import Fault, OpenAIServer
from tests.integration.server.scripted_server import until

RENT = "When does the tenant pay the monthly rent?"
DOGS = "Are dogs allowed in the garden?"
ANSWER = "The tenant pays the monthly rent in advance."


@contextmanager
def served(program: Program, *options: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server's address and process."""
    with program.start("serve", "--port", "0", "--quiet", *options, environment=environment) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Serving at "), line + process.communicate()[1]
            yield line.split()[2], process
        finally:
            process.kill()


def test_a_port_that_is_taken_is_named(program: Program) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = program("serve", "--port", port)
    assert ended.code == 2
    assert f"--port {port} cannot be listened on (Address already in use): choose another." in ended.err


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost")),
        *((host, False) for host in ("0.0.0.0", "::", "192.168.1.7", "example.org")),  # noqa: S104
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_connection_sends_what_it_has_at_once() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_threads_that_cannot_be_opened_are_told_and_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "threads").mkdir()
    (tmp_path / "threads" / "threads.sqlite").write_bytes(b"no database" * 500)
    assert opened_threads(Settings(selfrag_home=tmp_path), Screen()) is None
    told = capsys.readouterr().err
    assert (told.startswith("note: The threads in "), told.count("\n")) == (True, 1)
    assert told.endswith("move threads.sqlite away to begin without any. Until then none are kept.\n")


async def test_a_server_answers_what_it_began_before_sigterm_ends_it(
    program: Program, server: OpenAIServer, docs: Path
) -> None:
    """The grades come a while after the signal: what cut the answers off would have done so by then.

    Of the two eras of MCP the older one holds a session and a stream open; without either, a request is as any other.
    """
    program("index", str(docs))
    slow = Fault(carry=lambda wire: replace(wire, pause=1.5))
    server.always = lambda asked: slow if asked.kind == "relevance" else None
    with served(program, "--mcp-allow-write") as (address, process):
        async with httpx.AsyncClient(base_url=address, timeout=30) as client:
            assert (await client.get("/healthz")).json()["status"] == "ok"
            uploaded = await client.put("/api/documents/salt.txt", content=b"Salt melts ice.")
            assert uploaded.json()["status"] == "indexed"
            async with over_http(address, mode="legacy") as agent:
                # Asked for here, or the client would ask for the schema of the answer when nobody listens any more.
                assert [tool.name for tool in (await agent.list_tools()).tools] == [*READING, "upload_document"]
                asking = asyncio.create_task(client.post("/api/ask", json={"question": RENT}))
                asking_too = asyncio.create_task(called(agent, "ask", question=DOGS))
                await until(lambda: {RENT, DOGS} <= {one.inputs.get("question") for one in server.asked})
                process.send_signal(signal.SIGTERM)
                answer = await asking
                assert (answer.json()["answer"], answer.json()["outcome"]) == (ANSWER, "grounded")
                assert (await asking_too)["outcome"] == "grounded"
            assert await asyncio.to_thread(process.wait, 60) == 0
            with pytest.raises(httpx.ConnectError):
                await client.get("/healthz")
    assert "salt.txt" in program("index", "--list").out


async def test_with_tokens_each_has_the_shared_documents_and_its_own(
    program: Program, docs: Path, tmp_path: Path
) -> None:
    program("index", str(docs))
    (tmp_path / "tokens").write_text("ann ann-has-a-long-token\nbob bob-has-another-token\n")
    with served(program, "--host", "0.0.0.0", SELFRAG_TOKENS_FILE=str(tmp_path / "tokens")) as (address, process):  # noqa: S104
        async with httpx.AsyncClient(base_url=address.replace("0.0.0.0", "127.0.0.1"), timeout=30) as client:  # noqa: S104
            assert (await client.get("/api/documents")).status_code == 401
            ann, bob = (
                {"Authorization": f"Bearer {token}"} for token in ("ann-has-a-long-token", "bob-has-another-token")
            )
            await client.put("/api/documents/salt.txt", content=b"Salt melts ice.", headers=ann)
            for who, expected in ((ann, {"lease.md", "rivers.csv", "salt.txt"}), (bob, {"lease.md", "rivers.csv"})):
                listed = (await client.get("/api/documents", headers=who)).json()["documents"]
                assert {document["name"] for document in listed} == expected
            answer = await client.post("/api/ask", json={"question": RENT}, headers=bob)
            assert answer.json()["answer"] == ANSWER
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 30) == 0
    assert "salt.txt" not in program("index", "--list").out
