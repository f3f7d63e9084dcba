"""Recover what is intact in a damaged database: the files and folders that were added, and the costly vectors."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from core.errors import IndexDamaged
from retrieval.index import schema
from retrieval.index.sqlite_files import connect
from retrieval.index.vector_rows import VECTORS, intact_vector, put_spare_vectors
from retrieval.unit_vectors import Vectors

_ROWS = 1_000  # at a time: if a read fails, its rows are tried one by one
_MAX_UNREADABLE = 200_000  # consecutive rows, after which the scan ends
_HIGHEST = 1 << 53  # plausible id
_ERRORS = (OSError, sqlite3.Error, UnicodeDecodeError, KeyError, TypeError, ValueError)
_SPARE_VECTORS = "SELECT rowid, hash, vector, seal FROM spare_vectors"


def recover(damaged: Path, connection: sqlite3.Connection) -> None:
    """Copy what is intact in the database ``damaged`` into the new index of ``connection``."""
    with suppress(IndexDamaged, *_ERRORS), closing(connect(damaged, "mode=ro")) as old:
        if not schema.are_plain(schema.objects_of(old)):
            return
        meta = schema.get_meta(old)
        if not connection.execute("SELECT 1 FROM roots").fetchone():  # the manifest lacks them
            roots = schema.get_roots(old)
            schema.add_roots(connection, roots.kinds, roots.followed)
            schema.set_excluded(connection, roots.excluded)
        _continue_ids(old, connection)
        embedding, dimension = str(meta["embedding"]), int(meta["dimension"])
        if not embedding or not 0 < dimension < schema.LARGEST:
            return
        schema.set_meta(connection, embedding=embedding, dimension=dimension)
        for sql, key in ((VECTORS, "passage"), (_SPARE_VECTORS, "rowid")):
            for rows in _rows(old, sql, key):
                vectors: dict[bytes, Vectors] = {}
                for _, hash_, blob, sealed in rows:
                    with suppress(IndexDamaged):
                        vectors[hash_] = intact_vector(hash_, blob, sealed)
                put_spare_vectors(connection, {hash_: one for hash_, one in vectors.items() if len(one) == dimension})


def _continue_ids(old: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    """Continue the numbering of passages, so that no id of the old index is reused: callers may hold one."""
    (last,) = old.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'passages'").fetchone()
    if isinstance(last, int) and 0 < last < _HIGHEST:
        connection.execute("INSERT INTO sqlite_sequence VALUES ('passages', ?)", (last,))


def _rows(old: sqlite3.Connection, sql: str, key: str) -> Iterator[list[Any]]:
    """Yield the rows that can be read, many at a time, in the order of the integer column ``key``."""
    last = unreadable = 0
    while unreadable < _MAX_UNREADABLE:
        try:
            rows = old.execute(f"{sql} WHERE {key} > ? ORDER BY {key} LIMIT ?", (last, _ROWS)).fetchall()
            if not rows:
                return
            rows = [row for row in rows if row[0] > last]  # a damaged tree may lead back
            last, unreadable = (rows[-1][0], 0) if rows else (last + _ROWS, unreadable + _ROWS)
        except _ERRORS:
            rows = []
            for id_ in range(last + 1, last + 1 + _ROWS):
                with suppress(*_ERRORS):
                    rows += old.execute(f"{sql} WHERE {key} = ?", (id_,)).fetchall()
            last, unreadable = last + _ROWS, 0 if rows else unreadable + _ROWS
        yield rows
