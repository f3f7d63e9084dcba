"""Runs of all servers over one database, with their events, in tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

from psycopg.rows import class_row

from app.conversations.postgres.checkpoints import REMOVE, SharedSaver
from app.conversations.postgres.database import Marked, SharedDatabase
from app.conversations.postgres.leases import ALIVE, RELEASE, Lease, Leases
from core.text import as_json, clean, one_line

KEPT_HOURS = 24  # for an ended run of a thread: its turn keeps the answer
ENDS = {"finished", "failed", "cancelled"}  # events that end a run; they name its state, too
MOST_KEPT = 100  # ended runs of one owner that are in no thread
NEW = """
INSERT INTO runs (id, owner, kind, thread, question, asked, began, outlives) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
ROW = """
SELECT id, owner, kind, thread, question, asked, began::timestamptz AS began, outlives, state, outcome, message,
    cancelled, (SELECT count(*) FROM events WHERE run = id) AS events
FROM runs
"""
# A run whose turn is just being begun, or that a chat answers, has only the lease of its thread.
ORPHANS = f"""
{ROW} WHERE state = 'unfinished' AND owner = ANY(%(owners)s) AND NOT EXISTS (
    SELECT 1 FROM leases WHERE name IN ('run ' || runs.id, 'thread ' || runs.thread) AND {ALIVE}
) ORDER BY runs.began LIMIT %(most)s
"""  # noqa: S608 - of constants
EVENTS = """
SELECT events.run, number, kind, data FROM unnest(%s::text[], %s::bigint[]) AS known (run, last)
JOIN events ON events.run = known.run AND number > last ORDER BY events.run, number LIMIT 5000
"""
STOPPED = """
SELECT id, leases.name IS NULL FROM unnest(%s::text[], %s::bigint[]) AS held (run, token)
JOIN runs ON id = run LEFT JOIN leases ON leases.name = 'run ' || id AND leases.token = held.token
WHERE cancelled OR leases.name IS NULL
"""
END = """
UPDATE runs SET state = %s, outcome = %s, message = %s, ended = clock_timestamp() WHERE id = %s
"""
OLD = """
DELETE FROM runs WHERE state <> 'unfinished' AND id IN (
    SELECT id FROM (
        SELECT id, thread, ended, row_number() OVER (PARTITION BY owner, thread IS NULL ORDER BY began DESC) AS place
        FROM runs
    ) AS placed
    WHERE ended < clock_timestamp() - make_interval(days => %s)
    OR CASE WHEN thread IS NULL THEN place > %s ELSE ended < clock_timestamp() - make_interval(hours => %s) END
)
"""
SPEND = """
INSERT INTO spent VALUES (%s, %s, %s, %s)
ON CONFLICT (day, owner, what) DO UPDATE SET number = spent.number + excluded.number
"""


class KeptEvent(NamedTuple):
    """A row of the table of events."""

    run: str
    number: int
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class KeptRun:
    """A row of the table of runs; ``events`` is how many events it has, ``asked`` the request as JSON."""

    id: str
    owner: str
    kind: str
    thread: str | None
    question: str
    asked: str
    began: datetime
    outlives: bool
    state: str = "unfinished"
    outcome: str | None = None
    message: str | None = None
    cancelled: bool = False
    events: int = 0


