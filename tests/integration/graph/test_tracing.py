"""LangSmith is sent nothing of a graph that was not built to be traced, whatever the environment says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.integration.graph.sky import AIR, QUESTION

ROOT = Path(__file__).parents[3]


class LangSmith(ThreadingHTTPServer):
    """Takes every upload; ``sent`` are their bodies."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        super().__init__(("127.0.0.1", 0), Upload)


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


@pytest.fixture
def langsmith() -> Iterator[LangSmith]:
    with LangSmith() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


def run(langsmith: LangSmith, *arguments: str, **environment: str) -> list[str]:
    """What LangSmith is sent of `traced`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.graph.traced", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{langsmith.server_address[1]}",
            "LANGSMITH_API_KEY": "key",
            "LANGSMITH_DISABLE_RUN_COMPRESSION": "true",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return langsmith.sent


@pytest.mark.parametrize("name", ["LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGCHAIN_TRACING"])
def test_what_is_set_for_another_program_sends_nothing(langsmith: LangSmith, name: str) -> None:
    assert run(langsmith, "alone,compared,synchronously,asynchronously", **{name: "true"}) == []


def test_a_surrounding_trace_has_no_question_and_no_passage(langsmith: LangSmith) -> None:
    sent = "".join(run(langsmith, "inside", LANGSMITH_TRACING="true"))
    assert sent.count("outer trace") >= 4
    assert AIR not in sent
    assert QUESTION not in sent


def test_a_graph_that_is_built_to_be_traced_is(langsmith: LangSmith) -> None:
    sent = "".join(run(langsmith, "synchronously,asynchronously", "traced"))
    assert sent.count('"name":"self-rag"') >= 7
    assert AIR in sent
