"""Keep threads and their turns in one SQLite file, for several threads and processes at once."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from app.conversations.checkpoints import FileSaver, open_checkpoints
from app.conversations.tables import SCHEMA, Lock, Rows, ThreadTables
from app.conversations.thread import ThreadBusyError, ThreadStorageError, ThreadTurn
from core.files import FILE_MODE, make_private_folder
from core.text import shown_path
from retrieval.index.sqlite_files import BUSY_CODES, DAMAGE_CODES, code_of, connect, create_private

FORMAT = 1
NAME = "threads.sqlite"
WAIT = 10.0  # seconds for another process that writes
COMPANIONS = ("", "-wal", "-shm", "-journal")


class HeldLock(FileLock):
    """A lock that is acquired already: entering its context does nothing, leaving the context releases it."""

    def __enter__(self) -> Self:
        return self


class Threads(ThreadTables):
    """The threads of all owners, in ``folder``."""

    def __init__(self, folder: Path, *, keep_days: int | None = None) -> None:
        """Open or create the store; delete threads that were not changed for ``keep_days``.

        Raises `ThreadStorageError` if it cannot be read or written, is damaged, or is of a newer version.
        """
        self._folder = folder
        self.keep_days = keep_days
        self._using = threading.RLock()
        with self._translated():
            for private in (folder, folder / "checkpoints", folder / "locks"):
                make_private_folder(private)
            create_private(folder / NAME)
            self._connection = connect(folder / NAME, seconds=WAIT)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        self.expire()

    def close(self) -> None:
        with self._using:
            self._connection.close()

    def lock(self, id_: str) -> Lock:
        lock = HeldLock(self._lock_file(id_), mode=FILE_MODE, thread_local=False)
        with self._translated():
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                raise ThreadBusyError from error
        return lock

    def has_checkpoints(self, run: str) -> bool:
        return self.checkpoints(run).exists()

    def checkpointer(self, turn: ThreadTurn) -> AbstractAsyncContextManager[FileSaver | None]:
        return open_checkpoints(self.checkpoints(turn.run))

    def checkpoints(self, run: str) -> Path:
        return self._folder / "checkpoints" / f"{run}.sqlite"

    def remove_checkpoints(self, *runs: str) -> None:
        for path in map(self.checkpoints, runs):
            for suffix in COMPANIONS:
                with suppress(OSError):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)

    def _prepare(self) -> None:
        """Create the tables of a new file. Raises `ThreadStorageError` for one of a newer version."""
        database = self._connection
        database.row_factory = sqlite3.Row
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA secure_delete = ON")
        with self._writing():
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version > FORMAT:
                raise ThreadStorageError(
                    f"The threads in {shown_path(self._folder)} are of a newer version: install that one, or set "
                    "SELFRAG_HOME to another folder."
                )
            if version == 0:
                for statement in SCHEMA:
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("SELECT count(*) FROM threads JOIN turns ON turns.thread = threads.id LIMIT 1").fetchone()

    def _deleted(self, id_: str) -> None:
        """Remove the thread's lock file, and empty the write-ahead log, which still holds the thread's text."""
        with suppress(OSError):
            self._lock_file(id_).unlink(missing_ok=True)
        with self._using, self._translated():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _clean_up(self) -> None:
        files = (self._folder / "checkpoints").glob("*.sqlite")
        kept = [path.stem for path in files]  # listed first: a turn is written before its file
        unfinished = {row["run"] for row in self._read("SELECT run FROM turns WHERE state = 'unfinished'")}
        self.remove_checkpoints(*(run for run in kept if run not in unfinished))  # left by a kill

    def _lock_file(self, id_: str) -> Path:
        return self._folder / "locks" / f"{id_}.lock"

    def _read(self, statement: str, *values: object) -> Rows:
        with self._using, self._translated():
            return [dict(row) for row in self._connection.execute(statement, values)]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._using, self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a disk that is full has ended the transaction already
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise the errors of SQLite and of the system as `ThreadStorageError`."""
        try:
            yield
        except (sqlite3.DatabaseError, OSError) as error:
            if isinstance(error, sqlite3.ProgrammingError):
                raise
            code = code_of(error) if isinstance(error, sqlite3.Error) else 0
            reason = getattr(error, "strerror", None) or str(error)
            remedy = "make room on its disk, or make the folder writable"
            if code in BUSY_CODES:
                remedy = "another process writes them, so try again"
            damaged = isinstance(error, sqlite3.Error) and (code in DAMAGE_CODES or code == sqlite3.SQLITE_ERROR)
            if damaged:
                remedy = f"move {NAME} away to begin without any"
            raise ThreadStorageError(
                f"The threads in {shown_path(self._folder)} {'are damaged' if damaged else 'cannot be kept or read'} "
                f"({reason}): {remedy}."
            ) from error
