"""The tables of a library, brought up to date by version."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import psycopg
from psycopg import sql

from core.errors import RequestError

OLDEST = 150_000  # PostgreSQL's version as it counts it
OLDEST_VECTORS = (0, 8)  # pgvector's: the first that searches on if a filter rejects what it found
LONGEST_NAME = 63  # bytes: PostgreSQL cuts longer ones
_PREFIX = "selfrag_"

_VERSION_1 = (
    "CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL)",
    """
CREATE TABLE roots (path bytea NOT NULL, kind text NOT NULL CHECK (kind IN ('file', 'folder')), followed bool NOT NULL)
    """,
    # A path may be longer than an entry of an index.
    "CREATE UNIQUE INDEX roots_by_path ON roots (sha256(path))",
    """
CREATE TABLE documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path bytea NOT NULL,
    sha256 text,
    size bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    status text NOT NULL CHECK (status IN ('indexed', 'empty', 'failed')),
    reason text NOT NULL,
    date text,
    passages bigint NOT NULL
)
    """,
    "CREATE UNIQUE INDEX documents_by_path ON documents (sha256(path))",
    # Ids are in the order of the document's text. date is the passage's own, else its document's. words has the tokens
    # of text, title (B) and heading (A), tokens their number. The length of vectors is the embedding model's.
    """
CREATE TABLE passages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    text text NOT NULL,
    page bigint,
    row bigint,
    "offset" bigint,
    date text,
    extra text,
    title text,
    heading text,
    hash bytea NOT NULL,
    tokens bigint NOT NULL,
    words tsvector NOT NULL,
    vector halfvec NOT NULL
)
    """,
    "CREATE INDEX passages_of_document ON passages (document, id)",
    "CREATE INDEX passages_by_hash ON passages (hash)",
    "CREATE INDEX passages_by_page ON passages (page)",
    "CREATE INDEX passages_by_date ON passages (date)",
    "CREATE INDEX passages_by_word ON passages USING gin (words) WITH (fastupdate = off)",
    # Vectors of a large file that is not all embedded yet: an interrupted run goes on from them.
    "CREATE TABLE spare_vectors (hash bytea PRIMARY KEY, vector halfvec NOT NULL)",
    # In how many passages a word is, and under the empty word the number of all passages and their tokens. Commits
    # append their changes, so that none waits for a row of another.
    'CREATE TABLE frequencies (word text COLLATE "C" PRIMARY KEY, passages bigint NOT NULL, tokens bigint NOT NULL)',
    'CREATE TABLE frequency_changes (word text COLLATE "C" NOT NULL, passages bigint NOT NULL, tokens bigint NOT NULL)',
    "CREATE INDEX frequency_changes_by_word ON frequency_changes (word)",
)
# Files that are to be read: `retrieval.postgres.queue`. The machine of a root or a file is "" where all can read it.
# A file's version counts how often it changed while it waited, its attempt how often it was taken.
_VERSION_2 = (
    "ALTER TABLE roots ADD machine text NOT NULL DEFAULT ''",
    """
CREATE TABLE queue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path bytea NOT NULL,
    machine text NOT NULL,
    size bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    content bytea,
    version bigint NOT NULL DEFAULT 0,
    attempt bigint NOT NULL DEFAULT 0,
    deaths bigint NOT NULL DEFAULT 0,
    worker text,
    taken_until timestamptz
)
    """,
    "CREATE UNIQUE INDEX queue_by_path ON queue (sha256(path))",
    "CREATE TABLE workers (name text PRIMARY KEY, machine text NOT NULL, seen timestamptz NOT NULL)",
)
# Files that were uploaded, with their bytes: `retrieval.postgres.uploads`. What is mostly compressed is kept as it is.
_VERSION_3 = (
    """
CREATE TABLE uploads (
    path bytea NOT NULL,
    sha256 text NOT NULL,
    size bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    content bytea NOT NULL
)
    """,
    "CREATE UNIQUE INDEX uploads_by_path ON uploads (sha256(path))",
    "ALTER TABLE uploads ALTER content SET STORAGE EXTERNAL",
)
Migrations = Sequence[Sequence[str]]  # the statements from each version to the next, from none to 1
MIGRATIONS: Migrations = (_VERSION_1, _VERSION_2, _VERSION_3)


def schema_name(library: str) -> str:
    """Return the name of a library's schema. Raises ``RequestError`` for a name that PostgreSQL would cut."""
    name = _PREFIX + library
    if "\0" in name or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise RequestError("The library's name is too long or has a zero byte: choose another.")
    return name


