"""What an index says of itself, and the files and folders it follows."""

import sqlite3
import zlib
from collections.abc import Collection
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from retrieval.errors import damaged

_META = ("format", "index", "generation", "embedding", "dimension", "chunk_size", "overlap")
LARGEST = 1 << 16  # numbers in a vector
# Before the path of a root, in hexadecimal, this is a key of meta: the root's links are followed. The table of the
# roots has no place for it, and another column would be another format, for which every index is made anew.
_FOLLOW = "follow_links "


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
        meta = get_meta(connection)
        try:
            if not 0 <= int(meta.get("dimension", 0)) < LARGEST:
                raise damaged()
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


def get_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Return what the index says of itself."""
    marks = ",".join("?" * len(_META))
    return dict(connection.execute(f"SELECT key, value FROM meta WHERE key IN ({marks})", _META))  # noqa: S608


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


def get_followed(connection: sqlite3.Connection) -> set[bytes]:
    """Return the roots whose links are followed wherever they lead."""
    followed = set()
    for key, seal in connection.execute("SELECT key, value FROM meta WHERE key GLOB ?", (f"{_FOLLOW}*",)):
        try:
            path = bytes.fromhex(key.removeprefix(_FOLLOW))
        except ValueError as error:
            raise damaged() from error
        if seal != str(_seal(path, _FOLLOW)):
            raise damaged()
        followed.add(path)
    return followed


def add_roots(connection: sqlite3.Connection, roots: dict[bytes, str], followed: Collection[bytes] = ()) -> None:
    """Follow files and folders, and those ``followed`` with their links, wherever they lead."""
    rows = [(path, kind, _seal(path, kind)) for path, kind in roots.items()]
    connection.executemany("INSERT OR REPLACE INTO roots VALUES (?, ?, ?)", rows)
    connection.executemany("DELETE FROM meta WHERE key = ?", [(_FOLLOW + path.hex(),) for path in roots])
    set_meta(connection, **{_FOLLOW + path.hex(): _seal(path, _FOLLOW) for path in roots if path in followed})


def remove_root(connection: sqlite3.Connection, path: bytes) -> None:
    """Follow a file or folder no longer."""
    connection.execute("DELETE FROM roots WHERE path = ?", (path,))
    connection.execute("DELETE FROM meta WHERE key = ?", (_FOLLOW + path.hex(),))


def _seal(path: bytes, kind: str) -> int:
    return zlib.crc32(path, zlib.crc32(kind.encode()))
