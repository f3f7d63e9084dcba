"""Readers whose parsing a test replaces: each is a real process, started from a script."""

import hashlib
import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

_CHECKOUT = Path(__file__).resolve().parents[4]
PATIENCE = 60  # seconds: nothing takes so long but what never happens
_BEGIN = f"""
import json, os, re, signal, sys, time
sys.path.insert(0, {str(_CHECKOUT)!r})
from retrieval.documents import load
from retrieval.sandbox import child as reader
from retrieval.documents.load import parse_document as really_parse
from retrieval.documents.loaded import Loaded, Section

def text(value): return Loaded([Section(str(value))])
"""


class Marks:
    """A pipe that confined readers leave marks in, for they can open no file: they call ``mark``."""

    def __init__(self, folder: Path) -> None:
        path = folder / "marks"
        os.mkfifo(path)
        self.body = f"marks = os.open({str(path)!r}, os.O_RDWR)\ndef mark(): os.write(marks, b'.')\n"
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._count = 0

    def count(self) -> int:
        with suppress(BlockingIOError):
            self._count += len(os.read(self._pipe, 4_096))
        return self._count

    def wait_for(self, count: int) -> None:
        end = time.monotonic() + PATIENCE
        while self.count() < count:
            assert time.monotonic() < end, f"{count} marks were awaited in vain"
            time.sleep(0.02)


def child(folder: Path, body: str, marks: Marks | None = None) -> list[str]:
    """Return the command of a reader that runs ``body`` before it serves; a ``parse_document`` in it is used.

    What the body opens before is still open when the reader is confined.
    """
    script = folder / "child.py"
    end = "if 'parse_document' in globals(): reader.parse_document = parse_document\nreader.main()\n"
    script.write_text(_BEGIN + (marks.body if marks else "") + dedent(body) + "\n" + end, encoding="utf-8")
    return [sys.executable, "-I", str(script)]


def write(folder: Path, names: Iterable[str]) -> list[bytes]:
    """Write a small text file for each name, and return their paths."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f"This is {name}.", encoding="utf-8")
    return [os.fsencode(folder / name) for name in names]


def hash_of(path: Path | bytes) -> str:
    return hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).hexdigest()


def children() -> set[int]:
    """Return the processes that this one has started and not yet waited for."""
    parent = str(os.getpid())
    return {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _stat(pid)[1:2] == [parent]}  # noqa: PTH208


def runs(pid: int) -> bool:
    """Whether a process is there and is not merely a corpse that nobody has fetched."""
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def _stat(pid: int) -> list[str]:
    """Return a process's state, its parent and so on; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
