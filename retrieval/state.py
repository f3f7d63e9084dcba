"""What an index says of itself, and the files and folders it follows."""

import sqlite3
import zlib
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from retrieval.errors import damaged


class Reached(BaseModel):
    """How much of an index's history something has seen: the highest passage id, and the last removal's number."""

    model_config = ConfigDict(frozen=True)

    passage: int = 0
    removal: int = 0

    def includes(self, other: "Reached") -> bool:
        """Whether all that ``other`` has seen is seen."""
        return self.passage >= other.passage and self.removal >= other.removal


@dataclass(frozen=True)
class Snapshot:
    """One unchanging state of the index; ``index`` tells it from one that was begun anew.

    ``passages`` counts them.
    """

    connection: sqlite3.Connection
    index: str
    generation: int
    embedding: str
    dimension: int
    splitter: dict[str, int]
    passages: int
    reached: Reached

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> "Snapshot":
        """Describe what a connection sees; an index without passages has no embedding model yet."""
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        try:
            return cls(
                connection,
                index=meta["index"],
                generation=int(meta["generation"]),
                embedding=meta.get("embedding", ""),
                dimension=int(meta.get("dimension", 0)),
                splitter={key: int(meta[key]) for key in ("chunk_size", "overlap") if key in meta},
                passages=_count(connection),
                reached=_reached(connection),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise damaged() from error


def _count(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT coalesce(sum(passages), 0) FROM documents").fetchone()
    return int(count)


def _reached(connection: sqlite3.Connection) -> Reached:
    last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence WHERE name IN ('passages', 'removed')"))
    return Reached(passage=int(last.get("passages", 0)), removal=int(last.get("removed", 0)))


def set_meta(connection: sqlite3.Connection, **values: object) -> None:
    """Change what the index says of itself."""
    rows = [(key, str(value)) for key, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def next_generation(connection: sqlite3.Connection) -> None:
    """Mark that passages changed, so that whatever is derived from them is brought up to date."""
    connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")


def get_roots(connection: sqlite3.Connection) -> dict[bytes, str]:
    """Return the files and folders that the index follows, each with which of the two it is."""
    roots = {}
    for path, kind, seal in connection.execute("SELECT path, kind, seal FROM roots ORDER BY path"):
        if not isinstance(path, bytes) or seal != _seal(path, kind):
            raise damaged()
        roots[path] = kind
    return roots


def add_roots(connection: sqlite3.Connection, roots: dict[bytes, str]) -> None:
    """Follow files and folders."""
    rows = [(path, kind, _seal(path, kind)) for path, kind in roots.items()]
    connection.executemany("INSERT OR REPLACE INTO roots VALUES (?, ?, ?)", rows)


def remove_root(connection: sqlite3.Connection, path: bytes) -> None:
    """Follow a file or folder no longer."""
    connection.execute("DELETE FROM roots WHERE path = ?", (path,))


def _seal(path: bytes, kind: str) -> int:
    return zlib.crc32(path, zlib.crc32(kind.encode()))
