"""Append-only files of JSON lines that survive a last line torn by a kill."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import RequestError
from core.files import FileTooLargeError, open_private
from core.text import shown_path

LARGEST = 2_000_000_000  # bytes: the content is kept in memory


def open_lines(path: Path, start: bytes, accept: Callable[[bytes], bool]) -> tuple[int, int]:
    """Open or create a file to append to; return its descriptor, and how many of its lines ``accept`` refused.

    A last line without a newline is cut off if ``accept`` refuses it and its beginning (``start``) shows that this
    program wrote it; otherwise the line is kept, and a newline is added. Raises ``OSError``.
    """
    descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
    try:
        return descriptor, _read(path, descriptor, start, accept)
    except BaseException:
        os.close(descriptor)
        raise


def append(descriptor: int, line: bytes) -> None:
    """Append a line, which ends in a newline, and wait until it is on the disk. Raises ``OSError``."""
    while line:
        line = line[os.write(descriptor, line) :]
    os.fsync(descriptor)


def unwritable(path: Path, error: OSError) -> RequestError:
    reason = error.strerror or error
    return RequestError(
        f"{shown_path(path)} cannot be written ({reason}): free space, or name another folder with --out."
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Replace an ``OSError`` in the block by the `RequestError` of `unwritable`."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error


def _read(path: Path, descriptor: int, start: bytes, accept: Callable[[bytes], bool]) -> int:
    size = os.fstat(descriptor).st_size
    if size > LARGEST:
        raise FileTooLargeError(path, LARGEST)
    refused, line, accepted = 0, b"\n", True
    with open(descriptor, "rb", closefd=False) as file:
        for line in file:
            accepted = not line.strip() or accept(line)
            refused += not accepted
    if line.endswith(b"\n"):
        return refused
    if not accepted and line[: len(start)] == start[: len(line)]:
        os.ftruncate(descriptor, size - len(line))
        return refused - 1
    os.write(descriptor, b"\n")
    return refused
