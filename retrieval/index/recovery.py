"""Take over from a damaged database what is whole: vectors, which cost the most, and texts that have no file."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import IndexDamaged
from retrieval.index.document_rows import get_passages, put_texts
from retrieval.index.schema import (
    LARGEST,
    add_roots,
    are_plain,
    get_followed,
    get_meta,
    get_roots,
    objects_of,
    set_meta,
)
from retrieval.index.sqlite_files import connect
from retrieval.index.vector_rows import VECTORS, known_vectors, put_spare_vectors, seal, text_hash

_ROWS = 1_000  # at a time: where one is damaged, its neighbours are tried one by one
_IN_VAIN = 200_000  # rows one after the other without a whole one: there are no more
_HIGHEST = 1 << 53  # id that is believed
_ERRORS = (OSError, sqlite3.Error, UnicodeDecodeError, KeyError, TypeError, ValueError)
_SPARE_VECTORS = "SELECT rowid, hash, vector, seal FROM spare_vectors"
_TEXTS = "SELECT passages.id FROM passages JOIN documents ON documents.id = document"


def recover(damaged: Path, connection: sqlite3.Connection) -> None:
    """Put what is whole in the file ``damaged`` into the new index of ``connection``."""
    with suppress(IndexDamaged, *_ERRORS), closing(connect(damaged, "mode=ro")) as old:
        if not are_plain(objects_of(old)):
            return
        meta = get_meta(old)
        if not connection.execute("SELECT 1 FROM roots").fetchone():
            _take_roots(old, connection)
        _go_on_counting(old, connection)
        embedding, dimension = str(meta["embedding"]), int(meta["dimension"])
        if not embedding or not 0 < dimension < LARGEST:
            return
        set_meta(connection, embedding=embedding, dimension=dimension)
        for sql, key in ((VECTORS, "passage"), (_SPARE_VECTORS, "rowid")):
            for rows in _rows(old, sql, key):
                whole = [(row[1], row[2]) for row in rows if _is_whole(row, dimension, str(meta.get("format")))]
                put_spare_vectors(connection, whole)
        for rows in _rows(old, _TEXTS, "passages.id", "origin = 'text' AND "):
            for (id_,) in rows:
                _take_text(old, id_, connection)


def _take_roots(old: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    """Follow what the old index did, for the manifest does not say: of an older version, without its seals."""
    try:
        roots, followed = get_roots(old), get_followed(old)
    except sqlite3.OperationalError:
        roots, followed = dict(old.execute("SELECT path, kind FROM roots")), set()
    add_roots(connection, roots, followed)


def _go_on_counting(old: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    """Give no passage an id that one of the old index had: a text may be known by it."""
    (last,) = old.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'passages'").fetchone()
    if isinstance(last, int) and 0 < last < _HIGHEST:
        connection.execute("INSERT INTO sqlite_sequence VALUES ('passages', ?)", (last,))


def _rows(old: sqlite3.Connection, sql: str, key: str, where: str = "") -> Iterator[list[Any]]:
    """Yield the rows that can be read, many at a time, in the order of their whole number ``key``."""
    last = in_vain = 0
    while in_vain < _IN_VAIN:
        try:
            rows = old.execute(f"{sql} WHERE {where}{key} > ? ORDER BY {key} LIMIT ?", (last, _ROWS)).fetchall()
            if not rows:
                return
            rows = [row for row in rows if row[0] > last]  # a damaged tree may lead back
            last, in_vain = (rows[-1][0], 0) if rows else (last + _ROWS, in_vain + _ROWS)
        except _ERRORS:
            rows = []
            for one in range(last + 1, last + 1 + _ROWS):
                with suppress(*_ERRORS):
                    rows += old.execute(f"{sql} WHERE {where}{key} = ?", (one,)).fetchall()
            last, in_vain = last + _ROWS, 0 if rows else in_vain + _ROWS
        yield rows


def _is_whole(row: tuple[Any, ...], dimension: int, version: str) -> bool:
    _, hash_, blob, sealed = row
    if not isinstance(hash_, bytes) or not isinstance(blob, bytes) or len(blob) != 4 * dimension:
        return False
    return bool(sealed == (zlib.crc32(blob) if version == "1" else seal(hash_, blob)))


def _take_text(old: sqlite3.Connection, id_: int, connection: sqlite3.Connection) -> None:
    """Put one text that came from no file into the new index, under its old id."""
    with suppress(IndexDamaged, *_ERRORS):
        (document,) = get_passages(old, [id_]).values()
        hash_ = text_hash(document.page_content)
        vector = known_vectors(connection, [hash_])[hash_]
        put_texts(connection, [document], np.stack([vector]), [document.id])
