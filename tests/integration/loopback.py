"""The HTTP server behind every fake: it sends what it is told to send, however broken, and remembers what it was sent.

It serves from a thread, from a running event loop, or from a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, Self

from tests.integration.misbehaviour import Wire, whole

LONGEST_LINE = 65_536  # bytes of a header, as servers limit it
HANG_SECONDS = 60
SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Sent:
    """A request as it was received; names of headers are in title case."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        """The content, which is JSON."""
        return json.loads(self.content or b"null")


class Loopback:
    """Serve on a free port of this machine. ``answer`` makes the reply to a request, and may block in a thread.

    ``written`` counts the bytes of bodies that went out. After ``pieces_at_once`` pieces of a reply, if given, it
    sends one a second, lest a reply without end takes the processor from what is measured.
    """

    def __init__(
        self, answer: Callable[[Sent], Wire], *, pieces_at_once: int | None = None, keep_alive: bool = True
    ) -> None:
        self.sent: list[Sent] = []
        self.written = 0
        self.connections = 0
        self.port = 0
        self._answer = answer
        self._pieces_at_once = pieces_at_once
        self._keep_alive = keep_alive
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The server's address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """The address that an OpenAI client is given."""
        return f"{self.url}/v1"

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Self]:
        """Serve from the running event loop."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024, limit=2**20)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks)

    def start(self) -> Self:
        """Serve from a thread until closed."""
        began = threading.Event()

        async def run() -> None:
            self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
            self._loop.set_default_executor(ThreadPoolExecutor(32))
            async with self.listening():
                began.set()
                await self._closing.wait()

        self._thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        self._thread.start()
        began.wait()
        return self

    def close(self) -> None:
        """End the thread that serves."""
        if self._thread:
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(5)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until either side closes it."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self.respond(await _read(reader), writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # the client is gone, or sends what is no request
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def respond(self, sent: Sent, writer: asyncio.StreamWriter) -> bool:
        """Reply to one request; return whether the connection stays open."""
        self.sent.append(sent)
        if any(len(value) > LONGEST_LINE for value in sent.headers.values()):
            wire = whole(b"", 431)
        elif self._thread:
            wire = await asyncio.to_thread(self._answer, sent)
        else:
            wire = self._answer(sent)
        return await self.play(wire, writer, head_alone=sent.method == "HEAD")

    async def play(self, wire: Wire, writer: asyncio.StreamWriter, *, head_alone: bool = False) -> bool:
        """Send a reply as slowly as it says and end it so; return whether the connection stays open."""
        if not self._keep_alive:
            wire = replace(wire, headers={**wire.headers, "Connection": "close"})
        head = wire.head()
        for number, piece in enumerate([] if head_alone else wire.frames()):
            poured = self._pieces_at_once is not None and number >= self._pieces_at_once
            if pause := wire.pause or float(poured):
                writer.write(head)
                head = b""
            await asyncio.sleep(pause)
            writer.write(head + piece)
            head = b""
            await writer.drain()
            self.written += len(piece)
        writer.write(head)
        await writer.drain()
        if wire.end == "hang":
            await asyncio.sleep(HANG_SECONDS)
        return self._keep_alive and wire.end == "keep" and wire.framing != "none"


async def _read(reader: asyncio.StreamReader) -> Sent:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.title(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    method, path, _ = line.split(" ", 2)
    return Sent(method, path, headers, await reader.readexactly(int(headers.get("Content-Length", 0))))


@contextmanager
def loopback(answer: Callable[[Sent], Wire]) -> Iterator[Loopback]:
    """A server in a thread, closed with the block; it closes each connection after one reply."""
    server = Loopback(answer, keep_alive=False).start()
    try:
        yield server
    finally:
        server.close()


class Remote:
    """A server in another process, whose methods are called from here."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.base_url: str = pipe.recv()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the server; return what it returns."""
        self._pipe.send((method, arguments))
        return self._pipe.recv()


@contextmanager
def in_another_process(make: Callable[..., Loopback], *arguments: Any) -> Iterator[Remote]:
    """Serve what ``make`` makes of the arguments in a process of its own, ended with the block."""
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=_serve_until_closed, args=(theirs, make, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Remote(ours)
    finally:
        ours.close()
        process.join(10)


def _serve_until_closed(pipe: Connection, make: Callable[..., Loopback], arguments: tuple[Any, ...]) -> None:
    async def run() -> None:
        async with make(*arguments).listening() as server:
            pipe.send(server.base_url)
            with suppress(EOFError):
                while True:
                    method, given = await asyncio.to_thread(pipe.recv)
                    pipe.send(getattr(server, method)(*given))

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    asyncio.run(run())


def json_reply(content: Any, status: int = 200) -> Wire:
    """A sound reply of JSON."""
    return whole(json.dumps(content).encode(), status)
