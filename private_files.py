"""Files as this program opens them: what it keeps is for its user alone, and what it reads is a file, not a device."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_BINARY = getattr(os, "O_BINARY", 0)


class NotRegularFileError(OSError):
    """A FIFO, a device or a socket stands where a file should."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "it is not a regular file", str(path))


class FileTooLargeError(OSError):
    """The file has more bytes than are read of such a file."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(errno.EFBIG, f"it is larger than {most / 1e6:,.0f} MB", str(path))


def make_private_folder(folder: Path) -> None:
    """Make ``folder``, and what is missing above it, for the user alone; close an existing one to all others.

    A folder of another user's stays as it is. Raises ``OSError`` where it cannot be made.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    make_private(folder)


def make_private(path: Path) -> None:
    """Take group's and others' permissions from a file or folder, as far as it belongs to this user."""
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat(follow_symlinks=False).st_mode)
        if mode & 0o077 and not path.is_symlink():
            path.chmod(mode & FOLDER_MODE)


def open_private(path: Path, flags: int) -> int:
    """Open a file that this program writes, readable by its user alone; return the descriptor.

    A link is refused, so that nobody can have another file overwritten. Raises `NotRegularFileError` for what is no
    file, and ``OSError``.
    """
    descriptor = os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | _nonblocking(), FILE_MODE)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotRegularFileError(path)
        if found.st_mode & 0o077 and hasattr(os, "fchmod"):
            with suppress(OSError):
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode) & FILE_MODE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_private(path: Path, data: bytes | memoryview) -> None:
    """Write a file that this program keeps, as `open_private` opens it."""
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(data)


def read_regular(path: Path, most: int) -> bytes:
    """Return what is in a regular file of at most ``most`` bytes, without waiting on anything that is none.

    Raises `NotRegularFileError`, `FileTooLargeError`, or another ``OSError`` where it cannot be opened.
    """
    return read_open(open_regular(path), path, most)


def open_regular(path: Path, *, follow: bool = True) -> int:
    """Open a regular file to read it and return the descriptor; without ``follow``, a link is none.

    Raises `NotRegularFileError`, or another ``OSError`` where it cannot be opened.
    """
    _require_regular(path, path.stat(follow_symlinks=follow))  # before it is opened, too: that alone can start a device
    flags = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, os.O_RDONLY | flags | _nonblocking())
    try:
        _require_regular(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_open(descriptor: int, path: Path, most: int) -> bytes:
    """Return what is in a file that is open, at most ``most`` bytes, and close it; ``path`` is for messages.

    Raises `FileTooLargeError`, or another ``OSError``.
    """
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        data = b"" if found.st_size > most else file.read(found.st_size + 1)
        if len(data) > found.st_size:  # it has grown, or its file system does not know sizes
            data += file.read(most + 1 - len(data))
    if found.st_size > most or len(data) > most:
        raise FileTooLargeError(path, most)
    return data


def _require_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise NotRegularFileError(path)


def _nonblocking() -> int:
    return getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _BINARY
