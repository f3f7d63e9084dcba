"""Files of JSON lines that only grow, and that are read through whatever a kill left of the last line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from core.errors import RequestError
from core.files import FileTooLargeError, open_private
from core.text import shown

LARGEST = 2_000_000_000  # bytes: what they hold is kept in memory


def open_lines(path: Path, start: bytes, take: Callable[[bytes], bool]) -> tuple[int, int]:
    """Open or make a file to append to; return its descriptor, and how many of its lines ``take`` did not take.

    A last line without an end is cut off if ``take`` does not take it and it begins with ``start``, as every line that
    this program writes; whatever else stands there is kept, and its line ended. Raises ``OSError``.
    """
    descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
    try:
        return descriptor, _read(path, descriptor, start, take)
    except BaseException:
        os.close(descriptor)
        raise


def unwritable(path: Path, error: OSError) -> RequestError:
    """What to raise where results cannot be written."""
    reason = error.strerror or error
    return RequestError(f"{shown(path)} cannot be written ({reason}): make room, or name another folder with --out.")


def _read(path: Path, descriptor: int, start: bytes, take: Callable[[bytes], bool]) -> int:
    size = os.fstat(descriptor).st_size
    if size > LARGEST:
        raise FileTooLargeError(path, LARGEST)
    refused, line, taken = 0, b"\n", True
    with open(descriptor, "rb", closefd=False) as file:
        for line in file:
            taken = not line.strip() or take(line)
            refused += not taken
    if line.endswith(b"\n"):
        return refused
    if not taken and line[: len(start)] == start[: len(line)]:
        os.ftruncate(descriptor, size - len(line))
        return refused - 1
    os.write(descriptor, b"\n")
    return refused
