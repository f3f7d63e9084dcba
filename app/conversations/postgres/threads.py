"""Threads that all servers over one database share."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager

from app.conversations.feedback import Feedback, Label, feedback_label, labels_in
from app.conversations.postgres.checkpoints import REMOVE, SharedSaver
from app.conversations.postgres.database import Marked, SharedDatabase
from app.conversations.postgres.leases import LEASE_SECONDS, Lease, Leases
from app.conversations.postgres.runs import NEW, RunTable
from app.conversations.tables import Rows, ThreadTables, Writer
from app.conversations.thread import ThreadTurn
from app.results.result import Result
from core.text import as_json

# The runs with checkpoints that are not unfinished, neither as turns nor as runs.
UNUSED = """
SELECT DISTINCT thread_id FROM checkpoints WHERE NOT EXISTS (
    SELECT 1 FROM turns WHERE run = thread_id AND state = 'unfinished'
) AND NOT EXISTS (SELECT 1 FROM runs WHERE id = thread_id AND state = 'unfinished')
"""
ADD = """
INSERT INTO labels VALUES (%s, %s, %s)
ON CONFLICT (run) DO UPDATE SET owner = excluded.owner, label = excluded.label
"""


class SharedThreads(ThreadTables):
    """The threads of all owners in PostgreSQL. A process has a lease of each thread that it answers."""

    def __init__(self, url: str, *, keep_days: int | None = None, silence: float = LEASE_SECONDS) -> None:
        """Connect, and make or migrate the tables; delete threads that were not changed for ``keep_days``.

        After ``silence`` seconds without a sign of life other processes may take over the leases. Raises `RequestError`
        and `StoreUnavailable`.
        """
        self.keep_days = keep_days
        self.database = SharedDatabase(url)
        self.leases = Leases(self.database, silence)
        self.runs = RunTable(self.database, self.leases, keep_days)
        self.feedback = SharedFeedback(self.database)
        self._leased: dict[str, Lease] = {}  # by thread
        try:
            self.expire()
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        self.leases.close()
        self.database.close()

    def lock(self, id_: str) -> Lease:
        lease = self._leased[id_] = self.leases.take(f"thread {id_}")
        return lease

    def has_checkpoints(self, run: str) -> bool:
        return bool(self.database.rows("SELECT 1 FROM checkpoints WHERE thread_id = %s LIMIT 1", run))

    @asynccontextmanager
    async def checkpointer(self, turn: ThreadTurn) -> AsyncGenerator[SharedSaver | None, None]:
        saver = SharedSaver(self.database, self._leased[turn.thread])
        try:
            yield saver
        finally:
            saver.closed = True

    def remove_checkpoints(self, *runs: str) -> None:
        with self.database.transaction() as connection:
            for statement in REMOVE:
                connection.execute(statement.encode(), (list(runs),))

    def _require_held(self, database: Writer, turn: ThreadTurn) -> None:
        if lease := self._leased.get(turn.thread):
            lease.require(database)

    def _begun(self, database: Writer, turn: ThreadTurn, owner: str) -> None:
        if not turn.docs:  # servers do not ask ``docs``
            asked = (turn.question, "", turn.began.isoformat())
            database.execute(NEW, (turn.run, owner, "question", turn.thread, *asked, True))

    def _deleted(self, id_: str) -> None:
        self._leased.pop(id_, None)

    def _clean_up(self) -> None:
        self.remove_checkpoints(*(row["thread_id"] for row in self._read(UNUSED)))

    def _read(self, statement: str, *values: object) -> Rows:
        with self.database.transaction() as connection:
            return Marked(connection).execute(statement, values).fetchall()  # type: ignore[no-any-return]

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        with self.database.transaction() as connection:
            yield Marked(connection)


class SharedFeedback:
    """What people say of answers: the last label of each run."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database

    def add(self, owner: str, run: str, feedback: Feedback, result: Result) -> None:
        label = as_json(feedback_label(run, feedback, result).model_dump(mode="json"))
        with self._database.transaction() as connection:
            connection.execute(ADD, (run, owner, label))

    def labels(self) -> list[Label]:
        rows = self._database.rows("SELECT label FROM labels")
        return sorted(labels_in(row[0].encode() for row in rows), key=lambda one: one.at)
