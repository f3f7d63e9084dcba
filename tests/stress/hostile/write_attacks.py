"""Attack what each command leaves on disk: umasks, and homes that were moved, linked or opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.stress.hostile.child_process import from_python
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, QUESTIONS, World

COMMANDS: dict[str, Callable[[World], list[str]]] = {
    "ask": lambda world: [QUESTION, "--docs", str(world.docs), "--json"],
    "ask the library": lambda world: [QUESTION],
    "index": lambda world: ["index", str(world.docs)],
    "verify": lambda world: ["index", "--verify"],
    "list": lambda world: ["index", "--list"],
    "remove": lambda world: ["index", "--remove", str(world.docs)],
    "eval": lambda world: ["eval", str(world.write("home/set.jsonl", QUESTIONS)), "--docs", str(world.docs), "--judge"],
    "graph": lambda world: ["graph"],
    "draw": lambda world: ["graph", "--output", "graph.svg"],
    "help": lambda world: ["--help"],
    "Python": lambda world: [],
}
MASKS = {f"umask {mask:03o}": mask for mask in (0o022, 0o000, 0o077, 0o777)}


def _nothing(world: World) -> None:
    pass


def _opened(world: World) -> None:
    for folder, folders, names in os.walk(world.kept):
        folders[:] = [one for one in folders if not Path(folder, one).is_symlink()]
        Path(folder).chmod(0o755)
        for name in names:
            Path(folder, name).chmod(0o644)


def _linked(world: World) -> None:
    world.kept.rename(world.home / "elsewhere")
    world.kept.symlink_to(world.home / "elsewhere")


def _changed(world: World) -> None:
    world.write("docs/lease.md", "The tenant pays the monthly rent on Friday.")


def _moved(world: World) -> None:
    world.docs.rename(world.root / "moved")


def _gone(world: World) -> None:
    (world.kept / "libraries").rename(world.root / "moved")


def _read_only(world: World) -> None:
    for path in (world.kept / "libraries").rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)


def _tracing(world: World) -> None:
    world.environment |= {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": world.key, "LANGCHAIN_TRACING_V2": "true"}
    world.environment["LANGSMITH_ENDPOINT"] = f"http://127.0.0.1:{world.other.port}"


def _proxies(world: World) -> None:
    proxy = f"http://127.0.0.1:{world.other.port}"
    world.environment |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"), proxy)


HOMES: dict[str, Callable[[World], None]] = {
    "as it is": _nothing,
    "opened to all": _opened,
    "linked": _linked,
    "a document changed": _changed,
    "documents moved": _moved,
    "libraries moved": _gone,
    "read-only": _read_only,
    "traced": _tracing,
    "proxies": _proxies,
}


def _keep(
    world: World, dice: Random, command: Callable[[World], list[str]], mask: int, home: Callable[[World], None]
) -> None:
    words = command(world)
    home(world)
    may_write = [world.work / "graph.svg", world.home / "elsewhere"]
    more: dict[str, Any] = {"umask": mask, "may_write": may_write, "seconds": 30}
    more |= {"real_embeddings": True, "memory": 6_000_000_000}
    if words:
        world.run(*words, **more)
    else:
        world.call(from_python, QUESTION, str(world.docs), **more)


KEPT = Surface("kept", (COMMANDS, MASKS, HOMES), _keep)