class RunTable:
    """The runs of all servers; each is answered by the process that has its lease."""

    def __init__(self, database: SharedDatabase, leases: Leases, keep_days: int | None = None) -> None:
        self._database = database
        self._leases = leases
        self._keep_days = keep_days

    def begin(self, run: KeptRun) -> Lease:
        """Keep a new run, and take its lease."""
        lease = self.take(run.id)
        try:
            with self._database.transaction() as connection:
                asked = (clean(run.question), run.asked, run.began.isoformat())
                connection.execute(NEW, (run.id, run.owner, run.kind, None, *asked, run.outlives))
        except BaseException:
            lease.release()
            raise
        return lease

    def take(self, id_: str) -> Lease:
        """Take the lease of a run. Raises `ThreadBusyError` if a process that is alive has it."""
        return self._leases.take(f"run {id_}")

    def append(self, id_: str, lease: Lease, events: Sequence[KeptEvent]) -> None:
        """Keep a run's events; if the last one ends the run, release the lease. Raises `LeaseLostError`."""
        last = events[-1]
        with self._database.transaction() as connection:
            lease.require(Marked(connection))
            rows = [(id_, one.number, one.kind, as_json(one.data)) for one in events]
            connection.cursor().executemany("INSERT INTO events VALUES (%s, %s, %s, %s)", rows)
            if last.kind in ENDS:
                outcome, message = last.data.get("result", {}).get("outcome"), last.data.get("message")
                connection.execute(END, (last.kind, outcome, message and one_line(message), id_))
                for statement in REMOVE:
                    connection.execute(statement.encode(), ([id_],))
                connection.execute(RELEASE, (lease.name, lease.token))
        if last.kind in ENDS:
            lease.forget()

    def get(self, id_: str, owner: str) -> KeptRun | None:
        return next(iter(self._rows(f"{ROW} WHERE id = %s AND owner = %s", (id_, owner))), None)

    def last(self, owner: str) -> list[KeptRun]:
        return self._rows(f"{ROW} WHERE owner = %s ORDER BY runs.began DESC LIMIT %s", (owner, MOST_KEPT))

    def orphans(self, owners: Sequence[str], most: int) -> list[KeptRun]:
        """Return the oldest unfinished runs that no living process has a lease of."""
        given = {"owners": list(owners), "most": most, "silence": self._leases.silence}
        return self._rows(ORPHANS, given)

    def events(self, known: Mapping[str, int]) -> list[KeptEvent]:
        """Return new events of runs; ``known`` maps each run's id to the last known number. At most a few thousand."""
        rows = self._database.rows(EVENTS, list(known), list(known.values()))
        return [KeptEvent(run, number, kind, json.loads(data)) for run, number, kind, data in rows]

    def cancel(self, id_: str) -> None:
        """Ask the process that answers a run to end it."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE runs SET cancelled = true WHERE id = %s AND state = 'unfinished'", (id_,))

    def cancel_thread(self, thread: str) -> bool:
        """Ask the processes that answer runs of a thread to end them; return True if there are such runs."""
        cancel = "UPDATE runs SET cancelled = true WHERE thread = %s AND state = 'unfinished' RETURNING id"
        return bool(self._database.rows(cancel, thread))

    def stopped(self, held: Mapping[str, Lease]) -> tuple[list[str], list[str]]:
        """Return the ids of the ``held`` runs that were cancelled, and of those that another process has taken over."""
        rows = self._database.rows(STOPPED, list(held), [one.token for one in held.values()])
        return [id_ for id_, lost in rows if not lost], [id_ for id_, lost in rows if lost]

    def saver(self, lease: Lease) -> SharedSaver:
        return SharedSaver(self._database, lease)

    def spend(self, day: date, new: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
        """Add to a day's sums by owner and kind (questions or tokens); return the day's sums of all servers."""
        with self._database.transaction() as connection:
            rows = [(day, *key, number) for key, number in sorted(new.items())]  # in one order, against deadlocks
            connection.cursor().executemany(SPEND, rows)
            found = connection.execute("SELECT owner, what, number FROM spent WHERE day = %s", (day,)).fetchall()
        return {(owner, what): number for owner, what, number in found}

    def expire(self) -> None:
        """Delete old runs, what was spent before yesterday, and processes that are long dead."""
        with self._database.transaction() as connection:
            connection.execute(OLD, (self._keep_days, MOST_KEPT, KEPT_HOURS))
            connection.execute("DELETE FROM spent WHERE day < current_date - 1")
            connection.execute("DELETE FROM processes WHERE seen < clock_timestamp() - make_interval(days => 1)")
            connection.execute("DELETE FROM leases WHERE process NOT IN (SELECT name FROM processes)")

    def reachable(self) -> None:
        with self._database.transaction():
            pass

    def _rows(self, query: str, given: Sequence[Any] | Mapping[str, Any]) -> list[KeptRun]:
        with self._database.transaction() as connection, connection.cursor(row_factory=class_row(KeptRun)) as cursor:
            return cursor.execute(query.encode(), given).fetchall()
