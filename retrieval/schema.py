"""The tables of the index: SQLite is the truth, all else is derived from it."""

import re
import sqlite3
from contextlib import closing
from functools import cache

FORMAT = 2

SCHEMA = (
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
_MOST_OBJECTS = 100  # that are looked at: an index has some twenty tables, indexes and triggers
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT ?"
# What is read of a database that another version may have made. A view can be endless, as can what a column computes.
_PLAIN = re.compile(r"CREATE (TABLE (?!(?i:.*\b(AS|GENERATED)\b))|(UNIQUE )?INDEX |TRIGGER |VIRTUAL TABLE words )")
_SPACE = re.compile(r"\s+", re.ASCII)

Object = tuple[str, str, str, str]


def objects_of(connection: sqlite3.Connection) -> list[Object]:
    """Return every table, index, trigger and view of a database in order: type, name, table and definition."""
    rows = connection.execute(_OBJECTS, (_MOST_OBJECTS,)).fetchall()
    return sorted((str(kind), str(name), str(of), _SPACE.sub(" ", str(sql))) for kind, name, of, sql in rows)


@cache
def made_objects() -> list[Object]:
    """Return the objects of an index that was made by this version and not changed since."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        return objects_of(connection)


def knows_itself(objects: list[Object]) -> bool:
    """Whether ``meta`` is the table that every version makes, so that it can be read before all else is compared."""
    return [one for one in made_objects() if one[1] == "meta"] == [one for one in objects if one[1] == "meta"]


def are_plain(objects: list[Object]) -> bool:
    """Whether there is no more than tables that are tables, whatever version made them."""
    return all(_PLAIN.match(sql) or sql == "None" for *_, sql in objects) and len(objects) < _MOST_OBJECTS
