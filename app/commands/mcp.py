"""``mcp``: serve the tools on stdin and stdout, to a client that starts this program."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from mcp.server.stdio import stdio_server

from app.options import require_docs
from app.server.mcp.server import new_server
from app.settings import Settings, load_settings
from app.terminal.screen import Screen
from core.errors import RequestError

if TYPE_CHECKING:
    from app.server.mcp.backends import LocalBackend

CLOSE_SECONDS = 5.0  # for running calls to end; then the process ends anyway


def mcp(options: argparse.Namespace) -> int:
    """Serve one client until it closes stdin or the process is interrupted."""
    try:
        if options.docs and options.allow_write:
            raise RequestError("--allow-write adds to your library, which --docs leaves out: name one of the two.")
        require_docs(options.docs)
        settings, screen = load_settings(), Screen(quiet=options.quiet)
        if sys.stdin.isatty():
            screen.note("this speaks the Model Context Protocol with the agent that starts it; Ctrl-C ends it.")
        asyncio.run(_serve(settings, options, screen))
    except KeyboardInterrupt:
        pass
    return 0


async def _serve(settings: Settings, options: argparse.Namespace, screen: Screen) -> NoReturn:
    opened: list[LocalBackend] = []

    def backend_of(_: object) -> LocalBackend:
        if not opened:
            from app.server.mcp.backends import LocalBackend

            opened.append(LocalBackend(settings, options.docs or (), screen))
        return opened[0]

    server = new_server(backend_of, "add_documents" if options.allow_write else None)

    async def speak() -> None:
        try:
            async with stdio_server() as (read, write):  # other output, also of C code, goes to stderr meanwhile
                sys.stdout = sys.stderr  # stderr is not buffered
                await server.run(read, write, server.create_initialization_options())
                # The client may have stopped reading: do not wait for ever to write what is left.
                asyncio.get_running_loop().call_later(CLOSE_SECONDS, speaking.cancel)
        except* OSError:  # the client has stopped reading
            pass

    speaking = asyncio.shield(asyncio.create_task(speak()))
    with suppress(asyncio.CancelledError):  # an interrupt: the reader still waits for a line
        await speaking
    # Close what is open and end the process, without waiting for threads that read, index or load a model.
    os.dup2(2, 1)  # the package has restored stdout: send what is printed from here on to stderr again
    for one in opened:
        with suppress(TimeoutError, asyncio.CancelledError):  # by another interrupt
            async with asyncio.timeout(CLOSE_SECONDS):
                await one.aclose()
    sys.stderr.flush()
    os._exit(0)
