"""Open the index's SQLite file and pool its connections, for many readers and one writer."""

import os
import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import unquote_to_bytes

from filelock import FileLock, Timeout

from core.errors import IndexBusy, IndexDamaged, RequestError
from core.files import FILE_MODE, make_contents_private, make_private_folder, require_regular
from core.text import shown_path
from retrieval.index import schema
from retrieval.index.document_rows import migrate
from retrieval.index.manifest import read_manifest
from retrieval.index.recovery import recover
from retrieval.index.schema import FORMAT
from retrieval.index.sqlite_files import (
    clear_lock_holder,
    connect,
    create_private,
    lock_holder,
    record_lock_holder,
    translated,
    unwritable_folder,
)
from retrieval.store import WAIT

NAME = "index.sqlite"
_LOCK_NAME = "writer.lock"
_LOG = 64_000_000  # bytes that the write-ahead log keeps after a checkpoint
_LONGEST_FORMAT = 9  # digits
_MIGRATION_WAIT = 60.0  # seconds for another writer to finish: until then an older index cannot be read


class Database:
    """The database of one index folder; ``notes`` lists what had to be repaired. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Open or create the database in ``folder``; bring an older one up to date, start over if it is damaged."""
        self.folder = folder
        self.place = shown_path(folder)
        self.notes: list[str] = []
        self._path = folder / NAME
        self._idle: list[sqlite3.Connection] = []  # `close` replaces the list
        self._pool_lock = threading.RLock()
        self._writer = threading.RLock()
        self._lock = FileLock(folder / _LOCK_NAME, mode=FILE_MODE, thread_local=False)
        self.writable = self._prepare()
        self._inode = _inode(self._path)
        try:
            with translated(folder):
                self._create_if_empty()
                self._check()
        except IndexDamaged:
            self.start_over()

    def close(self) -> None:
        """Close the idle connections now, and those in use when they are returned."""
        with self._pool_lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that reads one consistent snapshot of the database."""
        with translated(self.folder), self._connection() as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction: committed at the end, rolled back on an exception."""
        self._require_writable()
        with self._writer, translated(self.folder), self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def holder(self) -> str:
        """Name the process that writes, as the beginning of a sentence."""
        return lock_holder(self.folder)

    @contextmanager
    def only_writer(self, seconds: float = WAIT) -> Iterator[None]:
        """Hold the writer lock, against other processes and threads, across several transactions.

        Raises ``IndexBusy`` when another holder keeps it for ``seconds``. The operating system releases the lock when
        the process ends, even if it is killed.
        """
        self._require_writable()
        if not self._writer.acquire(timeout=seconds):
            raise self._busy()
        try:
            if self._lock.is_locked:
                yield
                return
            self._acquire_lock(seconds)
            try:
                record_lock_holder(self.folder)
                yield
            finally:
                clear_lock_holder(self.folder)
                self._lock.release()
        finally:
            self._writer.release()

    def start_over(self) -> None:
        """Move the damaged database aside and create a new one with the roots and whatever else is intact."""
        if not self.writable:
            raise IndexDamaged(
                f"The index in {self.place} is damaged and cannot be repaired, since the folder is "
                "read-only: make it writable."
            )
        with self.only_writer(), self._pool_lock, translated(self.folder):
            opened = self._inode
            self.close()
            aside = None
            if opened == _inode(self._path):  # else another process has replaced it already
                aside = self._move_aside()
                self.notes.append(f"The index in {self.place} was damaged: it was moved to {aside.name}.")
            self._create_if_empty()
            self._check()
            if aside:
                with self.writing() as connection:
                    recover(aside, connection)

    def _prepare(self) -> bool:
        """Create the folder, private to the user; return whether the database can be written."""
        try:
            make_private_folder(self.folder)
            make_contents_private(self.folder)  # older versions left the permissions to the umask
            exists = self._path.exists()
        except OSError as error:
            raise RequestError(unwritable_folder(self.folder, error.strerror or str(error))) from error
        writable = os.access(self._path if exists else self.folder, os.W_OK)
        writable = writable and os.access(self.folder, os.W_OK | os.X_OK)
        if not writable and not exists:
            raise RequestError(unwritable_folder(self.folder, "permission denied"))
        return writable

    def _require_writable(self) -> None:
        if not self.writable:
            raise RequestError(unwritable_folder(self.folder, "it is read-only"))

    def _create_if_empty(self) -> None:
        """Create the tables if there are none, and restore the roots from the manifest."""
        if not self.writable:
            return
        create_private(self._path)
        with closing(connect(self._path, "mode=rw", seconds=WAIT)) as connection:
            if not _is_empty(connection):
                return
            # SQLite does not wait while another process changes the journal mode: the lock does.
            with self.only_writer():
                if not _is_empty(connection):
                    return
                connection.execute("PRAGMA page_size = 8192")  # fits five vectors of 384 numbers; 4096 fits two
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                schema.create(connection)
                # Older versions require the key "generation".
                meta = {"format": str(FORMAT), "index": uuid.uuid4().hex, "generation": "0"}
                connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
                self._restore_roots(connection)
                connection.execute("COMMIT")

    def _restore_roots(self, connection: sqlite3.Connection) -> None:
        manifest = read_manifest(self.folder)
        if manifest and manifest.roots:
            roots = {unquote_to_bytes(path): kind for path, kind in manifest.roots.items()}
            schema.add_roots(connection, roots, {unquote_to_bytes(path) for path in manifest.follow_links})
            schema.set_excluded(connection, manifest.excluded)
            self.notes.append("The index had to be created again: all its documents are indexed anew.")

    def _check(self) -> None:
        """Refuse a database of another format or with another schema; bring one of the previous format up to date."""
        with self._pool_lock:
            self._inode = _inode(self._path)
        with self.reading() as connection:
            objects = schema.objects_of(connection)
            meta = schema.get_meta(connection) if schema.has_meta_table(objects) else {}
        version = str(meta.get("format"))
        if version == str(schema.PREVIOUS_FORMAT):
            self._migrate()
            return
        if version.isdecimal() and len(version) <= _LONGEST_FORMAT and int(version) > FORMAT:
            raise RequestError(
                f"The index in {self.place} was made by a newer version of this program: "
                "update the program, or remove the folder."
            )
        # Reading a foreign view or computed column would run its code.
        if "index" not in meta or version != str(FORMAT) or objects != schema.expected_objects():
            raise IndexDamaged(f"The index in {self.place} is damaged.")

    def _migrate(self) -> None:
        """Bring a database of the previous format up to date, in one transaction."""
        if not self.writable:
            raise RequestError(
                f"The index in {self.place} was made by an older version, and the folder is read-only: "
                "make it writable."
            )
        with self.only_writer(_MIGRATION_WAIT), self.writing() as connection:
            if schema.get_meta(connection).get("format") == str(
                schema.PREVIOUS_FORMAT
            ):  # else another process has done it
                migrate(connection)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield a pooled connection; one whose use failed is closed, not reused."""
        with self._pool_lock:
            idle = self._idle
            connection = idle.pop() if idle else self._open()
        try:
            yield connection
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
        with self._pool_lock:
            if idle is self._idle:
                idle.append(connection)
            else:
                connection.close()

    def _open(self) -> sqlite3.Connection:
        if not self.writable:
            return self._open_read_only()
        connection = connect(self._path, "mode=rw", seconds=WAIT)
        # FULL: a committed transaction also survives a power cut.
        connection.executescript(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; "
            f"PRAGMA journal_size_limit = {_LOG}"
        )
        return connection

    def _open_read_only(self) -> sqlite3.Connection:
        """Open a database in a read-only folder, where SQLite cannot create its -wal and -shm files."""
        connection = connect(self._path, "mode=ro", seconds=WAIT)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            log = self._path.with_name(f"{NAME}-wal")
            if log.exists() and log.stat().st_size:
                raise
            return connect(self._path, "immutable=1", seconds=WAIT)
        return connection

    def _acquire_lock(self, seconds: float) -> None:
        """Lock a separate file, so that readers are never blocked."""
        path = self.folder / _LOCK_NAME
        with translated(self.folder):
            create_private(path)  # FileLock would also create a folder that was moved away
            require_regular(path)
            try:
                self._lock.acquire(timeout=seconds)
            except Timeout as error:
                raise self._busy() from error

    def _busy(self) -> IndexBusy:
        return IndexBusy(
            f"{self.holder()} is writing the index in {self.place}: wait until it has finished, then try again."
        )

    def _move_aside(self) -> Path:
        """Rename the database with its -wal and -shm files; return the new path."""
        number = 1
        while (aside := self.folder / f"{NAME}.damaged-{number}").exists():
            number += 1
        for suffix in ("", "-wal", "-shm"):
            part = self._path.with_name(NAME + suffix)
            if part.exists():
                part.replace(f"{aside}{suffix}")
        return aside


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0
