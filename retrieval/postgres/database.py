"""Connections to a library's schema in PostgreSQL: transactions that read or write, and the one writer."""

import logging
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
from psycopg import conninfo, sql
from psycopg_pool import ConnectionPool, PoolTimeout

from core.errors import IndexBusy, IndexDamaged, RequestError, StoreUnavailable
from core.text import one_line, shortened
from retrieval.postgres.migrations import lock_key, prepare, schema_name
from retrieval.store import WAIT

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it warns of is raised as well
CONNECTIONS = 10  # of a process: a question holds one only while it searches; PostgreSQL allows 100 in all
_SECONDS = 10  # to connect
# Why a server refuses a connection is known by its words alone, which are English unless it is told otherwise.
_FULL = re.compile("too many (connections|clients)|remaining connection slots")
_RETRY = 5  # seconds after which a connection may be free
# A connection that a firewall or a machine that died has cut is noticed in a minute, that of the writer's lock too.
_KEEPALIVES = {
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_SHORT = 200  # characters of the server's message that are shown
_NO_URL = (
    "SELFRAG_STORE is no address of a database: write postgresql://user@host/database, "
    "special characters in a password as %3A."
)
# Compiling a query that takes milliseconds takes longer than the query. The lock keeps away a change of the
# embedding model, which empties the table for readers of an older snapshot too; it comes before the snapshot.
_READING = sql.SQL(
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off; "
    "SET LOCAL search_path = {}, {}; LOCK TABLE passages IN ACCESS SHARE MODE"
)
_WRITING = sql.SQL("SET LOCAL jit = off; SET LOCAL lock_timeout = '10s'; SET LOCAL search_path = {}, {}")
_HOLDER = """
SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND pg_locks.database = (
    SELECT oid FROM pg_database WHERE datname = current_database()
) AND (classid::bigint << 32 | objid::bigint) = %s
"""


class Database:
    """A library's schema in a PostgreSQL database.

    Nothing outlives a transaction in a connection, so that a pooler in transaction mode may stand before the server.
    """

    def __init__(self, url: str, library: str) -> None:
        """Connect, and make or migrate the library's schema. Raises ``RequestError``, ``StoreUnavailable``."""
        self._parameters = parameters_of(url)
        self.place = f"library '{one_line(library)}' {database_name(self._parameters)}"
        self.notes: list[str] = []  # nothing is repaired unasked
        schema = schema_name(library)
        self._lock_key = lock_key("writer", schema)
        with translated(self.place):
            with psycopg.connect(**self._parameters) as connection:
                self.writable, extensions = prepare(connection, schema, self.place)
            names = sql.Identifier(schema), sql.Identifier(extensions)
            self._reading, self._writing = _READING.format(*names), _WRITING.format(*names)
            self._pool = pool_of(self._parameters)
        self._writer = threading.RLock()
        self._lock: Connection | None = None

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that reads one snapshot of the library."""
        with translated(self.place), self._pool.connection() as connection, connection.transaction():
            connection.execute(self._reading)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction: committed at the end, rolled back on an exception."""
        self._require_writable()
        with translated(self.place), self._pool.connection() as connection, connection.transaction():
            if self._lock:
                self._lock.execute("SELECT 1")  # fails if the lock is lost
            connection.execute(self._writing)
            yield connection

    @contextmanager
    def writing_with_others(self) -> Iterator[Connection]:
        """Yield a connection as `writing` does, once nobody holds `only_writer`; several callers may write together."""
        with self.writing() as connection:
            connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (self._lock_key,))
            yield connection

    @contextmanager
    def only_writer(self, seconds: float = WAIT) -> Iterator[None]:
        """Hold the library's lock, against other processes and threads, across several transactions.

        Raises ``IndexBusy`` when another holder keeps it for ``seconds``. An open transaction holds the lock, so that
        the server releases the lock when the process ends, and a pooler keeps the connection open.
        """
        self._require_writable()
        deadline = time.monotonic() + seconds
        if not self._writer.acquire(timeout=seconds):
            raise self._busy()
        try:
            if self._lock:
                yield
                return
            with translated(self.place):
                lock = psycopg.connect(**self._parameters)
            try:
                with translated(self.place):
                    self._acquire(lock, deadline)
                self._lock = lock
                yield
            finally:
                self._lock = None
                lock.close()
        finally:
            self._writer.release()

    def holder(self) -> str:
        """Name the process that writes, as the beginning of a sentence."""
        with suppress(RequestError), self.reading() as connection:
            row = connection.execute(_HOLDER, (self._lock_key,)).fetchone()
            if row and row[0]:
                return one_line(str(row[0]))
        return "Another process"

    def _acquire(self, lock: Connection, deadline: float) -> None:
        milliseconds = max(1, round((deadline - time.monotonic()) * 1_000))
        lock.execute("BEGIN")
        lock.execute(
            f"SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = {milliseconds:d}".encode()
        )
        try:  # waits in line: a mere try would find no gap between workers that commit one after another
            lock.execute("SELECT pg_advisory_xact_lock(%s)", (self._lock_key,))
        except psycopg.errors.LockNotAvailable:
            raise self._busy() from None

    def _busy(self) -> IndexBusy:
        return IndexBusy(f"{self.holder()} is writing the {self.place}: wait until it has finished, then try again.")

    def _require_writable(self) -> None:
        if not self.writable:
            raise RequestError(_read_only(self.place))


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn the driver's errors into one sentence each, which names the ``place`` and no password."""
    try:
        yield
    except psycopg.Error as error:
        raise _translated(error, place) from error


