"""Open SQLite files that others may have made: regular ones only, and private where they are ours."""

import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

from private_files import NotRegularFileError, open_private, require_regular

_COMPANIONS = ("-wal", "-shm", "-journal")
_LONGEST = 256_000_000  # bytes of one value, which are read into memory at once
_creating = threading.Lock()


def create_private(path: Path) -> None:
    """Make the empty file of a new database, for its user alone; SQLite gives its helper files the same mode.

    One that is there is not even opened: a process loses its locks on a file when it closes any descriptor of it.
    """
    with _creating, suppress(FileExistsError):
        os.close(open_private(path, os.O_RDWR | os.O_EXCL))


def connect(path: Path, option: str = "mode=rw", *, seconds: float = 0.0) -> sqlite3.Connection:
    """Open a database that exists; ``option`` is SQLite's, ``seconds`` how long it waits for a lock.

    The connection may be used by any thread and begins no transaction of its own. Raises ``NotRegularFileError``
    where a file of the database is none, another ``OSError`` where there is none, and SQLite's errors.
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
    # Not trusted_schema = OFF: SQLite 3.40 then refuses FTS5 in triggers. The schema is compared instead.
    connection.execute("PRAGMA cell_size_check = ON")
    return connection
