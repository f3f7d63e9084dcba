"""Kill indexing at random moments; check that the index is readable and lost nothing that was committed.

    python -m tests.stress.index_kills [--kills 200] [--seed 1]

Each life is a process that brings one index in step with a folder of documents of seven kinds, which between the
lives grows, changes and shrinks, and with a second folder, which some lives then remove. Most lives get SIGKILL at a
moment drawn evenly over the time that the last whole life took; one in ten while it saves the vector file, one in ten
while it removes the second folder. A file counts as acknowledged once another process has seen its record in the
database. After each life a copy of the index is opened, compared, asked, synced and verified; the next life goes on
from the index as it was left. It writes ``bench/index_kills.json`` and ends with 1 if anything was violated.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from benchmarks.harness import listed, option_parser, show_progress
from retrieval.index.schema import Snapshot
from retrieval.index.vector_file import VectorIndex
from retrieval.library.library import Library
from tests.stress.folder import Folder
from tests.stress.harness import PROCESSES, Tally, ended_alone, start
from tests.stress.inspection import Expected, inspect, records_in
from tests.unit.retrieval.fakes import BagOfWords

HUNG_SECONDS = 120.0
EXTRA = 15  # documents in the second folder


def main() -> None:
    options = option_parser(__doc__, kills=200, seed=1).parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # FAISS's threads wait for each other, however little they have to do
    PROCESSES.set_forkserver_preload(["tests.stress.inspection", "faiss"])
    with tempfile.TemporaryDirectory() as folder:
        tally = Killer(Path(folder), Random(options.seed)).kill(options.kills)
    rows = [
        ("kills", f"{tally.kills} in {tally.lives} lives"),
        ("phases that a kill struck", listed(tally.struck)),
        ("files looked for again", f"{tally.counts['acknowledged']:,}"),
    ]
    tally.conclude("index_kills", rows, seed=options.seed)


@dataclass
class Killer:
    """One index, its two folders, and the records known to be committed."""

    folder: Path
    dice: Random
    tally: Tally = field(default_factory=Tally)
    acknowledged: dict[str, str] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)  # seconds of each phase when nothing killed it

    def __post_init__(self) -> None:
        self.home = self.folder / "index"
        self.documents, self.extra = Folder(self.folder / "documents", "a"), Folder(self.folder / "extra", "b")

    def kill(self, kills: int) -> Tally:
        """Run undisturbed first to measure durations; then until ``kills`` processes were killed."""
        for number in range(1, EXTRA + 1):
            self.extra.add(number)
        for _ in range(3):
            self.documents.turn(self.dice)
        self.one(None)
        self.one(None, remove=True)
        while self.tally.kills < kills:
            aim = self.dice.choices(("index", "save", "remove"), (8, 1, 1))[0]
            self.one(aim, remove=aim == "remove")
            show_progress(f"{self.tally.kills} kills, {self.tally.lives} lives")
        self.one(None)
        return self.tally

    def one(self, aim: str | None, *, remove: bool = False) -> None:
        """Run one life, killed in the phase that is aimed at if any, and inspect a copy of the index that it leaves."""
        self.documents.turn(self.dice)
        tally, found = self.tally, self.live(aim, remove=remove)
        tally.lives += 1
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        if self.home.exists():
            shutil.copytree(self.home, copy)
            on_disk, known = self.documents.hashes() | self.extra.hashes(), self.documents.known() | self.extra.known()
            removable = set(self.extra.hashes()) if remove else set()
            self.acknowledged, wrong = inspect(copy, Expected(self.acknowledged, on_disk, removable, known), self.dice)
            tally.counts["acknowledged"] += len(self.acknowledged)
            found += wrong
        tally.violated += [f"life {tally.lives}, aimed at {aim}: {text}" for text in found]

    def live(self, aim: str | None, *, remove: bool) -> list[str]:
        """Run one process and remember the records that are seen meanwhile, half of the time; return violations."""
        told, telling = PROCESSES.Pipe(duplex=False)
        process = start(index, self.home, self.documents.path, self.extra.path, remove, telling)
        telling.close()
        with told:
            moments = phases(told, aim)
            until = time.monotonic() + (self.dice.uniform(0, self.took[aim]) if aim else HUNG_SECONDS)
            if aim == "index" and self.dice.random() < 0.5:
                self.watch(process, until)
            alone = ended_alone(process, max(0.0, until - time.monotonic()))
            moments |= phases(told, None)
        if not alone and aim:
            self.tally.kills += 1
            self.tally.struck[aim] += 1
            return []
        self.took |= {name: moments[f"after {name}"] - at for name, at in moments.items() if f"after {name}" in moments}
        return [f"it hung or ended with {process.exitcode}"] if process.exitcode else []

    def watch(self, process: Any, until: float) -> None:
        while time.monotonic() < until and process.is_alive():
            self.acknowledged |= records_in(self.home / "index.sqlite")
            process.join(0.01)


def phases(told: Connection, aim: str | None) -> dict[str, float]:
    """When each phase began and ended, up to the beginning of the one that is aimed at, if any."""
    moments: dict[str, float] = {}
    with suppress(EOFError, OSError):
        while aim not in moments and told.poll(HUNG_SECONDS):
            phase, moment = told.recv()
            moments[phase] = moment
    return moments


def index(home: Path, documents: Path, extra: Path, remove: bool, parent: Connection) -> None:
    """Index both folders; then remove the second from the library if ``remove``; say when each phase begins, ends."""
    save = VectorIndex.save

    @contextmanager
    def within(phase: str) -> Iterator[None]:
        parent.send((phase, time.monotonic()))
        yield
        parent.send((f"after {phase}", time.monotonic()))

    def told_save(vectors: VectorIndex, snapshot: Snapshot) -> Any:
        with within("save"):
            return save(vectors, snapshot)

    with (
        patch.object(VectorIndex, "save", told_save),
        within("index"),
        Library.open(home, BagOfWords(), embedding_name="bow") as library,
    ):
        library.add([documents, extra])
        library.sync()
        if remove:
            with within("remove"):
                library.remove(extra)


if __name__ == "__main__":
    main()
