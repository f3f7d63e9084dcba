"""Open SQLite files safely, translate their errors, and record who holds the writer lock."""

import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.errors import IndexBusy, IndexDamaged, RequestError
from core.files import NotRegularFileError, open_private, read_json, require_regular, write_private
from core.text import one_line, shown_path

_COMPANIONS = ("-wal", "-shm", "-journal")
_LONGEST = 256_000_000  # bytes of one value, which is read into memory at once
_creating = threading.Lock()


def create_private(path: Path) -> None:
    """Create the empty file of a new database, private to the user; SQLite gives its -wal and -shm the same mode.

    An existing file is not opened: a process loses its locks on a file when it closes any descriptor of it.
    """
    with _creating, suppress(FileExistsError):
        os.close(open_private(path, os.O_RDWR | os.O_EXCL))


def connect(path: Path, option: str = "mode=rw", *, seconds: float = 0.0) -> sqlite3.Connection:
    """Open an existing database; ``option`` is part of SQLite's URI, ``seconds`` the timeout for a lock.

    The connection may be used from any thread, in autocommit mode. Raises ``NotRegularFileError`` for a file of the
    database that is not a regular file, another ``OSError`` for a missing one, and SQLite's errors.
    """
    require_regular(path)
    for suffix in _COMPANIONS:
        companion = path.with_name(path.name + suffix)
        if companion.is_symlink() or (companion.exists() and not companion.is_file()):
            raise NotRegularFileError(companion)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{option}",
        uri=True,
        timeout=seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    # trusted_schema = OFF would make SQLite 3.40 refuse FTS5 in triggers: the schema is compared instead.
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNWRITABLE_CODES = (
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_AUTH),
)
_OWN_CODES = (sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_MISUSE)


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Raise SQLite's and the system's errors as ``RequestError`` or a subclass.

    The statements are fixed and the schema is checked on opening, so an error without an external cause means that
    the file is damaged.
    """
    try:
        yield
    except (NotRegularFileError, IsADirectoryError) as error:
        name = shown_path(Path(error.filename2 or error.filename).name)
        raise RequestError(
            f"{name} in the index folder {shown_path(folder)} is not a regular file: remove it, then try again."
        ) from error
    except OSError as error:
        raise RequestError(_unusable(folder, error.strerror or str(error))) from error
    except UnicodeDecodeError as error:  # sqlite3 decodes names and texts before it looks at them
        raise _damaged(folder, error) from error
    except sqlite3.DatabaseError as error:
        code = code_of(error)
        if isinstance(error, sqlite3.ProgrammingError) or code in _OWN_CODES:
            raise
        if "fts5" in str(error) and "module" in str(error):
            raise RequestError(
                "This Python's SQLite has no FTS5: install a Python that has it, such as python.org's."
            ) from error
        if code in BUSY_CODES:
            raise IndexBusy(
                f"The index in {shown_path(folder)} is being written: wait a moment, then try again."
            ) from error
        if code in _UNWRITABLE_CODES:
            raise RequestError(_unusable(folder, str(error))) from error
        raise _damaged(folder, error) from error


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code, or 0 if it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def unwritable_folder(folder: Path, reason: str) -> str:
    """Return the message for a folder that cannot be written."""
    return (
        f"The index folder {shown_path(folder)} cannot be written ({reason.lower()}): "
        "free some space on its disk, or make the folder writable."
    )


def _unusable(folder: Path, reason: str) -> str:
    """Return the message for a folder that became unusable after it was opened."""
    if os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises without permission
        return unwritable_folder(folder, reason)
    return f"The index folder {shown_path(folder)} cannot be found any more: put it back, or index its documents again."


def _damaged(folder: Path, error: Exception) -> IndexDamaged:
    return IndexDamaged(f"The index in {shown_path(folder)} is damaged ({error}): index its documents again.")


_NAME = "writer.json"
_LARGEST = 10_000  # bytes
_LONGEST_COMMAND = 200  # characters of a command that are shown


def record_lock_holder(folder: Path) -> None:
    """Record the lock holder's process id and command, best effort."""
    command = " ".join([Path(sys.argv[0]).name if sys.argv else "python", *sys.argv[1:2]])
    holder = {"process": os.getpid(), "command": command, "since": time.time()}
    with suppress(OSError, ValueError):
        write_private(folder / _NAME, json.dumps(holder).encode())


def clear_lock_holder(folder: Path) -> None:
    """Remove the record of the lock holder."""
    with suppress(OSError):
        (folder / _NAME).unlink()


def lock_holder(folder: Path) -> str:
    """Name the lock holder, as the beginning of a sentence: "Process 12 (self-rag index, since 09:30)"."""
    holder = read_json(folder / _NAME, _LARGEST)
    try:
        process, command, since = int(holder["process"]), str(holder["command"]), float(holder["since"])
        began = time.strftime("%H:%M", time.localtime(since))
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return "Another process"
    return f"Process {process} ({one_line(command)[:_LONGEST_COMMAND]}, since {began})"
