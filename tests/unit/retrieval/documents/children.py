"""Readers whose parsing a test replaces: each is a real process, started from a script."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import dedent

_CHECKOUT = Path(__file__).resolve().parents[4]
_BEGIN = f"""
import json, os, re, signal, sys, time
sys.path.insert(0, {str(_CHECKOUT)!r})
from retrieval.documents import load, reader
from retrieval.documents.load import Loaded, Section, parse as really_parse

def text(value): return Loaded([Section(str(value))])
"""


def child(folder: Path, body: str) -> list[str]:
    """Return the command of a reader that runs ``body`` before it serves; its ``parse`` is the one used, if any."""
    script = folder / "child.py"
    end = "if 'parse' in globals(): reader.parse = parse\nreader.main()\n"
    script.write_text(_BEGIN + dedent(body) + "\n" + end, encoding="utf-8")
    return [sys.executable, "-I", str(script)]


def write(folder: Path, names: Iterable[str]) -> list[bytes]:
    """Write a small text file for each name, and return their paths."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f"This is {name}.", encoding="utf-8")
    return [os.fsencode(folder / name) for name in names]


def children(of: int | None = None) -> set[int]:
    """Return the processes that this one, or the one given, has started and not yet waited for."""
    parent = of or os.getpid()
    return {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _stat(pid)[1:2] == [str(parent)]}  # noqa: PTH208


def runs(pid: int) -> bool:
    """Whether a process is there and is not merely a corpse that nobody has fetched."""
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def _stat(pid: int) -> list[str]:
    """Return a process's state, its parent and so on; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
