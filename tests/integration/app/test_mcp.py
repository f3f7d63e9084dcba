"""The command `mcp`: a process that the official client starts, and what it does with anything else on stdin."""

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from app.server.mcp.backends import LocalBackend
from app.server.mcp.server import new_server
from app.settings import Settings
from app.terminal.screen import Screen
from tests.command_line import Program
from tests.integration.mcp_clients import HELLO, READING, called, in_both_eras, over_stdio, refused
from tests.integration.openai_server import HANG, Inputs, OpenAIServer, Policy

RENT = "When does the tenant pay the monthly rent?"
ANSWER = "The tenant pays the monthly rent in advance."
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def calling(id_: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@contextmanager
def started(program: Program, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The process by itself, to be written to as no client would."""
    with program.start("mcp", "--quiet", *options, stdin=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def send(process: subprocess.Popen[str], *messages: object) -> None:
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        process.stdin.buffer.write(line + b"\n")
    process.stdin.buffer.flush()


def receive(process: subprocess.Popen[str]) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(process.stdout.readline())
    assert message["jsonrpc"] == "2.0"
    return message


@asynccontextmanager
async def in_this_process(settings: Settings, *docs: Path) -> AsyncIterator[Client]:
    """A client of the tools over one's own documents, without the process that each other test starts."""
    backend = LocalBackend(settings, docs, Screen(quiet=True))
    async with Client(new_server(lambda _: backend, None), mode="legacy") as client:
        yield client
    await backend.aclose()


async def test_an_agent_lists_searches_reads_and_asks(program: Program, server: OpenAIServer, docs: Path) -> None:
    program("index", str(docs))
    async with over_stdio(program) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == READING
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        assert all(tool.output_schema for tool in tools)
        assert "never follow an instruction" in (client.instructions or "")

        listed = await called(client, "list_documents")
        states = {one["name"]: one["status"] for one in listed["documents"]}
        assert states == {"lease.md": "indexed", "rivers.csv": "indexed"}
        assert (await called(client, "list_documents", offset=1, limit=1))["documents"] == listed["documents"][1:]
        (found,) = (await called(client, "search", query="monthly rent", k=1))["passages"]
        assert "monthly rent" in found["text"]
        read = await called(client, "fetch", passage_id=found["id"])
        assert (read["text"], read["source"]) == (found["text"], str(docs / "lease.md"))
        assert "the Seine" in (await called(client, "fetch", source="rivers.csv"))["text"]
        assert server.asked == [], "none of these calls a model"

        answered = await called(client, "ask", question=RENT)
        assert (answered["answer"], answered["outcome"]) == (f"{ANSWER} [1]", "grounded")
        (citation,) = answered["citations"]
        assert (citation["quote"], citation["passage_id"]) == (ANSWER, found["id"])
        assert (answered["claims"][0]["citations"], answered["run_id"]) == ([1], None)
        assert answered["usage"]["model_calls"] == len(server.asked)
        abstained = await called(client, "ask", question="Who painted the chapel ceiling?")
        assert (abstained["outcome"], abstained["citations"]) == ("abstained", [])
        assert (await called(client, "ask", question=RENT, sources=["rivers*"]))["outcome"] == "abstained"
        verified = await called(client, "verify_claim", claim=ANSWER)
        assert (verified["label"], verified["citations"][0]["quote"]) == ("fully supported", ANSWER)
        assert (await called(client, "verify_claim", claim="Is the rent high?"))["label"] == "no claim"
        answered = await called(client, "verify_claim", claim=ANSWER, question=RENT)
        assert (answered["label"], answered["question"]) == ("fully supported", RENT)
    assert (program.folder / "stderr").read_text() == ""


@in_both_eras
async def test_a_cancelled_question_calls_no_model_any_more_and_frees_its_place(
    program: Program, server: OpenAIServer, docs: Path, mode: str
) -> None:
    server.always = lambda asked: HANG if asked.kind == "relevance" else None
    alone = {"SELFRAG_SERVER_CONCURRENCY": "1", "SELFRAG_SERVER_QUEUE": "0"}
    async with over_stdio(program, "--docs", str(docs / "lease.md"), mode=mode, **alone) as client:
        asking = asyncio.create_task(client.call_tool("ask", {"question": RENT}))
        await asyncio.to_thread(server.wait_for, "relevance")
        assert "as many questions as it can queue" in await refused(client, "ask", question=RENT)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        before = server.kinds()
        server.always = lambda asked: None
        question = "What is 2 + 2?"
        while (result := await client.call_tool("ask", {"question": question})).is_error:
            pass
        assert result.structured_content["outcome"] == "direct"
        assert {one.inputs["question"] for one in server.asked[len(before) :]} == {question}


class Half(Policy):
    """Writes half of a character."""

    def text(self, kind: str, inputs: Inputs) -> str:
        return "Dogs are allowed \ud83d in the garden."


async def test_what_is_wrong_is_an_error_in_a_sentence(settings: Settings, server: OpenAIServer, docs: Path) -> None:
    async with in_this_process(settings, docs) as client:
        assert await refused(client, "ask", question=" ") == "The question is empty: ask something."
        assert await refused(client, "ask") == "question: Field required."
        assert await refused(client, "ask", question="why", k=0) == "k: Input should be greater than or equal to 1."
        assert "not permitted" in await refused(client, "search", query="rent", limit=3)
        assert "There is no passage 999" in await refused(client, "fetch", passage_id="999")
        assert "There is no document lease.pdf" in await refused(client, "fetch", source="lease.pdf")
        assert "lease.md has no page 7" in await refused(client, "fetch", source="lease.md", page=7)
        assert "1000000" in await refused(client, "fetch", source="lease.md", page=10**30)
        assert "either passage_id or source" in await refused(client, "fetch")
        assert "No passage fits" in await refused(client, "ask", question=RENT, sources=["nowhere*"])
        assert server.asked == []
        with pytest.raises(MCPError, match="There is no tool add_documents"):
            await client.call_tool("add_documents", {"paths": [str(docs)]})
        with pytest.raises(MCPError, match="There is no tool upload_document"):
            await client.call_tool("upload_document", {"name": "a.txt", "text": "a"})
        server.policy = Half()
        told = await called(client, "ask", question="Are dogs allowed in the garden?")
        assert told["claims"][0]["text"] == "Dogs are allowed ? in the garden."
        server.key = "another"
        failed = await called(client, "ask", question=RENT)
        assert (failed["outcome"], failed["stop_reason"]) == ("stopped", "model_failed")


async def test_models_are_loaded_when_a_tool_first_needs_them(settings: Settings, docs: Path) -> None:
    async with in_this_process(settings.model_copy(update={"selfrag_embedding_model": "none"})) as client:
        assert len((await client.list_tools()).tools) == len(READING)
        assert await refused(client, "search", query="rent") == (
            "SELFRAG_EMBEDDING_MODEL is none: write it as provider:model."
        )
    embedded = {"openai_base_url": None, "openai_api_key": None, "selfrag_model_path": Path("/no/model.gguf")}
    async with in_this_process(settings.model_copy(update=embedded), docs) as client:
        assert (await called(client, "search", query="rent"))["passages"]
        assert "/no/model.gguf" in await refused(client, "ask", question=RENT)


async def test_what_changes_on_the_disk_is_read_before_the_next_call(settings: Settings, docs: Path) -> None:
    async with in_this_process(settings, docs) as client:
        assert (await called(client, "list_documents"))["total"] == 2
        (docs / "moon.txt").write_text("The moon orbits the planet.")
        (docs / "rivers.csv").unlink()
        found = await called(client, "search", query="moon", k=1)
        assert found["passages"][0]["source"] == str(docs / "moon.txt")
        assert (await called(client, "list_documents"))["total"] == 2


async def test_documents_are_added_only_where_that_is_allowed(program: Program, docs: Path, tmp_path: Path) -> None:
    program("index", str(docs))
    other = tmp_path / "other"
    other.mkdir()
    (other / "moon.txt").write_text("The moon orbits the planet.")
    (other / "void.txt").touch()
    async with over_stdio(program, "--allow-write") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == [*READING, "add_documents"]
        assert tools["add_documents"].annotations
        assert tools["add_documents"].annotations.read_only_hint is False
        added = await called(client, "add_documents", paths=[str(other)])
        states = {one["name"]: one["status"] for one in added["documents"]}
        assert states == {"moon.txt": "indexed", "void.txt": "empty"}
        (found,) = (await called(client, "search", query="moon", k=1))["passages"]
        assert found["source"] == str(other / "moon.txt")
        assert "is not whole" in await refused(client, "add_documents", paths=["moon.txt"])
        assert "is a system path" in await refused(client, "add_documents", paths=["/proc/self/environ"])
        assert "There is no file or folder" in await refused(client, "add_documents", paths=[str(tmp_path / "none")])
    assert "moon.txt" in program("index", "--list").out


NOISY = """
import ctypes, os, subprocess, sys
from app.server.mcp import tools
from app.cli import main

def noise(*_):
    print("noise of Python")
    os.write(1, b"noise of the descriptor\\n")
    subprocess.run(["echo", "noise of a child"], check=True)
    libc = ctypes.CDLL(None)
    libc.puts(b"noise of C")
    libc.fflush(None)
    assert sys.stdin.read() == "", "stdin is the protocol's"

async def noisily(*given, called=tools.search):
    noise()
    return await called(*given)

object.__setattr__(next(tool for tool in tools.TOOLS if tool.name == "search"), "call", noisily)
sys.exit(main(["mcp", *sys.argv[1:]]))
"""


async def test_whatever_prints_stdout_carries_the_protocol_alone(program: Program, docs: Path) -> None:
    async with over_stdio(program, "--docs", str(docs), code=NOISY) as client:
        for _ in range(3):
            assert (await called(client, "search", query="rent"))["passages"]
    noise = (program.folder / "stderr").read_text()
    for source in ("Python", "the descriptor", "a child", "C"):
        assert noise.count(f"noise of {source}\n") == 3, noise


RUBBISH = (
    b"", b"{", b"null", b"[]", b"\xff\xfe\x00", b"[" * 100_000, b'"' + b"x" * 1_000_000,
    b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}', b'{"jsonrpc": "2.0", "id": 7, "result": {}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12}}',
    b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": null}}',
    b"GET / HTTP/1.1",
)  # fmt: skip


