"""The official MCP client, talking to this program over stdio or HTTP, in either era of the protocol."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.command_line import Program

READING = ["ask", "search", "fetch", "list_documents", "verify_claim"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
in_both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@asynccontextmanager
async def over_stdio(
    program: Program, *options: str, mode: str = "auto", code: str | None = None, **environment: str
) -> AsyncIterator[Client]:
    """A client of ``python -m app mcp``, or of a script that prepares it."""
    command = ["-c", code] if code else ["-m", "app", "mcp"]
    given = StdioServerParameters(
        command=sys.executable,
        args=[*command, *options],
        env={**program.environment, **environment},
        cwd=program.folder,
    )
    with (program.folder / "stderr").open("a") as errlog:
        async with Client(stdio_client(given, errlog=errlog), mode=mode) as client:
            yield client


@asynccontextmanager
async def over_http(
    address: str, headers: dict[str, str] | None = None, *, mode: str = "auto"
) -> AsyncIterator[Client]:
    """A client of a server's ``/mcp``."""
    async with (
        httpx2.AsyncClient(headers=headers or {}, timeout=30) as http,
        Client(streamable_http_client(f"{address.rstrip('/')}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a tool that succeeds, which the client checked against the tool's schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    structured: dict[str, Any] = result.structured_content
    return structured


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The sentence of a tool that fails."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    assert result.structured_content is None
    (block,) = result.content
    assert block.type == "text"
    assert "\n" not in block.text
    return block.text


async def progress_of(client: Client, question: str) -> list[tuple[float, str]]:
    """The progress notifications of a question, in the order in which they came."""
    told: list[tuple[float, str]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        told.append((progress, message or ""))

    result = await client.call_tool("ask", {"question": question}, progress_callback=note)
    assert not result.is_error
    return told
