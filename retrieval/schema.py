"""The tables of the index: SQLite is the truth, all else is derived from it."""

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
TABLES = frozenset({"meta", "roots", "documents", "passages", "vectors", "removed", "spare_vectors", "words"})
