"""The store of a library in PostgreSQL: see `retrieval.searching_store.Store`."""

import platform
from collections.abc import Callable, Collection, Mapping

from core.errors import RequestError
from retrieval.filters import Filter, Visible
from retrieval.postgres import rows
from retrieval.postgres.candidates import Condition, PostgresCandidates
from retrieval.postgres.consistency import verify
from retrieval.postgres.database import Connection, Database
from retrieval.postgres.queue import PostgresQueue, owner
from retrieval.postgres.uploads import PostgresUploads
from retrieval.searching_store import Store
from retrieval.store import Machine, Model, Roots, Search
from retrieval.sync_report import Progress, SyncReport, VerifyReport
from retrieval.unit_vectors import Vectors

_ADD_ROOT = """
INSERT INTO roots (path, kind, followed, machine) VALUES (%s, %s, %s, %s)
ON CONFLICT (sha256(path)) DO UPDATE
SET kind = excluded.kind, followed = excluded.followed, machine = excluded.machine
"""
# The last column says whether nobody reads files, or fewer files wait than a tenth of the documents.
_UNSETTLED = """
SELECT EXISTS (SELECT FROM spare_vectors), EXISTS (SELECT FROM frequency_changes), greatest(reltuples, 0),
    NOT EXISTS (SELECT FROM queue WHERE taken_until > clock_timestamp())
    OR 10 * (SELECT count(*) FROM queue) < (SELECT count(*) FROM documents)
FROM pg_class WHERE oid = 'passages'::regclass
"""


class PostgresStore(Store):
    """A library in a schema of a PostgreSQL database; many threads, processes and machines may share it."""

    database: Database
    rows = rows
    queue: PostgresQueue

    def __init__(
        self, url: str, library: str, model: Model, *, search: Search = "hybrid", machine: Machine | None = None
    ) -> None:
        """Open or create the library; ``search`` is the default kind of search.

        ``machine`` says which files are read here, by default this host's. Raises ``RequestError`` if the database
        cannot be used, ``StoreUnavailable`` if it cannot be reached.
        """
        self.database = Database(url, library)
        self.model = model
        self.default_search = search
        self.queue = PostgresQueue(self, self.database, machine or Machine(platform.node() or "this machine"))
        self.uploads = PostgresUploads(self, self.database)

    def roots(self) -> Roots:
        with self.database.reading() as connection:
            found = rows.get_roots(connection)
            excluded = rows.get_excluded(connection)
        own = {path for path, _, _, machine in found if machine in ("", self.queue.machine.name)}
        return Roots(
            {path: kind for path, kind, _, _ in found if path in own},
            {path for path, _, followed, _ in found if followed},
            {path: machine for path, _, _, machine in found if path not in own},
            excluded,
        )

    def add_roots(self, roots: Mapping[bytes, str], followed: Collection[bytes]) -> None:
        with self.database.writing() as connection:
            for path, kind in roots.items():
                connection.execute(_ADD_ROOT, (path, kind, path in followed, owner(path, self.queue.machine)))

    def settle(self) -> None:
        """Drop unused vectors, add up the words' frequencies, update the planner's statistics, make the vector index.

        The index is made once there are many passages, and either no worker reads files or few files still wait.
        """
        with self.database.reading() as connection:
            (spare, changed, analyzed, filled) = connection.execute(_UNSETTLED).fetchone() or (False, False, 0, False)
            grown = rows.count_passages(connection) > 1.2 * analyzed
            unindexed = filled and rows.lacks_index(connection)
        if spare or changed:
            with self.database.writing() as connection:
                connection.execute("DELETE FROM spare_vectors WHERE NOT EXISTS (SELECT FROM queue)")
                rows.fold_frequencies(connection)
                if grown:
                    connection.execute("ANALYZE passages")
        if unindexed:
            with self.database.writing() as connection:
                rows.make_index(connection)

    def start_over(self) -> None:
        """Raise ``RequestError``: one process must not put aside a library that many share."""
        raise RequestError(
            f"The {self.database.place} is damaged: restore the database from a backup, or drop the library's schema "
            "and index its documents again."
        )

    def verify(self, sync: Callable[[Progress | None], SyncReport], progress: Progress | None) -> VerifyReport:
        return verify(self.database, sync, progress)

    def _candidates(
        self, connection: Connection, query: str, vector: Vectors, only: Filter | None, visible: Visible | None
    ) -> PostgresCandidates:
        return PostgresCandidates(connection, query, vector, Condition(connection, only, visible))

    def has_fitting(self, filter: Filter, visible: Visible | None = None) -> bool:  # noqa: A002 - the stores' name
        with self.database.reading() as connection:
            return Condition(connection, filter, visible).count(connection, 1) > 0
