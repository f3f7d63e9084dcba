"""Attack folder discovery with unexpected names, links and special files, and what commands leave on the disk."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.stress.hostile.child_process import from_python
from tests.stress.hostile.files import LINKS, PLACED, REAL, place
from tests.stress.hostile.strategies import as_given, unshown
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, QUESTIONS, World

RENT = "The tenant pays the monthly rent on Friday. So it says here."


def _socket(world: World, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, suppress(OSError):
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's path must be short
        try:
            listening.bind(path.name)
        finally:
            os.chdir(here)


def _deep(world: World, path: Path) -> None:
    deep = path.joinpath(*["deep"] * 300)
    deep.mkdir(parents=True)
    (deep / "deep.txt").write_text(RENT)


def _many(world: World, path: Path) -> None:
    path.mkdir()
    for number in range(1_500):
        (path / f"{number}.txt").write_text(f"It is {number}.")


ENTRIES: dict[str, Callable[[World, Path], object]] = {
    **{name: partial(place, what=name) for name in (*LINKS, *PLACED)},
    "a file": lambda world, path: path.write_text(RENT, "utf-8"),
    "a link to the settings": lambda world, path: path.symlink_to(
        world.write("work/.env", f"OPENAI_API_KEY={world.key}\n")
    ),
    "a hard link": lambda world, path: path.hardlink_to(world.docs / "lease.md"),
    "a device": lambda world, path: os.mknod(path, 0o20666, os.makedev(1, 5)),
    "a socket": _socket,
    "a deep folder": _deep,
    "many files": _many,
}
NAMES = st.sampled_from(("plain", "n" * 250, "--help", "  a  ", "'\"`$(id)`", "[a*?]", "....", "%s%00%n{}")) | (
    unshown().map(lambda text: as_given(text).replace("/", "∕"))
)
SUFFIXES = (".txt", ".md", ".csv", ".html", ".jsonl", ".pdf", "")


def _folder(world: World, dice: Random, entry: str, name: str, suffix: str, by_name: bool) -> None:
    path = world.docs / (name + suffix)
    try:
        ENTRIES[entry](world, path)
    except PermissionError:  # only root makes devices
        return
    kernel = ("/proc", "/dev", "/sys")  # nothing of these is a document, whoever names it
    if path.is_symlink() and not str(path.readlink()).startswith(kernel):
        by_name = False  # who names a link names what it leads to
    named = str(path if by_name else world.docs)
    for words in (("index", named), ("index", "--list"), (QUESTION,), (QUESTION, "--docs", named, "--json")):
        world.run(*words, seconds=20)
    if dice.random() < 0.3:
        world.run(QUESTION, "--docs", named, terminal=True, seconds=20)


FOLDERS = Surface(
    "folders", st.tuples(st.sampled_from(sorted(ENTRIES)), NAMES, st.sampled_from(SUFFIXES), st.booleans()), _folder
)

COMMANDS: dict[str, Callable[[World], list[str]]] = {
    "ask": lambda world: [QUESTION, "--docs", str(world.docs), "--json"],
    "ask the library": lambda world: [QUESTION],
    "index": lambda world: ["index", str(world.docs)],
    "verify": lambda world: ["index", "--verify"],
    "list": lambda world: ["index", "--list"],
    "remove": lambda world: ["index", "--remove", str(world.docs)],
    "eval": lambda world: ["eval", str(world.write("home/set.jsonl", QUESTIONS)), "--docs", str(world.docs), "--judge"],
    "draw": lambda world: ["graph", "--output", "graph.svg"],
    "Python": lambda world: [],
}


def _chmod(world: World, folders: int, files: int) -> None:
    for path in (world.kept, *world.kept.rglob("*")):
        if not path.is_symlink():
            path.chmod(folders if path.is_dir() else files)


def _linked(world: World) -> None:
    world.kept.rename(world.home / "elsewhere")
    world.kept.symlink_to(world.home / "elsewhere")


def _elsewhere(world: World, *names: str, value: str) -> None:
    world.environment |= dict.fromkeys(names, value.format(key=world.key, port=world.other.port))


def _traced(world: World) -> None:
    _elsewhere(world, "LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", value="true")
    _elsewhere(world, "LANGSMITH_API_KEY", value="{key}")
    _elsewhere(world, "LANGSMITH_ENDPOINT", value="http://127.0.0.1:{port}")


PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy")
HOMES: dict[str, Callable[[World], object]] = {
    "as it is": lambda world: None,
    "opened to all": lambda world: _chmod(world, 0o755, 0o644),
    "read-only": lambda world: _chmod(world, 0o500, 0o400),
    "linked": _linked,
    "a document changed": lambda world: world.write("docs/lease.md", RENT),
    "documents moved": lambda world: world.docs.rename(world.root / "moved"),
    "libraries moved": lambda world: (world.kept / "libraries").rename(world.root / "moved"),
    "traced": _traced,
    "proxies": lambda world: _elsewhere(world, *PROXIES, value="http://127.0.0.1:{port}"),
}


def _keep(world: World, dice: Random, command: str, umask: int, home: str) -> None:
    words = COMMANDS[command](world)
    HOMES[home](world)
    may_write = [world.work / "graph.svg", world.home / "elsewhere"]
    more: dict[str, Any] = {"umask": umask, "may_write": may_write, "seconds": 30, **REAL}
    if words:
        world.run(*words, **more)
    else:
        world.call(from_python, QUESTION, str(world.docs), **more)


MASKS = (0o022, 0o000, 0o077, 0o777)
KEPT = Surface(
    "kept", st.tuples(st.sampled_from(sorted(COMMANDS)), st.sampled_from(MASKS), st.sampled_from(sorted(HOMES))), _keep
)
