"""How much faster four workers read than one, where embedding is what takes time.

    python -m benchmarks.workers [--files 1000] [--sleep 50]

Each file is a passage; the embedding model sleeps ``--sleep`` milliseconds for each text, as a remote one that is
waited for. Processes read the same files into a library in a PostgreSQL of their own: one, then four, from their first
file to the last. It writes ``bench/workers_speed.json``.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import option_parser, write_figures
from benchmarks.postgres_server import started_server
from retrieval.library.library import Library, open_store
from retrieval.library.worker import Worker
from retrieval.splitter import SplitSettings
from retrieval.store import Machine, Model
from tests.unit.retrieval.fakes import BagOfWords

COUNTS = (1, 4)
PROCESSES = multiprocessing.get_context("forkserver")


class SleepingModel(BagOfWords):
    """A model that takes its time for each text."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Wait, and embed."""
        time.sleep(self.seconds * len(texts))
        return super().embed_documents(texts)


def open_library(url: str, seconds: float) -> Library:
    """Open the library with the model that sleeps."""
    store = open_store(url, "library", Model(SleepingModel(seconds), "sleeping"), machine=Machine("here"))
    return Library(store, SplitSettings())


def work(url: str, seconds: float, begin: Any) -> None:
    """Read files until none is waiting."""
    with open_library(url, seconds) as library:
        begin.wait()
        with Worker(library.store, library.require_queue(), library.settings, "worker") as worker:
            while worker.step():
                pass


def measured(url: str, folder: Path, seconds: float, count: int) -> float:
    """Return the seconds in which so many workers read the folder."""
    with open_library(url, 0) as library:
        library.add([folder])
        library.enqueue()
        begin = PROCESSES.Barrier(count + 1)
        workers = [PROCESSES.Process(target=work, args=(url, seconds, begin)) for _ in range(count)]
        for worker in workers:
            worker.start()
        begin.wait()
        began = time.monotonic()
        for worker in workers:
            worker.join()
        if library.require_queue().waiting():
            raise RuntimeError("files were left unread")
        return time.monotonic() - began


def main() -> None:
    """Measure, print, write."""
    options = option_parser(__doc__, files=1000, sleep=50).parse_args()
    PROCESSES.set_forkserver_preload(["benchmarks.workers"])
    seconds: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "documents"
        folder.mkdir()
        for number in range(options.files):
            (folder / f"{number:05}.txt").write_text(f"File {number} says {number * 7919}.")
        for count in COUNTS:
            with started_server() as server:
                seconds[count] = measured(server.get_uri(), folder, options.sleep / 1_000, count)
            print(f"{count} workers: {seconds[count]:.1f} s, {seconds[COUNTS[0]] / seconds[count]:.2f} times as fast")
    write_figures("workers_speed", {"files": options.files, "seconds": seconds})


if __name__ == "__main__":
    main()
