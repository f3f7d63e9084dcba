"""Files as this program opens them: what it keeps is for its user alone, and what it reads is a file, not a device."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_BINARY = getattr(os, "O_BINARY", 0)


class NotRegularFileError(OSError):
    """A FIFO, a device or a socket stands where a file should, or a link where one is written."""

    def __init__(self, path: Path, reason: str = "it is not a regular file") -> None:
        super().__init__(errno.EINVAL, reason, str(path))


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
    try:
        descriptor = os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | _nonblocking(), FILE_MODE)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise NotRegularFileError(path, "it is a link") from error
        raise
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


def replace_private(files: Mapping[Path, bytes]) -> None:
    """Write files that this program keeps, each in one step and none before all could be written.

    Whoever reads one, and whoever comes after a kill, finds the old one or the new one whole. What is no file, a link
    among it, is not replaced. Raises `NotRegularFileError` and ``OSError``.
    """
    parts = {path: path.with_name(f".{path.name}.part") for path in files}
    try:
        for path, data in files.items():
            if os.path.lexists(path):
                _require_regular(path, path.lstat())
            write_private(parts[path], data)
        for path, part in parts.items():
            part.replace(path)
    except OSError:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()
        raise


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file to be read, without waiting on anything that is none.

    Raises `NotRegularFileError`, or another ``OSError`` where it cannot be opened.
    """
    _require_regular(path, path.stat())  # before it is opened, too: that alone can start a device
    file = os.fdopen(os.open(path, os.O_RDONLY | _nonblocking()), "rb")
    try:
        _require_regular(path, os.fstat(file.fileno()))
    except OSError:
        file.close()
        raise
    return file


def read_regular(path: Path, most: int) -> bytes:
    """Return what is in a regular file of at most ``most`` bytes, opened as by `open_regular`.

    Raises `FileTooLargeError` as well.
    """
    with open_regular(path) as file:
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
    if stat.S_ISLNK(found.st_mode):
        raise NotRegularFileError(path, "it is a link")
    if not stat.S_ISREG(found.st_mode):
        raise NotRegularFileError(path)


def _nonblocking() -> int:
    return getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _BINARY