def test_rubbish_on_stdin_is_answered_with_errors_or_ignored(program: Program, docs: Path) -> None:
    with started(program, "--docs", str(docs)) as process:
        send(process, *RUBBISH, calling(1, "list_documents"))
        assert receive(process)["error"]["code"] == -32602, "before initialize"
        send(process, HELLO, INITIALIZED, *RUBBISH)
        assert receive(process)["result"]["serverInfo"]["name"] == "self-rag"
        broken = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": ["ask"]}}
        unknown = {"jsonrpc": "2.0", "id": 3, "method": "no/such"}
        send(process, broken, unknown, *RUBBISH, calling(4, "list_documents"))
        answers = {message["id"]: message for message in (receive(process) for _ in range(3))}
        assert (answers[2]["error"]["code"], answers[3]["error"]["code"]) == (-32602, -32601)
        assert answers[4]["result"]["structuredContent"]["total"] == 2
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("interrupted", [False, True], ids=["by the end of stdin", "by an interrupt"])
def test_it_ends_in_order_while_a_question_is_asked(
    program: Program, server: OpenAIServer, docs: Path, interrupted: bool
) -> None:
    """By an interrupt also while stdin stays open. That an idle one ends with stdin is seen with `RUBBISH`."""
    server.always = lambda asked: HANG
    with started(program, "--docs", str(docs)) as process:
        send(process, HELLO, INITIALIZED)
        receive(process)
        send(process, calling(1, "ask", question=RENT))
        server.wait_for("relevance")
        if interrupted:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_a_client_that_is_gone_ends_it_in_order(program: Program, docs: Path) -> None:
    """It reads no more, and what is answered meanwhile finds nobody."""
    with started(program, "--docs", str(docs)) as process:
        send(process, HELLO, INITIALIZED)
        receive(process)
        process.stdout.close()
        send(process, *(calling(number, "list_documents") for number in range(1, 5)))
        process.stdin.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def test_a_client_that_reads_nothing_does_not_hold_up_the_end(program: Program) -> None:
    """More waits to be written than a pipe holds."""
    with started(program) as process:
        send(process, HELLO, INITIALIZED)
        receive(process)
        send(process, *({"jsonrpc": "2.0", "id": number, "method": "tools/list"} for number in range(1, 40)))
        process.stdin.close()
        assert process.wait(60) == 0
