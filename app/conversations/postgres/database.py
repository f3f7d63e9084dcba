"""The schema in PostgreSQL that servers share, beside those of the libraries."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from psycopg import sql
from psycopg.rows import dict_row

from app.conversations.tables import SCHEMA as THREADS
from core.errors import RequestError
from retrieval.postgres.database import Connection, parameters_of, place_of, pool_of, translated
from retrieval.postgres.migrations import lock_migration, schema_exists

SCHEMA = "selfrag"  # those of libraries have an underscore after it
_USE = sql.SQL("SET LOCAL lock_timeout = '10s'; SET LOCAL search_path = {}").format(sql.Identifier(SCHEMA))
_VERSION_1 = (
    "CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL)",
    # A process that is alive says so again and again, and has what it holds until it was silent for too long.
    "CREATE TABLE processes (name text PRIMARY KEY, seen timestamptz NOT NULL)",
    # A token is of one holder alone: who lost a lease and does not know it yet can write nothing.
    "CREATE SEQUENCE lease_tokens",
    "CREATE TABLE leases (name text PRIMARY KEY, process text NOT NULL, token bigint NOT NULL)",
    *THREADS,
    # What servers answer. asked is JSON: what a question that is in no thread, or a check, was asked with. A run that
    # does not outlive its client is not gone on with when its server dies.
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
MIGRATIONS = (_VERSION_1,)  # from each version to the next, from none to 1
# LangGraph's, in a transaction with ours: its tables are new then, so that nobody waits for an index of them.
CHECKPOINTS = [statement.replace("CONCURRENTLY", "") for statement in BasePostgresSaver.MIGRATIONS]


class SharedDatabase:
    """Connections to the shared schema; as `retrieval.postgres.database.Database`, nothing outlives a transaction."""

    def __init__(self, url: str) -> None:
        """Connect, and make or migrate the schema. Raises `RequestError` and `StoreUnavailable`."""
        parameters = parameters_of(url)
        self.place = f"threads and runs {place_of(parameters)}"
        with translated(self.place):
            with psycopg.connect(**parameters) as connection:
                self._prepare(connection)
            self._pool = pool_of(parameters)

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a transaction: committed at the end, rolled back on an exception."""
        with translated(self.place), self._pool.connection() as connection, connection.transaction():
            connection.execute(_USE)
            yield connection

    def _prepare(self, connection: Connection) -> None:
        if self._versions(connection) == (len(MIGRATIONS), len(CHECKPOINTS)):
            return
        try:
            with connection.transaction():
                lock_migration(connection, SCHEMA)
                ours, theirs = self._versions(connection)  # another process may have done it meanwhile
                if not ours and not schema_exists(connection, SCHEMA):
                    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
                connection.execute(_USE)
                for statements in MIGRATIONS[ours:]:
                    for statement in statements:
                        connection.execute(statement.encode())
                for version, statement in enumerate(CHECKPOINTS[theirs:], theirs):
                    connection.execute(statement.encode())
                    connection.execute("INSERT INTO checkpoint_migrations VALUES (%s)", (version,))
                kept = "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
                connection.execute(kept, ("format", str(len(MIGRATIONS))))
                connection.execute(kept, ("checkpoints", str(len(CHECKPOINTS))))
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
            raise RequestError(
                f"There are no {self.place} yet, or they are of an older version, and this role may not make them: "
                "open them once as a role that may."
            ) from None

    def _versions(self, connection: Connection) -> tuple[int, int]:
        """Return the versions of our tables and of LangGraph's, 0 where there are none.

        Raises `RequestError` for a newer or a foreign schema.
        """
        tables = connection.execute(
            "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = %s AND relkind IN ('r', 'p', 'v', 'm', 'f') LIMIT 100",
            (SCHEMA,),
        ).fetchall()
        if not tables:
            return 0, 0
        values: dict[Any, Any] = {}
        if ("meta",) in tables and ("leases",) in tables:
            query = sql.SQL("SELECT key, value FROM {}").format(sql.Identifier(SCHEMA, "meta"))
            values = dict(connection.execute(query).fetchall())
        found = [values.get(name) for name in ("format", "checkpoints")]
        if not all(isinstance(one, str) and one.isdecimal() and len(one) < 9 for one in found):
            raise RequestError(f"The schema {SCHEMA} is not of this program: name another database in SELFRAG_STORE.")
        ours, theirs = (int(str(one)) for one in found)
        if ours > len(MIGRATIONS) or theirs > len(CHECKPOINTS):
            raise RequestError(f"The {self.place} were made by a newer version of this program: update the program.")
        return ours, theirs


class Marked:
    """A connection whose statements may have ``?`` for each value, and whose rows are read by name."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        cursor = self._connection.cursor(row_factory=dict_row)
        return cursor.execute(statement.replace("?", "%s").encode(), values)
