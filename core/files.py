"""Open files safely: written files are private to the user, and only regular files are read."""

import errno
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_SEPARATOR = os.fsencode(os.sep)
_NONBLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


class NotRegularFileError(OSError):
    """The path is a FIFO, a device or a socket, or a link where links are refused."""

    def __init__(self, path: Path, reason: str = "it is not a regular file") -> None:
        super().__init__(errno.EINVAL, reason, str(path))


class FileTooLargeError(OSError):
    """The file has more bytes than the limit."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(errno.EFBIG, f"it is larger than {most / 1e6:,.0f} MB", str(path))


def is_below(path: bytes, folder: bytes) -> bool:
    """True if ``path`` is ``folder`` or lies below it, at any depth."""
    return path == folder or path.startswith(folder.rstrip(_SEPARATOR) + _SEPARATOR)


def make_private_folder(folder: Path) -> None:
    """Create ``folder`` and its missing parents, private to the user; make an existing folder private.

    Another user's folder is left as it is. Raises ``OSError`` if it cannot be created.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    make_private(folder)


def make_private(path: Path) -> None:
    """Remove the permissions of group and others from a file or folder that belongs to this user.

    A folder that its owner cannot write, or that has the sticky bit like ``/tmp``, is shared on purpose: it stays so.
    """
    with suppress(OSError):
        found = path.stat(follow_symlinks=False)
        if found.st_mode & 0o077 and not stat.S_ISLNK(found.st_mode) and _is_own(found) and not _is_shared(found):
            path.chmod(stat.S_IMODE(found.st_mode) & FOLDER_MODE)


def make_contents_private(folder: Path) -> None:
    """Apply `make_private` to everything in a folder, at any depth, without following links.

    The contents of a folder that is shared on purpose are left as they are.
    """
    with suppress(OSError):
        found = folder.stat(follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode) or _is_shared(found):
            return
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            make_private(Path(parent, name))


def open_private(path: Path, flags: int) -> int:
    """Open or create a file, private to the user; return the descriptor.

    A link is refused, so that nobody can redirect the write to another file. Raises `NotRegularFileError` for anything
    but a regular file, and ``OSError``.
    """
    try:
        descriptor = os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | _NONBLOCKING, FILE_MODE)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise NotRegularFileError(path, "it is a link") from error
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotRegularFileError(path)
        if found.st_mode & 0o077 and _is_own(found) and hasattr(os, "fchmod"):
            with suppress(OSError):
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode) & FILE_MODE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_private(path: Path, data: bytes | memoryview, *, new: bool = False) -> None:
    """Write ``data`` to a file opened by `open_private`. With ``new``, raise ``FileExistsError`` if it exists."""
    with os.fdopen(open_private(path, os.O_WRONLY | (os.O_EXCL if new else os.O_TRUNC)), "wb") as file:
        file.write(data)


def replace_private(files: Mapping[Path, bytes]) -> None:
    """Replace private files, each atomically, after the new contents of all have been written beside them.

    A reader finds either the old file or the complete new one, even after a kill. Raises `NotRegularFileError` if a
    link or anything else that is no regular file is in the way, or another ``OSError``.
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


def open_regular_descriptor(path: Path, *, follow_links: bool = True) -> int:
    """Open a regular file for reading, without blocking on a FIFO or device; return the descriptor.

    Raises `NotRegularFileError`, or another ``OSError`` if the file cannot be opened. Unless ``follow_links``, a link
    is refused.
    """
    require_regular(path, follow_links=follow_links)  # checked before opening, too: opening a device can have effects
    nofollow = 0 if follow_links else getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, os.O_RDONLY | nofollow | _NONBLOCKING)
    try:
        _require_regular(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_regular(path: Path, most: int | None = None) -> BufferedReader:
    """Open a regular file of at most ``most`` bytes as `open_regular_descriptor` does.

    Raises `FileTooLargeError` as well.
    """
    file = os.fdopen(open_regular_descriptor(path), "rb")
    if most is not None and os.fstat(file.fileno()).st_size > most:
        file.close()
        raise FileTooLargeError(path, most)
    return file


def read_regular(path: Path, most: int, *, follow_links: bool = True) -> bytes:
    """Return the bytes of a regular file, at most ``most``, opened by `open_regular_descriptor`.

    Raises `FileTooLargeError` as well.
    """
    return read_open(open_regular_descriptor(path, follow_links=follow_links), path, most)


def read_json(path: Path, most: int) -> dict[str, Any]:
    """Return the JSON object in a regular file of at most ``most`` bytes; an empty one if it cannot be read."""
    try:
        value = json.loads(read_regular(path, most))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_open(descriptor: int, path: Path, most: int) -> bytes:
    """Return the bytes of an open file, at most ``most``, and close it; ``path`` is for messages.

    Raises `FileTooLargeError`, or another ``OSError``.
    """
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > most else file.read(size + 1)
        if len(data) > size:  # the file has grown, or its file system reports no sizes
            data += file.read(most + 1 - len(data))
    if size > most or len(data) > most:
        raise FileTooLargeError(path, most)
    return data


def require_regular(path: Path, *, follow_links: bool = True) -> None:
    """Raise `NotRegularFileError` for anything but a regular file, or another ``OSError`` for a missing one."""
    _require_regular(path, path.stat(follow_symlinks=follow_links))


def _require_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISLNK(found.st_mode):
        raise NotRegularFileError(path, "it is a link")
    if not stat.S_ISREG(found.st_mode):
        raise NotRegularFileError(path)


def _is_own(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def _is_shared(found: os.stat_result) -> bool:
    """True for a folder that its owner cannot write, or in which users can delete only their own files (sticky bit)."""
    is_shared = not found.st_mode & stat.S_IWUSR or found.st_mode & stat.S_ISVTX
    return stat.S_ISDIR(found.st_mode) and bool(is_shared)
