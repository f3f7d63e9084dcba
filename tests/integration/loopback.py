"""A loopback server of no protocol: it sends what a test says, and remembers what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.stress.faults.misbehaviour import Wire, whole


@dataclass(frozen=True)
class Sent:
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Loopback:
    """``answer`` makes the reply to a request; ``written`` counts the bytes of bodies that went out."""

    answer: Callable[[Sent], Wire]
    sent: list[Sent] = field(default_factory=list)
    written: int = 0
    closing: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def play(self, http: BaseHTTPRequestHandler, wire: Wire) -> None:
        http.close_connection = True
        wire = replace(wire, headers={**wire.headers, "Connection": "close"})
        with suppress(OSError):
            http.wfile.write(wire.head())
            for piece in wire.frames():
                if self.closing.is_set():
                    return
                http.wfile.write(piece)
                self.written += len(piece)
            if wire.end == "hang":
                self.closing.wait(60)


@contextmanager
def loopback(answer: Callable[[Sent], Wire]) -> Iterator[Loopback]:
    server = Loopback(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Sent(self.path, dict(self.headers), json.loads(text or b"null"))
            server.sent.append(request)
            server.play(self, server.answer(request))

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        http.server_close()
        thread.join(5)


def json_reply(content: Any, status: int = 200) -> Wire:
    return whole(json.dumps(content).encode(), status)
