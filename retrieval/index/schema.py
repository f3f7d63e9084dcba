"""The index's tables, metadata and roots (the files and folders that were added); all else is derived from these."""

import re
import sqlite3
import zlib
from collections.abc import Collection, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel

from core.errors import damaged
from retrieval.store import Made, Roots, made_of

FORMAT = 3
PREVIOUS_FORMAT = FORMAT - 1  # the previous format, which is brought up to date

WORDS = "text, title, heading, pairs, tokenize = 'porter unicode61'"  # of the keyword index

_FORMAT_2 = (
    """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID
    """,
    """
CREATE TABLE roots (
    path BLOB PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('file', 'folder')), seal INTEGER NOT NULL
) WITHOUT ROWID
    """,
    """
-- A path is bytes, for a file's name need not be text. sha256 is NULL for what must be read again,
-- and mtime_ns is -1 where the time of change says nothing. Texts that were added without a file
-- have origin 'text'. date is 'YYYY-MM-DD': the one that the document gives itself, else that of its
-- file's last change; a passage may have its own.
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('file', 'text')),
    sha256 TEXT,
    size INTEGER NOT NULL DEFAULT 0,
    mtime_ns INTEGER NOT NULL DEFAULT -1,
    status TEXT NOT NULL CHECK (status IN ('indexed', 'empty', 'failed')),
    reason TEXT NOT NULL DEFAULT '',
    date TEXT,
    passages INTEGER NOT NULL DEFAULT 0,
    seal INTEGER NOT NULL,
    UNIQUE (path, origin)
)
    """,
    """
-- An id is never used again, so that the vectors of another generation can be told apart by id.
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    name TEXT UNIQUE,
    text TEXT NOT NULL,
    page INTEGER,
    row INTEGER,
    "offset" INTEGER,
    date TEXT,
    extra TEXT,
    hash BLOB NOT NULL,
    seal INTEGER NOT NULL
)
    """,
    """
CREATE INDEX passages_of_document ON passages (document)
    """,
    """
CREATE INDEX passages_by_hash ON passages (hash)
    """,
    """
CREATE TABLE vectors (
    passage INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE,
    vector BLOB NOT NULL,
    seal INTEGER NOT NULL
)
    """,
    """
-- What a derived vector index that is older than this has to forget; pruned when it is written anew.
CREATE TABLE removed (number INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL)
    """,
    """
CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    INSERT INTO removed (passage) VALUES (old.passage);
END
    """,
    """
-- Vectors of a large file that is not all embedded yet: an interrupted run goes on from them.
CREATE TABLE spare_vectors (hash BLOB PRIMARY KEY, vector BLOB NOT NULL, seal INTEGER NOT NULL)
    """,
    """
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = 'passages', content_rowid = 'id', tokenize = 'porter unicode61'
)
    """,
    """
CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
    INSERT INTO words (rowid, text) VALUES (new.id, new.text);
END
    """,
    """
CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
    INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
END
    """,
)
# What an index of format 2 lacks. New ones are made in the same steps, so that both have the same definitions.
#
# title and heading are those above the passage. pairs are the terms of words in Chinese, Japanese or Korean, of which
# FTS5 would make one term for each run. All three are NULL where there are none.
UPGRADE = (
    "ALTER TABLE passages ADD COLUMN title TEXT",
    "ALTER TABLE passages ADD COLUMN heading TEXT",
    "ALTER TABLE passages ADD COLUMN pairs TEXT",
    "DROP TRIGGER passage_added",
    "DROP TRIGGER passage_removed",
    "DROP TABLE words",
    f"CREATE VIRTUAL TABLE words USING fts5 ({WORDS}, content = 'passages', content_rowid = 'id')",
    """
CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
    INSERT INTO words (rowid, text, title, heading, pairs)
    VALUES (new.id, new.text, new.title, new.heading, new.pairs);
END
    """,
    """
CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
    INSERT INTO words (words, rowid, text, title, heading, pairs)
    VALUES ('delete', old.id, old.text, old.title, old.heading, old.pairs);
END
    """,
)
_MAX_OBJECTS = 100  # that are read: an index has some twenty tables, indexes and triggers
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT ?"
# What may be read in a database that another version made: a view or a computed column could run without end.
_PLAIN = re.compile(r"CREATE (TABLE (?!(?i:.*\b(AS|GENERATED)\b))|(UNIQUE )?INDEX |TRIGGER |VIRTUAL TABLE words )")
_SPACE = re.compile(r"\s+", re.ASCII)

Object = tuple[str, str, str, str]


def objects_of(connection: sqlite3.Connection) -> list[Object]:
    """Return every table, index, trigger and view of a database in order: type, name, table and definition."""
    rows = connection.execute(_OBJECTS, (_MAX_OBJECTS,)).fetchall()
    return sorted((str(kind), str(name), str(of), _SPACE.sub(" ", str(sql))) for kind, name, of, sql in rows)


