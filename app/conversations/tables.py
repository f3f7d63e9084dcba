"""Threads and their turns in two SQL tables, whatever database holds them."""

import json
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver

from app.conversations.feedback import FeedbackStore
from app.conversations.thread import NotLastTurnError, State, Thread, ThreadBusyError, ThreadTurn, UnknownThreadError
from app.results.result import Result
from core.errors import RequestError
from core.text import as_json, clean, shortened
from core.types import Turn
from run.candidates import ANSWERED
from run.initial_state import MOST_TURNS

LONGEST_TITLE = 80
MOST_COMPARED = 1_000
UNREADABLE = "The answer was kept by another version, or is damaged, and cannot be read: ask again."
THREADS = """
SELECT id, title, created, updated, (SELECT count(*) FROM turns WHERE thread = id AND replaced = 0) AS turns
FROM threads
"""
# In SQLite and in PostgreSQL alike.
SCHEMA = (
    """
CREATE TABLE threads (
    id text PRIMARY KEY,
    owner text NOT NULL,
    title text NOT NULL,
    created text NOT NULL,
    updated text NOT NULL
)
    """,
    "CREATE INDEX threads_of_owner ON threads (owner, updated)",
    """
CREATE TABLE turns (
    run text PRIMARY KEY,
    thread text NOT NULL REFERENCES threads (id),
    number bigint NOT NULL,
    question text NOT NULL,
    given_standalone text,
    options text NOT NULL,
    docs text NOT NULL,
    began text NOT NULL,
    state text NOT NULL,
    message text,
    replaces text,
    replaced bigint NOT NULL DEFAULT 0,
    numbered text NOT NULL DEFAULT '',
    result text,
    UNIQUE (thread, number)
)
    """,
    "CREATE INDEX turns_unfinished ON turns (began) WHERE state = 'unfinished'",
)
NEW_TURN = """
INSERT INTO turns (run, thread, number, question, given_standalone, options, docs, began, replaces, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'unfinished')
"""
WITH_CALIBRATION = "SELECT * FROM turns WHERE state = 'finished' AND result LIKE ? ORDER BY began DESC LIMIT ?"
UNCHANGED = "SELECT id FROM threads WHERE updated < ? AND id LIKE ?"
LAST = "SELECT run, number, state FROM turns WHERE thread = ? ORDER BY number DESC LIMIT 1"
OF_OWNER = "SELECT turns.* FROM turns JOIN threads ON threads.id = turns.thread WHERE threads.owner = ?"
# The turns that a turn replaces: the one that it corrects, the one that that one corrected, and so on.
CORRECTED = """
WITH RECURSIVE corrected (run) AS (
    SELECT replaces FROM turns WHERE run = ?
    UNION SELECT turns.replaces FROM turns JOIN corrected ON turns.run = corrected.run
)
"""
BEFORE = """
SELECT * FROM turns WHERE thread = ? AND number < ? AND state = 'finished' AND replaced = 0
AND run NOT IN (SELECT run FROM corrected WHERE run IS NOT NULL) ORDER BY number DESC LIMIT ?
"""

Rows = list[dict[str, Any]]


class Lock(AbstractContextManager[Any], Protocol):
    """The lock of a thread: only its holder may answer or delete the thread. Leaving its context releases it."""

    def release(self) -> None:
        """Release the thread."""


class Writer(Protocol):
    """A transaction that writes."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Execute a statement with ``?`` for each value; return a cursor whose rows are read by name."""


