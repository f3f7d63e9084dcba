"""Attack folder discovery with unexpected names, links and special files."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from tests.stress.hostile.files import LINKS, PLACED, place
from tests.stress.hostile.strategies import as_given, unshown
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World

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
