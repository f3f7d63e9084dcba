"""Attack an index: replaced files, and a database edited by someone who knows its schema."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random

from tests.stress.bit_flips.harm import harm
from tests.stress.hostile.hostile_texts import UNSHOWN
from tests.stress.hostile.surface import Surface, named
from tests.stress.hostile.world import QUESTION, World

Change = Callable[[World, Path], None]
FILES = named(
    *("index.sqlite", "vectors.faiss", "manifest.json", "writer.lock", "index.sqlite-wal", "index.sqlite-shm"),
    *("index.sqlite-journal", "manifest.json.1.partial", "vectors.faiss.1.partial", "index.sqlite.damaged", "other"),
)


def _content(data: bytes | Callable[[bytes], bytes]) -> Change:
    def change(world: World, path: Path) -> None:
        before = path.read_bytes() if path.is_file() else b""
        path.write_bytes(data(before) if callable(data) else data)

    return change


def _in_place(make: Callable[[World, Path], object]) -> Change:
    def change(world: World, path: Path) -> None:
        path.unlink(missing_ok=True)
        make(world, path)

    return change


def _canary(world: World) -> Path:
    return world.write("home/credentials", f"The secret is {world.canary}.")


def _sparse(world: World, path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(5_000_000_000)


def _manifest(**fields: object) -> Change:
    def change(world: World, path: Path) -> None:
        whole = json.loads((path.parent / "manifest.json").read_bytes())
        path.write_text(json.dumps({**whole, **fields}), "utf-8")

    return change


CHANGES: dict[str, Change] = {
    "deleted": lambda world, path: path.unlink(missing_ok=True),
    "a FIFO": _in_place(lambda world, path: os.mkfifo(path)),
    "a folder": _in_place(lambda world, path: path.mkdir()),
    "a folder with a file": _in_place(lambda world, path: world.write(path / "x", "x")),
    "a link to zeros": _in_place(lambda world, path: path.symlink_to("/dev/zero")),
    "a link to a full device": _in_place(lambda world, path: path.symlink_to("/dev/full")),
    "a link to a secret": _in_place(lambda world, path: path.symlink_to(_canary(world))),
    "a link to nothing": _in_place(lambda world, path: path.symlink_to(world.root / "home/new file")),
    "a link to itself": _in_place(lambda world, path: path.symlink_to(path.name)),
    "a link to the environment": _in_place(lambda world, path: path.symlink_to("/proc/self/environ")),
    "a link to a terminal": _in_place(lambda world, path: path.symlink_to("/dev/tty")),
    "sparse": _sparse,
    "empty": _content(b""),
    "zeros": _content(bytes(100_000)),
    "cut": _content(lambda data: data[: len(data) // 2]),
    "doubled": _content(lambda data: data * 2),
    "not text": _content(bytes(range(256)) * 40),
    "JSON, nested": _content(b"[" * 200_000),
    "JSON, long": _content(b'{"roots": {"' + b"x" * 60_000_000 + b'": "folder"}}'),
    "JSON of numbers": _content(b'{"format": ' + b"9" * 100_000 + b', "dimension": 1e999}'),
    "another format": _manifest(format=10**30),
    "another dimension": _manifest(dimension=-1),
    "a huge dimension": _manifest(dimension=2**62),
    "an embedding of controls": _manifest(embedding="".join(UNSHOWN.values()).encode("utf-8", "replace").decode()),
    "roots elsewhere": _manifest(roots={"/proc/self": "folder", "/dev/zero": "file", "..": "folder", "%00": "file"}),
    "roots of controls": _manifest(roots={f"/{text}": "folder" for text in UNSHOWN.values() if text.isprintable()}),
    "passages many": _manifest(
        vectors={"sha256": "0" * 64, "passages": 2**62, "reached": {"passage": 1, "removal": 0}}
    ),
    "bytes exchanged": lambda world, path: None,  # as `tests.stress.bit_flips` does it, below
    "closed": lambda world, path: path.chmod(0) if path.is_file() else None,
    "an index of faiss's that is none": _content(b"IxFI" + bytes([255] * 200)),
    "a pickle": _content(b"cos\nsystem\n(S'touch pickled'\ntR."),
    "a database header alone": _content(b"SQLite format 3\0" + bytes([255] * 84)),
}
READS: dict[str, tuple[tuple[str, ...], ...]] = {
    "asked": ((QUESTION, "--json"),),
    "listed": (("index", "--list"), (QUESTION, "--quiet")),
    "verified": (("index", "--verify"), (QUESTION, "--json")),
    "indexed": (("index",), (QUESTION, "--json")),
    "asked, on a terminal": ((QUESTION,),),
}


def _play(world: World, reads: tuple[tuple[str, ...], ...], terminal: bool) -> None:
    for words in reads:
        world.run(*words, seconds=20, terminal=terminal)


def _file(world: World, dice: Random, name: str, change: Change, reads: tuple[tuple[str, ...], ...]) -> None:
    change(world, world.library / name)
    if change is CHANGES["bytes exchanged"]:
        harm(world.library, dice.randrange(10_000), dice.randrange(10_000), [world.library])
    _play(world, reads, reads is READS["asked, on a terminal"])


INDEX_FILES = Surface("index files", (FILES, CHANGES, READS), _file)

CONTROLS = "".join(text for name, text in UNSHOWN.items() if name != "surrogate")
MILLION = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000) SELECT x FROM n"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"
STATEMENTS: dict[str, tuple[str, ...]] = {
    **{
        f"{table}, an endless view": (
            "PRAGMA foreign_keys = OFF",
            f"ALTER TABLE {table} RENAME TO was",
            f"CREATE VIEW {table} AS {ENDLESS} x AS id, x AS document, x AS text, x AS key, x AS value, x AS path, "
            "x AS kind, x AS seal, x AS passage, x AS vector, x AS hash, x AS number, x AS status, x AS passages, "
            "x AS origin, x AS name, x AS reason, x AS size, x AS mtime_ns, x AS sha256, x AS date, x AS page, "
            'x AS row, x AS "offset", x AS extra FROM n',
        )
        for table in ("passages", "documents", "vectors", "meta", "roots", "removed", "spare_vectors")
    },
    **{
        f"{table}, a view of itself": (
            f"ALTER TABLE {table} RENAME TO was",
            f"CREATE VIEW {table} AS SELECT * FROM was",
        )
        for table in ("passages", "documents", "vectors", "meta", "roots")
    },
    **{
        f"{table}, a trigger": (
            f"CREATE TRIGGER bad AFTER {event} ON {table} BEGIN INSERT INTO removed (passage) {ENDLESS} x FROM n; END",
        )
        for table, event in (("meta", "UPDATE"), ("meta", "INSERT"), ("documents", "UPDATE"), ("documents", "INSERT"))
    },
    "a view more": (f"CREATE VIEW more AS {ENDLESS} x FROM n",),
    "a table more": ("CREATE TABLE more (x)", "INSERT INTO more VALUES (zeroblob(100000000))"),
    "a generated column": (
        "ALTER TABLE documents ADD COLUMN bad TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000))) VIRTUAL",
    ),
    "an index on an expression": ("CREATE INDEX bad ON passages (hex(zeroblob(length(text) * 1000000)))",),
    "a check that is costly": ("ALTER TABLE meta ADD COLUMN bad CHECK (length(hex(zeroblob(300000000))) > 0)",),
    "text a blob": ("UPDATE passages SET text = zeroblob(40000000)",),
    "text a huge text": ("UPDATE passages SET text = hex(zeroblob(20000000))",),
    "text not UTF-8": ("UPDATE passages SET text = CAST(x'fffe80' AS TEXT)",),
    "text null": (
        "PRAGMA ignore_check_constraints = ON",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'text TEXT NOT NULL', 'text TEXT')",
        "UPDATE passages SET text = NULL",
    ),
    "numbers that are texts": ("UPDATE passages SET page = 'x', row = 'y', \"offset\" = 'z', date = 5, extra = 'q'",),
    "numbers huge": ('UPDATE passages SET page = 9223372036854775807, row = -9223372036854775808, "offset" = 1e300',),
    "extra nested": (f"UPDATE passages SET extra = '{'[' * 100_000}'",),
    "counts huge": ("UPDATE documents SET passages = 9223372036854775807, size = -1, mtime_ns = 9223372036854775807",),
    "counts texts": ("UPDATE documents SET passages = 'many', size = 'large'",),
    "reasons of controls": (f"UPDATE documents SET status = 'failed', passages = 0, reason = '{CONTROLS}'",),
    "paths of controls": (f"UPDATE documents SET path = CAST('/{CONTROLS}' || id AS BLOB)",),
    "paths texts": ("UPDATE documents SET path = CAST(path AS TEXT)",),
    "a path elsewhere": ("UPDATE documents SET path = CAST('/proc/self/environ' AS BLOB) WHERE id = 1",),
    "a date of controls": ("UPDATE documents SET date = char(10) || 'error: FORGED.' || char(27, 155)",),
    "roots elsewhere": ("INSERT INTO roots VALUES (CAST('/proc/self' AS BLOB), 'folder', 0)",),
    "meta huge": ("UPDATE meta SET value = hex(zeroblob(5000000))",),
    "meta of digits": (f"UPDATE meta SET value = '{'9' * 5_000}'",),
    "meta negative": ("UPDATE meta SET value = '-1'",),
    "meta of controls": ("UPDATE meta SET value = char(27) || '[31m' || char(10) || 'error: FORGED.'",),
    "meta many": (f"INSERT OR REPLACE INTO meta SELECT 'k' || x, 'v' FROM ({MILLION})",),
    "meta none": ("DELETE FROM meta",),
    "vectors short": ("UPDATE vectors SET vector = x'00'",),
    "vectors long": ("UPDATE vectors SET vector = zeroblob(20000000)",),
    "vectors NaN": ("UPDATE vectors SET vector = CAST(replace(hex(vector), '00', 'FF') AS BLOB)",),
    "sequence at its end": ("UPDATE sqlite_sequence SET seq = 9223372036854775807",),
    "another version": ("PRAGMA user_version = 2147483647",),
    "another application": ("PRAGMA application_id = 1", "PRAGMA user_version = 0"),
    "another encoding": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'unicode61', 'none') WHERE name = 'words'",
    ),
    "words rebuilt of nothing": ("DROP TABLE words",),
    "words a table": (
        "DROP TRIGGER passage_added",
        "DROP TRIGGER passage_removed",
        "DROP TABLE words",
        "CREATE TABLE words (rowid INTEGER PRIMARY KEY, text, words, rank)",
    ),
    "words a view": (
        "DROP TRIGGER passage_added",
        "DROP TRIGGER passage_removed",
        "DROP TABLE words",
        f"CREATE VIEW words AS {ENDLESS} x AS rowid, x AS text, x AS words, x AS rank FROM n",
    ),
    "words of an endless content": (
        "DROP TRIGGER passage_added",
        "DROP TRIGGER passage_removed",
        "DROP TABLE words",
        f"CREATE VIEW endless AS {ENDLESS} x AS id, x AS text FROM n",
        "CREATE VIRTUAL TABLE words USING fts5 (text, content = 'endless', content_rowid = 'id')",
    ),
    "a schema that is none": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE meta (' || hex(zeroblob(1000000))  WHERE name = 'meta'",
    ),
    "a virtual table more": ("CREATE VIRTUAL TABLE more USING fts5vocab('words', 'row')",),
    "journal in another mode": ("PRAGMA journal_mode = DELETE",),
    "pages of another size": ("PRAGMA journal_mode = DELETE", "PRAGMA page_size = 65536", "VACUUM"),
    "a million documents": (
        "INSERT INTO documents (path, origin, status, seal) SELECT CAST('/x' || x AS BLOB), 'file', 'empty', 0 FROM "
        "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 300000) SELECT x FROM n)",
    ),
}


def _edited(world: World, dice: Random, statements: tuple[str, ...], reads: tuple[tuple[str, ...], ...]) -> None:
    database = world.library / "index.sqlite"
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, False)
        for statement in statements:
            with suppress(sqlite3.Error):
                connection.execute(statement)
    shutil.rmtree(world.root / "tmp")
    (world.root / "tmp").mkdir()
    _play(world, reads, reads is READS["asked, on a terminal"])


DATABASE = Surface("database", (STATEMENTS, READS), _edited)
