"""Find child processes that a killed process leaves behind."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def adopt() -> None:
    """Adopt orphaned descendants (PR_SET_CHILD_SUBREAPER, Linux only)."""
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this system does not hand over orphans")


def children() -> set[int]:
    """Process ids of this process's children."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                after = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if int(after[1]) == os.getpid():
                    found.add(int(folder.name))
    return found


def survivors(known: set[int], seconds: float) -> list[int]:
    """Children not in ``known`` that are alive after ``seconds``; they are killed."""
    deadline = time.monotonic() + seconds
    while left := children() - known:
        for process in sorted(left):
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    left = children() - known
    for process in left:
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    return sorted(left)
