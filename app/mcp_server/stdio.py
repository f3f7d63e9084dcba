"""``mcp``: the tools on stdin and stdout, for a client that starts this program."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

from anyio import ClosedResourceError

from app.options import file_path, require_docs
from app.screen import Screen
from app.settings import Settings, load_settings
from core.errors import RequestError

if TYPE_CHECKING:
    from app.mcp_server.local import LocalBackend

CLOSE_SECONDS = 5.0  # for what is running, until the process ends all the same


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``mcp``."""
    parser.add_argument(
        "--docs", action="append", type=file_path, metavar="PATH", help="ask this file or folder alone; repeatable"
    )
    parser.add_argument("--allow-write", action="store_true", help="let the agent add files and folders to the library")


def mcp(options: argparse.Namespace) -> int:
    """Serve one client until it closes stdin, or an interrupt."""
    try:
        if options.docs and options.allow_write:
            raise RequestError("--allow-write adds to your library, which --docs leaves out: name one of the two.")
        require_docs(options.docs)
        settings, screen = load_settings(), Screen(quiet=options.quiet)
        if sys.stdin.isatty():
            screen.note("this speaks the Model Context Protocol with the agent that starts it; Ctrl-C ends it.")
        stdin, stdout = claim_streams()
        asyncio.run(_serve(settings, options, screen, stdin, stdout))
    except KeyboardInterrupt:
        _leave()
    return 0


def claim_streams() -> tuple[BinaryIO, BinaryIO]:
    """Take stdin and stdout for the protocol alone, until the process ends.

    Whatever else reads stdin, a child too, finds its end, and whatever else prints, C code too, prints to stderr.
    """
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # which keeps nothing back
    return stdin, stdout


class LineWriter:
    """Writes to the client in a thread of its own, where a client that does not read holds nothing else up."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1)

    async def write(self, text: str) -> None:
        """Send text that ends a line. Raises `ClosedResourceError` when the client reads no more."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._send, text.encode())
        except OSError:
            raise ClosedResourceError from None

    async def flush(self) -> None:
        """Do nothing: all is sent."""

    def _send(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()


async def lines_of(file: BinaryIO) -> AsyncGenerator[str, None]:
    """Yield the lines of a file, read in a thread that ends with the process: a read cannot be interrupted."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[bytes](1)

    def read() -> None:
        with suppress(RuntimeError, OSError):  # the loop is closed, or the file
            for line in chain(file, [b""]):
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    Thread(target=read, daemon=True).start()
    while line := await lines.get():
        yield line.decode("utf-8", "replace")


async def _serve(
    settings: Settings, options: argparse.Namespace, screen: Screen, stdin: BinaryIO, stdout: BinaryIO
) -> NoReturn:
    from mcp.server.stdio import stdio_server

    from app.mcp_server.server import new_server

    opened: list[LocalBackend] = []

    def backend_of(_: object) -> LocalBackend:
        if not opened:
            from app.mcp_server.local import LocalBackend

            opened.append(LocalBackend(settings, options.docs or (), screen))
        return opened[0]

    server = new_server(backend_of, "add_documents" if options.allow_write else None)
    streams = stdio_server(cast("Any", lines_of(stdin)), cast("Any", LineWriter(stdout)))
    serving = cast("asyncio.Task[NoReturn]", asyncio.current_task())
    try:
        async with streams as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except BaseException:
        if not serving.cancelling():  # by an interrupt, over which the package may raise more than the cancellation
            raise
    for one in opened:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await one.aclose()
    _leave()


def _leave() -> NoReturn:
    """End the process at once: threads that read, index or load a model would hold it up, and nothing is lost."""
    sys.stderr.flush()
    os._exit(0)