@cache
def expected_objects(version: int = FORMAT) -> list[Object]:
    """Return the tables, indexes and triggers that an index of this format, the current or the previous one, has."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create(connection, version)
        return objects_of(connection)


def create(connection: sqlite3.Connection, version: int = FORMAT) -> None:
    """Create the tables of an index in this format, the current or the previous one."""
    for statement in (*_FORMAT_2, *(UPGRADE if version == FORMAT else ())):
        connection.execute(statement)


def has_meta_table(objects: list[Object]) -> bool:
    """True if the table ``meta`` is as every version makes it: it is read before the other tables are compared."""
    return [obj for obj in expected_objects() if obj[1] == "meta"] == [obj for obj in objects if obj[1] == "meta"]


def are_plain(objects: list[Object]) -> bool:
    """True if there are only ordinary tables, indexes and triggers, of any version: no views, no computed columns."""
    return all(_PLAIN.match(sql) or sql == "None" for *_, sql in objects) and len(objects) < _MAX_OBJECTS


_META = ("format", "index", "embedding", "dimension", "chunk_size", "overlap")
LARGEST = 1 << 16  # numbers in a vector
# Prefixes of keys of meta, before bytes in hexadecimal: a root's path, whose links are followed, and a pattern of
# files that are excluded. A column or table of their own would need a new format.
_FOLLOW = "follow_links "
_EXCLUDE = "exclude "


class Reached(BaseModel, frozen=True):
    """A point in the index's history: the highest passage id, and the number of the last removal."""

    passage: int = 0
    removal: int = 0

    def includes(self, other: "Reached") -> bool:
        """True if this point is at or after ``other``."""
        return self.passage >= other.passage and self.removal >= other.removal


@dataclass(frozen=True)
class Snapshot:
    """A consistent read of the index; ``index`` is its id, which a rebuild changes; ``passages`` is how many it has."""

    connection: sqlite3.Connection
    index: str
    made: Made
    passages: int
    reached: Reached

    @property
    def dimension(self) -> int:
        """The length of the vectors."""
        return self.made.dimension

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> "Snapshot":
        """Read the state that a connection sees."""
        meta = get_meta(connection)
        (count,) = connection.execute("SELECT coalesce(sum(passages), 0) FROM documents").fetchone()
        last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence WHERE name IN ('passages', 'removed')"))
        try:
            made = made_of(meta)
            if not 0 <= made.dimension < LARGEST:
                raise damaged()
            reached = Reached(passage=int(last.get("passages", 0)), removal=int(last.get("removed", 0)))
            return cls(connection, meta["index"], made, int(count), reached)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged() from error


def get_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the index's metadata."""
    marks = ",".join("?" * len(_META))
    return dict(connection.execute(f"SELECT key, value FROM meta WHERE key IN ({marks})", _META))  # noqa: S608


def set_meta(connection: sqlite3.Connection, **values: object) -> None:
    """Set some of the index's metadata."""
    rows = [(key, str(value)) for key, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def get_roots(connection: sqlite3.Connection) -> Roots:
    """Return the files and folders that were added, and the patterns of files that are left out."""
    kinds = {}
    for path, kind, seal in connection.execute("SELECT path, kind, seal FROM roots ORDER BY path"):
        if not isinstance(path, bytes) or seal != _seal(path, kind):
            raise damaged()
        kinds[path] = kind
    excluded = {pattern.decode() for pattern in _get_marked(connection, _EXCLUDE)}
    return Roots(kinds, _get_marked(connection, _FOLLOW), excluded=excluded)


def set_excluded(connection: sqlite3.Connection, patterns: Collection[str]) -> None:
    """Replace the patterns of files that are left out."""
    connection.execute("DELETE FROM meta WHERE key GLOB ?", (f"{_EXCLUDE}*",))
    _mark(connection, _EXCLUDE, [pattern.encode() for pattern in patterns])


def _get_marked(connection: sqlite3.Connection, mark: str) -> set[bytes]:
    """Return the values under a mark, such as ``exclude``, in ``meta``: a key there is the mark and a value in hex."""
    marked = set()
    for key, seal in connection.execute("SELECT key, value FROM meta WHERE key GLOB ?", (f"{mark}*",)):
        try:
            value = bytes.fromhex(key.removeprefix(mark))
        except ValueError as error:
            raise damaged() from error
        if seal != str(_seal(value, mark)):
            raise damaged()
        marked.add(value)
    return marked


def _mark(connection: sqlite3.Connection, mark: str, values: Iterable[bytes]) -> None:
    set_meta(connection, **{mark + value.hex(): _seal(value, mark) for value in values})


def add_roots(connection: sqlite3.Connection, roots: dict[bytes, str], followed: Collection[bytes] = ()) -> None:
    """Add or replace roots; links in the roots ``followed`` are followed wherever they lead."""
    rows = [(path, kind, _seal(path, kind)) for path, kind in roots.items()]
    connection.executemany("INSERT OR REPLACE INTO roots VALUES (?, ?, ?)", rows)
    connection.executemany("DELETE FROM meta WHERE key = ?", [(_FOLLOW + path.hex(),) for path in roots])
    _mark(connection, _FOLLOW, roots.keys() & followed)


def remove_root(connection: sqlite3.Connection, path: bytes) -> None:
    """Remove a root."""
    connection.execute("DELETE FROM roots WHERE path = ?", (path,))
    connection.execute("DELETE FROM meta WHERE key = ?", (_FOLLOW + path.hex(),))


def _seal(path: bytes, kind: str) -> int:
    return zlib.crc32(path, zlib.crc32(kind.encode()))
