"""Say in a sentence what an error of SQLite means for the index."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from errors import RequestError
from private_files import NotRegularFileError
from retrieval.errors import IndexBusy, IndexDamaged, shown

BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNWRITABLE_CODES = (
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_AUTH),
)
_OWN_CODES = (sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_MISUSE)


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Raise SQLite's and the system's errors as ``RequestError`` and its children.

    The statements are fixed and the tables are checked when the database is opened; what fails for
    no outward reason therefore fails because the file is not what was written.
    """
    try:
        yield
    except (NotRegularFileError, IsADirectoryError) as error:
        name = shown(Path(error.filename2 or error.filename).name)
        raise RequestError(
            f"{name} in the index folder {shown(folder)} is not a regular file: remove it, then try again."
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
            raise IndexBusy(f"The index in {shown(folder)} is being written: wait a moment, then try again.") from error
        if code in _UNWRITABLE_CODES:
            raise RequestError(_unusable(folder, str(error))) from error
        raise _damaged(folder, error) from error


def code_of(error: sqlite3.Error) -> int:
    """Return the primary result code, or 0 where the error is not SQLite's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def unwritable(folder: Path, reason: str) -> str:
    """Say that a folder cannot be used, and what to do."""
    return (
        f"The index folder {shown(folder)} cannot be written ({reason.lower()}): "
        "free some space on its disk, or make the folder writable."
    )


def _unusable(folder: Path, reason: str) -> str:
    """Say why a folder that was there when it was opened cannot be used any more."""
    if os.path.isdir(folder):  # noqa: PTH112 - Path's own raises where it may not look
        return unwritable(folder, reason)
    return f"The index folder {shown(folder)} cannot be found any more: put it back, or index its documents again."


def _damaged(folder: Path, error: Exception) -> IndexDamaged:
    return IndexDamaged(f"The index in {shown(folder)} is damaged ({error}): index its documents again.")
