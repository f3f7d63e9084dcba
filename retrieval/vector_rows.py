"""The vectors in the database, each under a seal, and found again by the text they stand for."""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from retrieval.embed import Vectors
from retrieval.errors import damaged

T = TypeVar("T")

_VARIABLES = 500  # in one statement; older SQLite allows 999


def text_hash(text: str) -> bytes:
    """Tell texts apart: equal texts have equal vectors."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def put_vector(connection: sqlite3.Connection, passage: int, vector: Vectors) -> None:
    """Write the vector of a passage."""
    blob = vector.tobytes()
    connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", (passage, blob, zlib.crc32(blob)))


def put_spare_vectors(connection: sqlite3.Connection, hashes: Sequence[bytes], vectors: Vectors) -> None:
    """Keep vectors of passages that are not written yet."""
    blobs = [vector.tobytes() for vector in vectors]
    rows = [(hash_, blob, zlib.crc32(blob)) for hash_, blob in zip(hashes, blobs, strict=True)]
    connection.executemany("INSERT OR REPLACE INTO spare_vectors VALUES (?, ?, ?)", rows)


def has_spare_vectors(connection: sqlite3.Connection) -> bool:
    """Whether vectors are left from a file that has been written since, or is no more."""
    return connection.execute("SELECT 1 FROM spare_vectors LIMIT 1").fetchone() is not None


def drop_spare_vectors(connection: sqlite3.Connection) -> None:
    """Remove the vectors that were kept for files not yet written."""
    connection.execute("DELETE FROM spare_vectors")


def known_vectors(connection: sqlite3.Connection, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    """Return the vectors of texts that were embedded before, by the texts' hashes."""
    found: dict[bytes, Vectors] = {}
    for some in chunks(hashes):
        marks = ",".join("?" * len(some))
        for table in (
            "SELECT hash, vector, vectors.seal FROM passages JOIN vectors ON passage = passages.id",
            "SELECT hash, vector, seal FROM spare_vectors",
        ):
            for hash_, blob, seal in connection.execute(f"{table} WHERE hash IN ({marks})", some):
                found[hash_] = _vector(blob, seal)
    return found


def vectors_of(
    connection: sqlite3.Connection, ids: Sequence[int], dimension: int
) -> Iterator[tuple[list[int], Vectors]]:
    """Yield (ids, vectors) of passages, many at a time."""
    for some in chunks(ids):
        marks = ",".join("?" * len(some))
        rows = connection.execute(
            f"SELECT passage, vector, seal FROM vectors WHERE passage IN ({marks})",  # noqa: S608
            some,
        ).fetchall()
        vectors = [_vector(blob, seal) for _, blob, seal in rows]
        if len(rows) != len(some) or any(len(vector) != dimension for vector in vectors):
            raise damaged()
        yield [id_ for id_, _, _ in rows], np.stack(vectors)


def passage_ids(connection: sqlite3.Connection) -> list[int]:
    """Return the ids of all passages, in order."""
    return [id_ for (id_,) in connection.execute("SELECT passage FROM vectors ORDER BY passage")]


def _vector(blob: bytes, seal: int) -> Vectors:
    if not isinstance(blob, bytes) or zlib.crc32(blob) != seal or len(blob) % 4:
        raise damaged()
    return np.frombuffer(blob, dtype=np.float32)


def chunks(values: Sequence[T]) -> Iterator[list[T]]:
    """Cut values into lists that fit one statement."""
    for start in range(0, len(values), _VARIABLES):
        yield list(values[start : start + _VARIABLES])