def _translated(error: psycopg.Error, place: str) -> RequestError:
    state = error.sqlstate or ""
    said = shortened(error.diag.message_primary or str(error), _SHORT)
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(
            f"No connection for the {place} was free in {WAIT:g} seconds: look whether its server runs, or try again.",
            retry_after=_RETRY,
        )
    if state == "53300" or _FULL.search(said):
        return StoreUnavailable(
            f"The server of the {place} has no connection left: try again, or allow it more.", retry_after=_RETRY
        )
    if state == "53100":
        return RequestError(f"The server of the {place} has no space left on its disk: free some, then try again.")
    if state in ("42501", "25006"):
        return RequestError(_read_only(place))
    if state in ("XX001", "XX002"):
        return IndexDamaged(f"The {place} is damaged ({said}).")
    if state in ("3F000", "42P01", "42703"):
        return RequestError(f"The {place} was changed by another program ({said}): restore it from a backup.")
    if state in ("55P03", "57014", "40001", "40P01"):
        return IndexBusy(f"The {place} is being changed: wait a moment, then try again.")
    if isinstance(error, psycopg.OperationalError):
        reason = said.rpartition("FATAL: ")[2].strip()
        return StoreUnavailable(
            f"The {place} cannot be reached ({reason}): check SELFRAG_STORE, and whether its server runs."
        )
    return RequestError(f"The {place} refused a request ({said}): see the server's log.")


def _read_only(place: str) -> str:
    return f"The {place} may be read only: use a role that owns it, on a server that is no replica."


def parameters_of(url: str) -> dict[str, Any]:
    """Return psycopg's connection parameters for a URL. Raises ``RequestError`` if it is not valid."""
    try:
        given = conninfo.conninfo_to_dict(url)
        [value.encode() for value in given.values() if isinstance(value, str)]
    except (psycopg.Error, ValueError):
        raise RequestError(_NO_URL) from None  # the reason may quote the password
    if "\0" in url or any("\0" in str(value) for value in given.values()):
        raise RequestError(_NO_URL)
    command = " ".join([Path(sys.argv[0]).name if sys.argv else "python", *sys.argv[1:2]])
    process = f"Process {os.getpid()} on {platform.node()[:20]} ({one_line(command)[:20]})"
    own = _KEEPALIVES | {"connect_timeout": _SECONDS, "application_name": process, "client_encoding": "UTF8"}
    return own | given | {"autocommit": True, "prepare_threshold": None}


def pool_of(parameters: dict[str, Any]) -> ConnectionPool[Connection]:
    """Return a pool of connections that are made when they are needed."""
    return ConnectionPool(
        kwargs=parameters,
        min_size=0,
        max_size=CONNECTIONS,
        timeout=WAIT,
        check=ConnectionPool.check_connection,  # those from before a restart of the server are dead
        open=True,
    )


def database_name(parameters: dict[str, Any]) -> str:
    """Return the name of the database for messages."""
    host = parameters.get("host") or parameters.get("hostaddr") or "this machine"
    database = parameters.get("dbname") or parameters.get("user") or "its user's name"
    return f"in the database {one_line(str(database))} on {one_line(str(host))}"
