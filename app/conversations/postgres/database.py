"""The schema in PostgreSQL that servers share, beside the schemas of the libraries."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from psycopg import sql
from psycopg.rows import dict_row

from app.conversations.tables import SCHEMA as THREADS
from retrieval.postgres.database import Connection, database_name, parameters_of, pool_of, translated
from retrieval.postgres.migrations import Migrations, migrate

SCHEMA = "selfrag"  # the schemas of libraries begin with it and an underscore
_USE = sql.SQL("SET LOCAL lock_timeout = '10s'; SET LOCAL search_path = {}").format(sql.Identifier(SCHEMA))
_VERSION_1 = (
    "CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL)",
    # A process updates ``seen`` while it is alive; after too long a silence others may take its leases over.
    "CREATE TABLE processes (name text PRIMARY KEY, seen timestamptz NOT NULL)",
    # Each holder has another token: a process that lost a lease, and does not know it yet, can write nothing.
    "CREATE SEQUENCE lease_tokens",
    "CREATE TABLE leases (name text PRIMARY KEY, process text NOT NULL, token bigint NOT NULL)",
    *THREADS,
    # The runs of servers. ``asked`` is JSON: the request of a check, or of a question in no thread. If a server dies,
    # others continue only its runs with ``outlives``, which do not end with their client.
    """
CREATE TABLE runs (
    id text PRIMARY KEY,
    owner text NOT NULL,
    kind text NOT NULL,
    thread text REFERENCES threads (id) ON DELETE CASCADE,
    question text NOT NULL,
    asked text NOT NULL,
    began text NOT NULL,
    outlives bool NOT NULL,
    state text NOT NULL DEFAULT 'unfinished',
    outcome text,
    message text,
    cancelled bool NOT NULL DEFAULT false,
    ended timestamptz
)
    """,
    "CREATE INDEX runs_unfinished ON runs (began) WHERE state = 'unfinished'",
    "CREATE INDEX runs_of_owner ON runs (owner, began)",
    "CREATE INDEX runs_of_thread ON runs (thread)",
    """
CREATE TABLE events (
    run text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number bigint NOT NULL,
    kind text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (run, number)
)
    """,
    "CREATE TABLE labels (run text PRIMARY KEY, owner text NOT NULL, label text NOT NULL)",
)
# What each person asked and spent in a day in UTC: `app.server.accounts`.
_VERSION_2 = (
    "CREATE TABLE spent (day date, owner text, what text, number bigint NOT NULL, PRIMARY KEY (day, owner, what))",
)
MIGRATIONS: Migrations = (_VERSION_1, _VERSION_2)
# LangGraph's migrations, in one transaction with ours: its tables are new, so that no index keeps anybody waiting.
CHECKPOINTS: Migrations = [
    (statement.replace("CONCURRENTLY", ""), f"INSERT INTO checkpoint_migrations VALUES ({version})")  # noqa: S608
    for version, statement in enumerate(BasePostgresSaver.MIGRATIONS)
]


class SharedDatabase:
    """Connections to the shared schema; no session state outlives a transaction, so that poolers can be used."""

    def __init__(self, url: str) -> None:
        """Connect, and make or migrate the schema. Raises `RequestError` and `StoreUnavailable`."""
        parameters = parameters_of(url)
        self.place = f"threads and runs {database_name(parameters)}"
        with translated(self.place):
            with psycopg.connect(**parameters) as connection:
                versions = {"format": MIGRATIONS, "checkpoints": CHECKPOINTS}
                migrate(connection, SCHEMA, self.place, versions, marker="leases", search_path=(SCHEMA,))
            self._pool = pool_of(parameters)

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a transaction: committed at the end, rolled back on an exception."""
        with translated(self.place), self._pool.connection() as connection, connection.transaction():
            connection.execute(_USE)
            yield connection

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, which has ``%s`` for each value, in a transaction of its own."""
        with self.transaction() as connection:
            return connection.execute(statement.encode(), values).fetchall()


class Marked:
    """A connection whose statements may have ``?`` as placeholders, and whose rows are read by name."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        cursor = self._connection.cursor(row_factory=dict_row)
        return cursor.execute(statement.replace("?", "%s").encode(), values)