class ThreadTables(ABC):
    """The threads of all owners; safe to use from several threads and processes."""

    keep_days: int | None
    runs: Any = None  # the `RunTable` of several servers
    feedback: FeedbackStore | None = None  # None if it is in a folder of its own

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    @abstractmethod
    def lock(self, id_: str) -> Lock:
        """Take the lock of a thread, held until it is released or this process ends. Raises `ThreadBusyError`."""

    @abstractmethod
    def has_checkpoints(self, run: str) -> bool:
        """Tell whether a run has checkpoints."""

    @abstractmethod
    def checkpointer(self, turn: ThreadTurn) -> AbstractAsyncContextManager[BaseCheckpointSaver[str] | None]:
        """Open the checkpoints of a turn; its thread's lock must be held. Yield None if they cannot be opened."""

    @abstractmethod
    def remove_checkpoints(self, *runs: str) -> None:
        """Remove the checkpoints of runs, if there are any."""

    @abstractmethod
    def _read(self, statement: str, *values: object) -> Rows:
        """Return the rows of a query that has ``?`` for each value."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Writer]:
        """Return a transaction: committed at the end, rolled back on an exception."""

    @abstractmethod
    def _clean_up(self) -> None:
        """Remove the checkpoints of runs that have ended."""

    def _require_held(self, database: Writer, turn: ThreadTurn) -> None:  # noqa: B027 - a file's lock is not lost
        """Raise `LeaseLostError` if another process has taken the turn's thread over."""

    def _begun(self, database: Writer, turn: ThreadTurn, owner: str) -> None:  # noqa: B027 - all is in the turn
        """Keep what the store needs to know of a new turn beyond its row."""

    @abstractmethod
    def _deleted(self, id_: str) -> None:
        """Remove what is kept of a deleted thread beyond its rows."""

    def create(self, owner: str = "", title: str | None = None) -> Thread:
        """Begin a thread; one without a title gets its first question for a title."""
        now, id_ = _now(), secrets.token_hex(8)
        with self._writing() as database:
            row = (id_, owner, _title(title or ""), now, now)
            database.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?)", row)
        return self.get(id_, owner)

    def list(self, owner: str = "") -> Sequence[Thread]:
        """Return the owner's threads, the last changed first."""
        rows = self._read(f"{THREADS} WHERE owner = ? ORDER BY updated DESC, created DESC", owner)
        return [Thread(**row) for row in rows]

    def get(self, id_: str, owner: str = "") -> Thread:
        """Return a thread of the owner's. Raises `UnknownThreadError`."""
        for row in self._read(f"{THREADS} WHERE id = ? AND owner = ?", id_, owner):
            return Thread(**row)
        raise UnknownThreadError

    def turns(self, id_: str, owner: str = "") -> Sequence[ThreadTurn]:
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

    def conversation(self, id_: str, owner: str = "", *, before: int | None = None) -> Sequence[Turn]:
        """Return the conversation before a question, oldest turn first: the last finished turns that were not replaced.

        ``before`` is the number of the question's own turn, if it has one; the turns that it corrects are left out.
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

    def expire(self) -> None:
        """Delete for good the threads that were not changed for ``keep_days``, unless they are being answered."""
        if self.keep_days is not None:
            last = (datetime.now(UTC) - timedelta(days=self.keep_days)).isoformat()
            for row in self._read(UNCHANGED, last, "%"):
                with suppress(ThreadBusyError), self.lock(row["id"]):
                    if self._read(UNCHANGED, last, row["id"]):  # nobody has asked in it meanwhile
                        self._delete(row["id"])
        self._clean_up()

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
        """Add an unfinished turn to a thread whose lock is held; cancel the last turn if a crash left it unfinished.

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
            turn = _turn_of(database.execute("SELECT * FROM turns WHERE run = ?", (run,)).fetchone())
            self._begun(database, turn, owner)
        if last:
            self.remove_checkpoints(last["run"])
        return turn

    def finish(self, turn: ThreadTurn, result: Result, numbered: str) -> None:
        """Store a turn's result and answer; the turns it corrects become replaced. Raises `ThreadStorageError`."""
        with self._writing() as database:
            self._require_held(database, turn)
            database.execute(
                "UPDATE turns SET state = 'finished', numbered = ?, result = ? WHERE run = ?",
                (clean(numbered), as_json(result.model_dump(mode="json")), turn.run),
            )
            replaced = "UPDATE turns SET replaced = 1 WHERE run IN (SELECT run FROM corrected)"
            database.execute(CORRECTED + replaced, (turn.run,))
            database.execute("UPDATE threads SET updated = ? WHERE id = ?", (_now(), turn.thread))
        self.remove_checkpoints(turn.run)

    def end(self, turn: ThreadTurn, state: State, message: str | None = None) -> None:
        """Set the state of an unfinished turn, and why it failed, if it did. Raises `ThreadStorageError`."""
        with self._writing() as database:
            self._require_held(database, turn)
            ended = "UPDATE turns SET state = ?, message = ? WHERE run = ? AND state = 'unfinished'"
            database.execute(ended, (state, message and clean(message), turn.run))
            database.execute("UPDATE threads SET updated = ? WHERE id = ?", (_now(), turn.thread))
        self.remove_checkpoints(turn.run)

    def unfinished(self) -> Sequence[tuple[str, ThreadTurn]]:
        """Return the turns that are being answered or were interrupted, each with its owner, the oldest first."""
        rows = self._read(
            "SELECT turns.*, threads.owner FROM turns JOIN threads ON threads.id = turns.thread "
            "WHERE state = 'unfinished' ORDER BY began"
        )
        return [(row.pop("owner"), _turn_of(row)) for row in rows]

    def confidences(self, calibration: str) -> Sequence[float]:
        """Return the confidence of the last `MOST_COMPARED` answers that were given with a calibration."""
        rows = self._read(WITH_CALIBRATION, f"%{calibration}%", MOST_COMPARED)
        results = [turn.result for turn in map(_turn_of, rows) if turn.result]
        given = [one for one in results if one.calibration == calibration and one.outcome in ANSWERED]
        return [one.confidence for one in given if one.confidence is not None]

    def exported(self) -> Iterator[dict[str, Any]]:
        """Yield every thread of all owners as JSON, with its turns; an unfinished turn is given as cancelled."""
        for thread in self._read("SELECT * FROM threads ORDER BY created, id"):
            turns = self._read("SELECT * FROM turns WHERE thread = ? ORDER BY number", thread["id"])
            for turn in turns:
                turn["state"] = "cancelled" if turn["state"] == "unfinished" else turn["state"]
            yield {"thread": thread, "turns": turns}

    def restore(self, exported: Mapping[str, Any]) -> bool:
        """Put back an exported thread and return True; if it is there already, leave it as it is and return False.

        Raises `ThreadStorageError`; if ``exported`` is not an exported thread, also ``KeyError`` or a database's error.
        """
        thread, turns = exported["thread"], exported["turns"]
        if self._read("SELECT 1 FROM threads WHERE id = ?", thread["id"]):
            return False
        with self._writing() as database:
            _insert(database, "threads", ("id", "owner", "title", "created", "updated"), [thread])
            _insert(database, "turns", tuple(ThreadTurn.model_fields), turns)
        return True

    def _delete(self, id_: str) -> None:
        runs = [row["run"] for row in self._read("SELECT run FROM turns WHERE thread = ?", id_)]
        with self._writing() as database:
            database.execute("DELETE FROM turns WHERE thread = ?", (id_,))
            database.execute("DELETE FROM threads WHERE id = ?", (id_,))
        self.remove_checkpoints(*runs)
        self._deleted(id_)


def _turn_of(row: Mapping[str, Any]) -> ThreadTurn:
    """Return the turn of a row. A turn that this version cannot read is returned as a failed turn."""
    kept = dict(row)
    try:
        kept["options"], kept["docs"] = json.loads(kept["options"]), json.loads(kept["docs"])
        kept["result"] = json.loads(kept["result"]) if kept["result"] else None
        turn = ThreadTurn(**kept)
        if (turn.state == "finished") == (turn.result is not None):
            return turn
    except (ValueError, TypeError, RecursionError):
        pass
    return ThreadTurn(**{**kept, "options": {}, "docs": [], "state": "failed", "message": UNREADABLE, "result": None})


def _title(title: str) -> str:
    return shortened(title[: 50 * LONGEST_TITLE], LONGEST_TITLE)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _insert(database: Writer, table: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    marks = ", ".join("?" * len(columns))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - both are constants
    for row in rows:
        database.execute(statement, [row[name] for name in columns])
