"""A LangSmith of this machine that takes every upload."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LangSmith(ThreadingHTTPServer):
    """``sent`` are the bodies of what was uploaded."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        super().__init__(("127.0.0.1", 0), Upload)

    def environment(self) -> dict[str, str]:
        """Where a client finds it, and that its uploads can be read."""
        return {
            "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{self.server_address[1]}",
            "LANGSMITH_API_KEY": "key",
            "LANGSMITH_DISABLE_RUN_COMPRESSION": "true",
        }


class Upload(BaseHTTPRequestHandler):
    server: LangSmith

    def do_POST(self) -> None:
        self.server.sent.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.do_GET()

    do_PATCH = do_POST  # noqa: N815

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def langsmith_of_this_machine() -> Iterator[LangSmith]:
    with LangSmith() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()