def prepare(connection: psycopg.Connection[Any], schema: str, place: str) -> tuple[bool, str]:
    """Check the server, and make or migrate the schema in one transaction.

    Return whether this role may write, and the schema that pgvector's types are in. Raises ``RequestError`` if the
    server, its pgvector or the schema cannot be used.
    """
    if connection.info.server_version < OLDEST:
        raise RequestError(f"The server of the {place} is older than PostgreSQL {OLDEST // 10_000}: update it.")
    if connection.execute("SHOW server_encoding").fetchone() != ("UTF8",):
        raise RequestError(f"The database of the {place} is not in UTF8: make one that is.")
    extensions = _vectors(connection, place)
    migrate(connection, schema, place, {"format": MIGRATIONS}, marker="passages", search_path=(schema, extensions))
    row = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE') AND current_setting('transaction_read_only') = 'off' FROM pg_class "
        "WHERE relnamespace = %s::regnamespace AND relname = 'documents'",
        (sql.Identifier(schema).as_string(connection),),
    ).fetchone()
    return bool(row and row[0]), extensions


def _vectors(connection: psycopg.Connection[Any], place: str) -> str:
    """Return the schema of pgvector; install it if it is missing. Raises ``RequestError`` if it cannot be used."""
    found = (
        "SELECT nspname, extversion FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector'"
    )
    row = connection.execute(found).fetchone()
    if row is None:
        try:
            with connection.transaction():
                _lock_migration(connection, "extension")
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
            raise RequestError(
                f"The database of the {place} lacks pgvector: let an administrator run CREATE EXTENSION vector in it."
            ) from None
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
            raise RequestError(f"The server of the {place} lacks pgvector: install it there.") from None
        row = connection.execute(found).fetchone()
    schema, version = row or ("public", "0")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < OLDEST_VECTORS:
        oldest = ".".join(map(str, OLDEST_VECTORS))
        raise RequestError(
            f"The database of the {place} has pgvector {version}, older than {oldest}: update it there, and let an "
            "administrator run ALTER EXTENSION vector UPDATE."
        )
    return str(schema)


def migrate(
    connection: psycopg.Connection[Any],
    schema: str,
    place: str,
    migrations: Mapping[str, Migrations],
    *,
    marker: str,
    search_path: Sequence[str],
) -> None:
    """Make the tables of a schema or bring them up to date, in one transaction.

    The table ``meta`` keeps the version reached under each key of ``migrations``; ``marker`` is a table by which our
    schema is recognised. Raises ``RequestError`` for a newer or foreign schema, or if this role may not change it.
    """
    newest = {key: len(steps) for key, steps in migrations.items()}
    if _versions(connection, schema, place, newest, marker) == newest:
        return
    try:
        with connection.transaction():
            _lock_migration(connection, schema)
            found = _versions(connection, schema, place, newest, marker)  # another may have done it meanwhile
            # CREATE SCHEMA IF NOT EXISTS is refused to roles that may not create one, even if it exists.
            if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None:
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
            names = sql.SQL(", ").join(map(sql.Identifier, search_path))
            connection.execute(sql.SQL("SET LOCAL search_path = {}").format(names))
            for key, steps in migrations.items():
                for statement in chain.from_iterable(steps[found[key] :]):
                    connection.execute(statement.encode())
                connection.execute(
                    "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    (key, str(newest[key])),
                )
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
        raise RequestError(
            f"There are no tables of the {place} yet, or of an older version, and this role may not make them: open "
            "them once as a role that may."
        ) from None


def _versions(
    connection: psycopg.Connection[Any], schema: str, place: str, newest: Mapping[str, int], marker: str
) -> dict[str, int]:
    """Return the versions of a schema, 0 without tables. Raises ``RequestError`` for a newer or a foreign one."""
    tables = connection.execute(
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
        "WHERE nspname = %s AND relkind IN ('r', 'p', 'v', 'm', 'f') LIMIT 100",
        (schema,),
    ).fetchall()
    if not tables:
        return dict.fromkeys(newest, 0)
    meta: dict[str, str] = {}
    if ("meta",) in tables and (marker,) in tables:
        query = sql.SQL("SELECT key, value FROM {}").format(sql.Identifier(schema, "meta"))
        meta = dict(connection.execute(query).fetchall())
    found = {key: str(meta.get(key, "")) for key in newest}
    if not all(version.isdecimal() and len(version) < 9 for version in found.values()):
        raise RequestError(f"The schema {schema} is not of this program: name another database in SELFRAG_STORE.")
    versions = {key: int(version) for key, version in found.items()}
    if any(versions[key] > newest[key] for key in newest):
        raise RequestError(
            f"The tables of the {place} were made by a newer version of this program: update the program."
        )
    return versions


def _lock_migration(connection: psycopg.Connection[Any], name: str) -> None:
    """Take the lock of a migration; wait at most 30 seconds for the transaction of another process."""
    connection.execute("SET LOCAL lock_timeout = '30s'")
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("migration", name),))


def lock_key(purpose: str, name: str) -> int:
    """Return the number of the server's advisory lock for a purpose."""
    return int.from_bytes(hashlib.sha256(f"selfrag {purpose} {name}".encode()).digest()[:8], signed=True)
