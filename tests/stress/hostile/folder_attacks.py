"""Attack folder discovery with unexpected names, links and special files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.stress.hostile.hostile_texts import UNSHOWN
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World

Entry = Callable[[World, Path], None]
TENANT = "The tenant pays the monthly rent on Friday. {}"


def _file(world: World, path: Path) -> None:
    path.write_text(TENANT.format("So it says here."), "utf-8")


def _secret(world: World) -> Path:
    return world.write("home/credentials", TENANT.format(f"The secret is {world.canary}."))


def _link(where: Callable[[World], object]) -> Entry:
    return lambda world, path: path.symlink_to(str(where(world)))


def _chain(world: World, path: Path) -> None:
    last = _secret(world)
    for number in range(20):
        step = world.root / f"docs/step{number}"
        step.symlink_to(last)
        last = step
    path.symlink_to(last)


def _hard_link(world: World, path: Path) -> None:
    path.hardlink_to(world.docs / "lease.md")


def _relative(world: World, path: Path) -> None:
    _secret(world)
    path.symlink_to("../home/credentials")


def _folder_outside(world: World, path: Path) -> None:
    _secret(world).rename(world.home / "credentials.txt")
    path.symlink_to(world.home)


def _socket(world: World, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, suppress(OSError):
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            listening.bind(path.name)
        finally:
            os.chdir(here)


def _closed(world: World, path: Path) -> None:
    _file(world, path)
    path.chmod(0)


def _sparse(world: World, path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(4_000_000_000)


def _deep(world: World, path: Path) -> None:
    deep = path.joinpath(*["deep"] * 300)
    deep.mkdir(parents=True)
    _file(world, deep / "deep.txt")


def _many(world: World, path: Path) -> None:
    path.mkdir()
    for number in range(1_500):
        (path / f"{number}.txt").write_text(f"It is {number}.")


def _device(world: World, path: Path) -> None:
    try:
        os.mknod(path, 0o20666, os.makedev(1, 5))
    except OSError:
        path.symlink_to("/dev/zero")


ENTRIES: dict[str, Entry] = {
    "a file": _file,
    "a link to a secret": _link(_secret),
    "a relative link to a secret": _relative,
    "twenty links to a secret": _chain,
    "a link to a folder outside": _folder_outside,
    "a link to itself": lambda world, path: path.symlink_to(path.name),
    "a link to the environment": _link(lambda world: "/proc/self/environ"),
    "a link to a descriptor": _link(lambda world: "/proc/self/fd/0"),
    "a link to the memory": _link(lambda world: "/proc/self/mem"),
    "a link to proc": _link(lambda world: "/proc/self"),
    "a link to zeros": _link(lambda world: "/dev/zero"),
    "a link to a terminal": _link(lambda world: "/dev/tty"),
    "a link to the system": _link(lambda world: "/sys/kernel/notes"),
    "a link to the index": _link(lambda world: world.library / "index.sqlite"),
    "a link to the settings": lambda world, path: path.symlink_to(
        world.write("work/.env", f"OPENAI_API_KEY={world.key}\n")
    ),
    "a hard link": _hard_link,
    "a FIFO": lambda world, path: os.mkfifo(path),
    "a socket": _socket,
    "a device": _device,
    "a closed file": _closed,
    "a sparse file": _sparse,
    "a folder": lambda world, path: path.mkdir(),
    "a deep folder": _deep,
    "many files": _many,
}
NAMES: dict[str, str] = {
    "plain": "plain",
    **UNSHOWN,
    "255 bytes": "n" * 250,
    "no text": os.fsdecode(b"\xff\xfe\x80"),
    "dash": "--help",
    "spaces": "  a  ",
    "quotes": "'\"`$(id)`",
    "pattern": "[a*?]",
    "dots": "....",
    "percent": "%s%00%n{}",
}
SUFFIXES = {one or "none": one for one in (".txt", ".md", ".csv", ".html", ".jsonl", ".pdf", "")}
WAYS: dict[str, Callable[[World, Path], str]] = {
    "in a folder": lambda world, path: str(world.docs),
    "by name": lambda world, path: str(path),
}


def _folder(
    world: World, dice: Random, entry: Entry, name: str, suffix: str, way: Callable[[World, Path], str]
) -> None:
    path = world.docs / (name.replace("\0", "").replace("/", "∕") + suffix)
    entry(world, path)
    kernel = ("/proc", "/dev", "/sys")  # nothing of these is a document, whoever names it
    if path.is_symlink() and not str(path.readlink()).startswith(kernel):
        way = WAYS["in a folder"]  # who names a link names what it leads to
    named = way(world, path)
    for words in (("index", named), ("index", "--list"), (QUESTION,), (QUESTION, "--docs", named, "--json")):
        world.run(*words, seconds=20)
    if dice.random() < 0.3:
        world.run(QUESTION, "--docs", named, terminal=True, seconds=20)


FOLDERS = Surface("folders", (ENTRIES, NAMES, SUFFIXES, WAYS), _folder)
