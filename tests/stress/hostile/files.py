"""Attack the files of an index, and put other things in their place."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.stress.hostile.strategies import HARMS, as_json, changed, changes
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World

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


DAMAGE = st.one_of(
    st.tuples(st.just("in its place"), st.sampled_from(sorted({*PLACED, *LINKS}))),
    st.tuples(st.just("bytes"), st.sampled_from(sorted(HARMS))),
    st.tuples(st.just("JSON"), changes()),
)


INDEX = (
    *("index.sqlite", "vectors.faiss", "manifest.json", "writer.lock", "writer.json", "index.sqlite-wal", "other"),
    *("index.sqlite-shm", "index.sqlite-journal", "manifest.json.1.partial", "index.sqlite.damaged-1"),
)
READS: dict[str, tuple[tuple[str, ...], ...]] = {
    "asked": ((QUESTION, "--json"),),
    "listed": (("index", "--list"), (QUESTION, "--quiet")),
    "verified": (("index", "--verify"), (QUESTION, "--json")),
    "indexed": (("index",), (QUESTION, "--json")),
}


def _index_file(world: World, dice: Random, name: str, how: tuple[str, Any], reads: str) -> None:
    path, (kind, given) = world.library / name, how
    data = path.read_bytes() if path.is_file() else b"{}"
    if kind == "in its place":
        place(world, path, given)
    elif kind == "bytes":
        path.write_bytes(HARMS[given](data))
    else:
        with suppress(ValueError):
            path.write_bytes(as_json(changed(json.loads(data), given), world.key))
    for words in READS[reads]:
        world.run(*words, seconds=20)


INDEX_FILES = Surface(
    "index files", st.tuples(st.sampled_from(INDEX), DAMAGE, st.sampled_from(sorted(READS))), _index_file
)
