"""What an index says of itself, and the files and folders it follows."""

import sqlite3
from dataclasses import dataclass

from retrieval.errors import damaged


@dataclass(frozen=True)
class Snapshot:
    """One unchanging state of the index; ``index`` tells it from one that was begun anew."""

    connection: sqlite3.Connection
    index: str
    generation: int
    embedding: str
    dimension: int
    splitter: dict[str, int]

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
            )
        except (KeyError, ValueError) as error:
            raise damaged() from error


def set_meta(connection: sqlite3.Connection, **values: object) -> None:
    """Change what the index says of itself."""
    rows = [(key, str(value)) for key, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def next_generation(connection: sqlite3.Connection) -> None:
    """Mark that passages changed, so that whatever is derived from them is brought up to date."""
    connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")


def get_roots(connection: sqlite3.Connection) -> dict[bytes, str]:
    """Return the files and folders that the index follows, each with which of the two it is."""
    return dict(connection.execute("SELECT path, kind FROM roots ORDER BY path"))


def add_roots(connection: sqlite3.Connection, roots: dict[bytes, str]) -> None:
    """Follow files and folders."""
    connection.executemany("INSERT OR REPLACE INTO roots VALUES (?, ?)", roots.items())


def remove_root(connection: sqlite3.Connection, path: bytes) -> None:
    """Follow a file or folder no longer."""
    connection.execute("DELETE FROM roots WHERE path = ?", (path,))
