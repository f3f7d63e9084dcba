"""Store each vector in the database with a checksum."""

import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from core.errors import damaged
from retrieval.unit_vectors import Vectors

T = TypeVar("T")

_VARIABLES = 500  # per statement; older SQLite allows 999
_MANY = 4_096  # vectors at a time: 6 MB at 384 numbers each
# CROSS fixes the join order: both tables are ordered by id.
VECTORS = "SELECT passage, hash, vector, vectors.seal FROM vectors CROSS JOIN passages ON passages.id = passage"


def put_vector(connection: sqlite3.Connection, passage: int, hash_: bytes, vector: Vectors) -> None:
    """Write the vector of a passage, whose text has this hash."""
    blob = vector.tobytes()
    connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", (passage, blob, seal(hash_, blob)))


def put_spare_vectors(connection: sqlite3.Connection, vectors: Mapping[bytes, Vectors]) -> None:
    """Save vectors of passages that are not written yet, by text hash."""
    rows = ((hash_, blob, seal(hash_, blob)) for hash_, blob in ((key, one.tobytes()) for key, one in vectors.items()))
    connection.executemany("INSERT OR REPLACE INTO spare_vectors VALUES (?, ?, ?)", rows)


def seal(hash_: bytes, blob: bytes) -> int:
    """Return the checksum of a vector and its text's hash."""
    return zlib.crc32(blob, zlib.crc32(hash_))


def drop_spare_vectors(connection: sqlite3.Connection) -> None:
    """Remove the vectors saved for files not yet written."""
    connection.execute("DELETE FROM spare_vectors")


def known_vectors(connection: sqlite3.Connection, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    """Return the vectors of texts that were embedded before, by text hash."""
    found: dict[bytes, Vectors] = {}
    for chunk in chunks(hashes):
        marks = ",".join("?" * len(chunk))
        for table in (
            "SELECT hash, vector, vectors.seal FROM passages JOIN vectors ON passage = passages.id",
            "SELECT hash, vector, seal FROM spare_vectors",
        ):
            for hash_, blob, seal_ in connection.execute(f"{table} WHERE hash IN ({marks})", chunk):
                found[hash_] = intact_vector(hash_, blob, seal_)
    return found


def vectors_of(connection: sqlite3.Connection, ids: Sequence[int], dimension: int) -> dict[int, Vectors]:
    """Return the vectors of passages, by id."""
    found: dict[int, Vectors] = {}
    for chunk in chunks(ids):
        marks = ",".join("?" * len(chunk))
        rows = connection.execute(f"{VECTORS} WHERE passage IN ({marks})", chunk).fetchall()
        if len(rows) != len(chunk):
            raise damaged()
        found |= zip(*_stacked(rows, dimension), strict=True)
    return found


def vectors_after(connection: sqlite3.Connection, passage: int, dimension: int) -> Iterator[tuple[list[int], Vectors]]:
    """Yield (ids, vectors) of all passages with a higher id, many at a time."""
    rows = connection.execute(f"{VECTORS} WHERE passage > ? ORDER BY passage", (passage,))
    while chunk := rows.fetchmany(_MANY):
        yield _stacked(chunk, dimension)


def sample_vectors(connection: sqlite3.Connection, count: int, dimension: int) -> Vectors:
    """Return the vectors of up to ``count`` random passages, with a fixed seed."""
    ids = np.fromiter((id_ for (id_,) in connection.execute("SELECT id FROM passages")), dtype=np.int64)
    if len(ids) > count:
        ids = np.sort(np.random.default_rng(0).choice(ids, count, replace=False))
    return np.stack([*vectors_of(connection, ids.tolist(), dimension).values()])


def _stacked(rows: Sequence[tuple[int, bytes, bytes, int]], dimension: int) -> tuple[list[int], Vectors]:
    vectors = [intact_vector(hash_, blob, seal_) for _, hash_, blob, seal_ in rows]
    if any(len(vector) != dimension for vector in vectors):
        raise damaged()
    return [row[0] for row in rows], np.stack(vectors)


def intact_vector(hash_: bytes, blob: bytes, seal_: int) -> Vectors:
    """Return the vector in ``blob``. Raises ``IndexDamaged`` if the checksum of hash and vector is wrong."""
    valid = isinstance(hash_, bytes) and isinstance(blob, bytes) and not len(blob) % 4
    if not valid or seal(hash_, blob) != seal_:
        raise damaged()
    return np.frombuffer(blob, dtype=np.float32)


def chunks(values: Sequence[T]) -> Iterator[list[T]]:
    """Split values into lists that fit into one SQL statement."""
    for start in range(0, len(values), _VARIABLES):
        yield list(values[start : start + _VARIABLES])
