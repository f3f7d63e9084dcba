"""Keep threads and their turns in one SQLite file, for several threads and processes at once."""

from __future__ import annotations

import json
import secrets
import sqlite3
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout
from pydantic import ValidationError

from app.result import Result
from app.threads.thread import (
    NotLastTurnError,
    State,
    Thread,
    ThreadBusyError,
    ThreadStorageError,
    ThreadTurn,
    UnknownThreadError,
)
from core.errors import RequestError
from core.files import FILE_MODE, make_private_folder
from core.text import as_json, clean, shortened, shown
from core.types import Turn
from graph.initial_state import MOST_TURNS
from retrieval.index.sqlite_files import BUSY_CODES, DAMAGE_CODES, code_of, connect, create_private

FORMAT = 1
NAME = "threads.sqlite"
WAIT = 10.0  # seconds for another process that writes
LONGEST_TITLE = 80
COMPANIONS = ("", "-wal", "-shm", "-journal")
UNREADABLE = "The answer was kept by another version, or is damaged, and cannot be read: ask again."
TABLES = """
CREATE TABLE threads (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL
);
CREATE INDEX threads_of_owner ON threads (owner, updated);
CREATE TABLE turns (
    run TEXT PRIMARY KEY,
    thread TEXT NOT NULL REFERENCES threads (id),
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    given_standalone TEXT,
    options TEXT NOT NULL,
    docs TEXT NOT NULL,
    began TEXT NOT NULL,
    state TEXT NOT NULL,
    message TEXT,
    replaces TEXT,
    replaced INTEGER NOT NULL DEFAULT 0,
    numbered TEXT NOT NULL DEFAULT '',
    result TEXT,
    UNIQUE (thread, number)
);
CREATE INDEX turns_by_state ON turns (state);
"""
THREADS = """
SELECT id, title, created, updated, (SELECT count(*) FROM turns WHERE thread = id AND NOT replaced) AS turns
FROM threads
"""
THREAD_COLUMNS = ("id", "owner", "title", "created", "updated")
TURN_COLUMNS = (
    *("run", "thread", "number", "question", "given_standalone", "options", "docs", "began", "state", "message"),
    *("replaces", "replaced", "numbered", "result"),
)
NEW_TURN = """
INSERT INTO turns (run, thread, number, question, given_standalone, options, docs, began, replaces, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'unfinished')
"""
LAST = "SELECT run, number, state FROM turns WHERE thread = ? ORDER BY number DESC LIMIT 1"
OF_OWNER = "SELECT turns.* FROM turns JOIN threads ON threads.id = turns.thread WHERE threads.owner = ?"
# The turns that a turn replaces: the one that it corrects, and what that one was to correct.
CORRECTED = """
WITH RECURSIVE corrected (run) AS (
    SELECT replaces FROM turns WHERE run = ?
    UNION SELECT turns.replaces FROM turns JOIN corrected ON turns.run = corrected.run
)
"""
BEFORE = """
SELECT * FROM turns WHERE thread = ? AND number < ? AND state = 'finished' AND NOT replaced
AND run NOT IN (SELECT run FROM corrected WHERE run IS NOT NULL) ORDER BY number DESC LIMIT ?
"""


# In `Threads` the name ``list`` is a method's.
AllThreads = list[Thread]
AllTurns = list[ThreadTurn]
OwnedTurns = list[tuple[str, ThreadTurn]]
Conversation = list[Turn]
Rows = list[dict[str, Any]]


class Threads:
    """The threads of all owners, in ``folder``; safe to use from several threads and processes."""

    def __init__(self, folder: Path, *, keep_days: int | None = None) -> None:
        """Open or create the store; delete what was not changed for ``keep_days``.

        Raises `ThreadStorageError` if it cannot be read or written, is damaged, or is of a newer version.
        """
        self._folder = folder
        self._keep_days = keep_days
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
        """Close the file."""
        with self._using:
            self._connection.close()

    def create(self, owner: str = "", title: str | None = None) -> Thread:
        """Begin a thread; one without a title gets its first question for a title."""
        now, id_ = _now(), secrets.token_hex(8)
        with self._writing() as database:
            row = (id_, owner, _title(title or ""), now, now)
            database.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?)", row)
        return self.get(id_, owner)

    def list(self, owner: str = "") -> AllThreads:
        """Return the owner's threads, the last changed first."""
        rows = self._read(f"{THREADS} WHERE owner = ? ORDER BY updated DESC, rowid DESC", owner)
        return [Thread(**row) for row in rows]

    def get(self, id_: str, owner: str = "") -> Thread:
        """Return a thread of the owner's. Raises `UnknownThreadError`."""
        for row in self._read(f"{THREADS} WHERE id = ? AND owner = ?", id_, owner):
            return Thread(**row)
        raise UnknownThreadError

    def turns(self, id_: str, owner: str = "") -> AllTurns:
        """Return a thread's turns with their results, the first one first. Raises `UnknownThreadError`."""
        return list(self.each_turn(id_, owner))

    def each_turn(self, id_: str, owner: str = "") -> Iterator[ThreadTurn]:
        """Yield a thread's turns one by one, for threads whose results are many. Raises `UnknownThreadError`."""
        self.get(id_, owner)
        for row in self._read("SELECT run FROM turns WHERE thread = ? ORDER BY number", id_):
            with suppress(UnknownThreadError):  # deleted meanwhile
                yield self.turn(row["run"], owner)

    def turn(self, run: str, owner: str = "") -> ThreadTurn:
        """Return the turn of a run. Raises `UnknownThreadError`."""
        for row in self._read(f"{OF_OWNER} AND turns.run = ?", owner, run):
            return _turn_of(row)
        raise UnknownThreadError

    def conversation(self, id_: str, owner: str = "", *, before: int | None = None) -> Conversation:
        """Return the turns that a question is asked after, oldest first: the last that are finished and not replaced.

        ``before`` is the question's number, if it is in the thread already: what it corrects does not count.
        """
        self.get(id_, owner)
        asked = self._read("SELECT run FROM turns WHERE thread = ? AND number = ?", id_, before)
        run = asked[0]["run"] if asked else None
        rows = self._read(CORRECTED + BEFORE, run, id_, before or sys.maxsize, MOST_TURNS)
        return [turn.result.turn() for turn in map(_turn_of, reversed(rows)) if turn.result]

    def rename(self, id_: str, title: str, owner: str = "") -> Thread:
        """Give a thread another title, of which the first 80 characters are kept. Raises `UnknownThreadError`."""
        if not (title := _title(title)):
            raise RequestError("The title is empty: give the thread a name.")
        self.get(id_, owner)
        with self._writing() as database:
            database.execute("UPDATE threads SET title = ?, updated = ? WHERE id = ?", (title, _now(), id_))
        return self.get(id_, owner)

    def delete(self, id_: str, owner: str = "") -> None:
        """Delete a thread for good, with its checkpoints.

        Raises `UnknownThreadError`, and `ThreadBusyError` while it is being answered.
        """
        self.get(id_, owner)
        with self.lock(id_):
            self._delete(id_)
        self._truncate_log()

    def expire(self) -> None:
        """Delete for good what was not changed for ``keep_days``, but nothing that is being answered."""
        if self._keep_days is not None:
            last = (datetime.now(UTC) - timedelta(days=self._keep_days)).isoformat()
            for row in self._read("SELECT id FROM threads WHERE updated < ?", last):
                with suppress(ThreadBusyError), self.lock(row["id"]):
                    self._delete(row["id"])
            self._truncate_log()
        files = list((self._folder / "checkpoints").glob("*.sqlite"))  # listed first: a turn is there before its file
        unfinished = {row["run"] for row in self._read("SELECT run FROM turns WHERE state = 'unfinished'")}
        for path in files:
            if path.stem not in unfinished:  # a kill came before it could be removed
                self.remove_checkpoints(path.stem)

    def lock(self, id_: str) -> BaseFileLock:
        """Take the lock of a thread, which this process holds until it is released or ends.

        Raises `ThreadBusyError` if it is taken.
        """
        lock = FileLock(self._lock_file(id_), mode=FILE_MODE, thread_local=False)
        with self._translated():
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                raise ThreadBusyError from error
        return lock

    def begin(
        self,
        id_: str,
        question: str,
        owner: str = "",
        *,
        standalone: str | None = None,
        options: Mapping[str, Any] | None = None,
        docs: Sequence[str] = (),
        replaces: str | None = None,
    ) -> ThreadTurn:
        """Add an unfinished turn to a thread whose lock is held; one that a crash had left unfinished is cancelled.

        Raises `UnknownThreadError`, and `NotLastTurnError` if ``replaces`` is not the run of the last turn.
        """
        thread, run, now = self.get(id_, owner), secrets.token_urlsafe(16), _now()
        question, standalone = clean(question), standalone and clean(standalone)
        with self._writing() as database:
            last = database.execute(LAST, (id_,)).fetchone()
            if replaces and (last is None or last["run"] != replaces):
                raise NotLastTurnError
            if last and last["state"] == "unfinished":
                database.execute("UPDATE turns SET state = 'cancelled' WHERE run = ?", (last["run"],))
            number = last["number"] + 1 if last else 1
            given = (as_json(dict(options or {})), as_json(list(docs)))
            database.execute(NEW_TURN, (run, id_, number, question, standalone, *given, now, replaces))
            title = thread.title or _title(question)
            database.execute("UPDATE threads SET title = ?, updated = ? WHERE id = ?", (title, now, id_))
        if last:
            self.remove_checkpoints(last["run"])
        return self.turn(run, owner)

    def finish(self, turn: ThreadTurn, result: Result, numbered: str) -> None:
        """Keep the result of a turn, and mark what it corrects as replaced. Raises `ThreadStorageError`."""
        with self._writing() as database:
            database.execute(
                "UPDATE turns SET state = 'finished', numbered = ?, result = ? WHERE run = ?",
                (clean(numbered), as_json(result.model_dump(mode="json")), turn.run),
            )
            replaced = "UPDATE turns SET replaced = 1 WHERE run IN (SELECT run FROM corrected)"
            database.execute(CORRECTED + replaced, (turn.run,))
            database.execute("UPDATE threads SET updated = ? WHERE id = ?", (_now(), turn.thread))
        self.remove_checkpoints(turn.run)

    def end(self, turn: ThreadTurn, state: State, message: str | None = None) -> None:
        """End a turn, unless it has a result. Raises `ThreadStorageError`."""
        with self._writing() as database:
            ended = "UPDATE turns SET state = ?, message = ? WHERE run = ? AND state = 'unfinished'"
            database.execute(ended, (state, message and clean(message), turn.run))
            database.execute("UPDATE threads SET updated = ? WHERE id = ?", (_now(), turn.thread))
        self.remove_checkpoints(turn.run)

    def unfinished(self) -> OwnedTurns:
        """Return the turns that are being answered or were cut off, each with its owner, the oldest first."""
        rows = self._read(
            "SELECT turns.*, threads.owner FROM turns JOIN threads ON threads.id = turns.thread "
            "WHERE state = 'unfinished' ORDER BY began"
        )
        return [(row.pop("owner"), _turn_of(row)) for row in rows]

    def exported(self) -> Iterator[dict[str, Any]]:
        """Yield every thread of all owners as JSON, with its turns; what is not answered yet counts as cancelled."""
        for thread in self._read("SELECT * FROM threads ORDER BY created, id"):
            turns = self._read("SELECT * FROM turns WHERE thread = ? ORDER BY number", thread["id"])
            for turn in turns:
                turn["state"] = "cancelled" if turn["state"] == "unfinished" else turn["state"]
            yield {"thread": thread, "turns": turns}

    def restore(self, exported: Mapping[str, Any]) -> bool:
        """Put back a thread as it was exported, and return True; False if it is there, and stays as it is.

        Raises `ThreadStorageError`, and ``KeyError`` or `sqlite3.Error` for what is none.
        """
        thread, turns = exported["thread"], exported["turns"]
        if self._read("SELECT 1 FROM threads WHERE id = ?", thread["id"]):
            return False
        with self._writing() as database:
            _insert(database, "threads", THREAD_COLUMNS, [thread])
            _insert(database, "turns", TURN_COLUMNS, turns)
        return True

    def checkpoints(self, run: str) -> Path:
        """Return the path of the file of a run's checkpoints."""
        return self._folder / "checkpoints" / f"{run}.sqlite"

    def remove_checkpoints(self, run: str) -> None:
        """Remove the checkpoints of a run, if there are any."""
        path = self.checkpoints(run)
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
                    f"The threads in {shown(self._folder)} are of a newer version: install that one, or set "
                    "SELFRAG_HOME to another folder."
                )
            if version == 0:
                for statement in TABLES.split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("SELECT count(*) FROM threads JOIN turns ON turns.thread = threads.id LIMIT 1").fetchone()

    def _delete(self, id_: str) -> None:
        runs = [row["run"] for row in self._read("SELECT run FROM turns WHERE thread = ?", id_)]
        with self._writing() as database:
            database.execute("DELETE FROM turns WHERE thread = ?", (id_,))
            database.execute("DELETE FROM threads WHERE id = ?", (id_,))
        for run in runs:
            self.remove_checkpoints(run)
        with suppress(OSError):
            self._lock_file(id_).unlink(missing_ok=True)

    def _lock_file(self, id_: str) -> Path:
        return self._folder / "locks" / f"{id_}.lock"

    def _truncate_log(self) -> None:
        """Empty the write-ahead log, which holds what was written before it was deleted."""
        with self._using, self._translated():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _read(self, statement: str, *values: object) -> Rows:
        with self._using, self._translated():
            return [dict(row) for row in self._connection.execute(statement, values)]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction: committed at the end, rolled back on an exception."""
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
                f"The threads in {shown(self._folder)} {'are damaged' if damaged else 'cannot be kept or read'} "
                f"({reason}): {remedy}."
            ) from error


def _turn_of(row: Mapping[str, Any]) -> ThreadTurn:
    """Return a turn as it was kept; one that this version cannot read has failed."""
    kept = dict(row)
    try:
        kept["options"], kept["docs"] = json.loads(kept["options"]), json.loads(kept["docs"])
        kept["result"] = json.loads(kept["result"]) if kept["result"] else None
        turn = ThreadTurn(**kept)
        if (turn.state == "finished") == (turn.result is not None):
            return turn
    except (ValidationError, ValueError, TypeError, RecursionError):
        pass
    return ThreadTurn(**{**kept, "options": {}, "docs": [], "state": "failed", "message": UNREADABLE, "result": None})


def _title(title: str) -> str:
    return shortened(title[: 50 * LONGEST_TITLE], LONGEST_TITLE)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _insert(
    database: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    marks = ", ".join("?" * len(columns))
    values = [[row[name] for name in columns] for row in rows]
    database.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)  # noqa: S608
