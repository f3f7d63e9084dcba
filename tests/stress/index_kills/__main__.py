"""Kill indexing at random moments; check that the index is readable and lost nothing that was committed.

    python -m tests.stress.index_kills [--kills 200] [--seed 1]

Each life is a process that brings one index in step with a folder of documents of seven kinds, which between the lives
grows, changes and shrinks, and with a second folder, which some lives then remove. Most lives get SIGKILL at a moment
drawn evenly over the time that the last whole life took; one in ten at its start, one in ten while it saves the vector
file, one in ten while it removes the second folder. A file counts as acknowledged once another process has seen its
record in the database. After each life a copy of the index is opened, compared and asked; the next life goes on from
the index as it was left. After every tenth life, and where the vector file was being saved, the copy is synced and
verified. Linux only: orphaned readers are waited for.
It writes ``bench/index_kills.json`` and ends with 1 if anything was violated.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.harness import aligned, end, end_progress, listed, option_parser, show_progress
from tests.stress.folder import Folder
from tests.stress.index_kills.indexer import FAILED, live
from tests.stress.index_kills.inspection import Expected, Inspected, inspect, records_in
from tests.stress.index_kills.orphans import adopt, children, survivors

HUNG_SECONDS = 120.0
ORPHAN_SECONDS = 10.0
START_SECONDS = 0.03
EXTRA = 15  # documents in the second folder
PROCESSES = multiprocessing.get_context("forkserver")


@dataclass
class Tally:
    """Counts over all child processes."""

    kills: int = 0
    lives: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    aims: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    asked: int = 0
    useless_files: int = 0
    whole_checks: int = 0
    violated: list[str] = field(default_factory=list)


@dataclass
class Life:
    """One child process: its phases, the records seen in the database meanwhile, and its duration."""

    phases: list[str]
    seen: dict[str, str]
    seconds: float
    killed: bool
    hung: bool


def main() -> None:
    """Kill, inspect, count, print."""
    options = option_parser(__doc__, kills=200, seed=1).parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # FAISS's threads wait for each other, however little they have to do
    PROCESSES.set_forkserver_preload(["tests.stress.index_kills.indexer", "faiss"])
    forkserver.ensure_running()  # it and its tracker are no orphans
    adopt()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tally = Killer(Path(folder), Random(options.seed)).kill(options.kills)
    figures = {
        "kills": tally.kills,
        "lives": tally.lives,
        "aims": dict(tally.aims),
        "phases": dict(tally.phases),
        "acknowledged": tally.acknowledged,
        "asked": tally.asked,
        "vector_files_behind": tally.useless_files,
        "synced_and_verified": tally.whole_checks,
        "violations": len(tally.violated),
        "violated": tally.violated[:40],
        "seed": options.seed,
        "seconds": time.perf_counter() - began,
    }
    print(table(figures))
    end("index_kills", figures, tally.violated)


class Killer:
    """One index, its two folders, and the records known to be committed."""

    def __init__(self, folder: Path, dice: Random) -> None:
        self.home, self.copy = folder / "index", folder / "copy"
        self.documents, self.extra = Folder(folder / "documents", "a"), Folder(folder / "extra", "b")
        self.dice = dice
        self.tally = Tally()
        self.acknowledged: dict[str, str] = {}
        self.span = self.saving = self.removing = 0.0

    def kill(self, kills: int) -> Tally:
        """Run undisturbed first to measure durations; then until ``kills`` processes were killed."""
        for number in range(1, EXTRA + 1):
            self.extra.add(number)
        for _ in range(3):
            self.turn()
        self.one("none", remove=False)
        self.one("none", remove=True)
        while self.tally.kills < kills:
            aim = self.dice.choices(("evenly", "start", "save", "remove"), (7, 1, 1, 1))[0]
            self.one(aim, remove=aim == "remove")
            show_progress(f"{self.tally.kills} kills, {self.tally.lives} lives")
        self.one("none", remove=False)
        end_progress()
        return self.tally

    def turn(self) -> None:
        """Change the documents."""
        self.documents.turn(self.dice)

    def one(self, aim: str, *, remove: bool) -> None:
        """Run one child process and inspect the index that it leaves."""
        tally, known = self.tally, children()
        self.turn()
        life = self.live(aim, remove=remove)
        tally.lives += 1
        tally.kills += life.killed
        self.acknowledged |= life.seen
        if life.killed:
            tally.aims[aim] += 1
            tally.phases[life.phases[-1] if life.phases else "before the first"] += 1
        elif not life.hung and not remove:
            self.span = life.seconds
        violated = [f"a process that read documents outlives it: {one}" for one in survivors(known, ORPHAN_SECONDS)]
        violated += [phase for phase in life.phases if phase.startswith(FAILED)]
        violated += ["it hung"] if life.hung else []
        saving = any("save" in phase for phase in life.phases[-1:])
        found = self.inspected(remove, life.phases, whole=tally.lives % 10 == 0 or saving or not life.killed)
        violated += found.violations
        tally.violated += [f"life {tally.lives}, {life.phases[-1:]}: {text}" for text in violated]

    def inspected(self, remove: bool, phases: list[str], *, whole: bool) -> Inspected:
        """Inspect a copy of the index and remember its records."""
        shutil.rmtree(self.copy, ignore_errors=True)
        if not self.home.exists():
            return Inspected()
        shutil.copytree(self.home, self.copy)
        on_disk = self.documents.hashes() | self.extra.hashes()
        removable = set(self.extra.hashes()) if remove else set()
        expected = Expected(self.acknowledged, on_disk, removable, self.documents.known() | self.extra.known())
        removing = remove and any(phase.startswith("remove") for phase in phases)
        found = inspect(self.copy, expected, self.dice, removing=removing, whole=whole)
        found.violations += [f"{path.name} is there" for path in self.home.glob("*.damaged-*")]
        self.acknowledged = found.records
        self.tally.acknowledged += len(found.records)
        self.tally.asked += found.asked
        self.tally.useless_files += not found.vector_file
        self.tally.whole_checks += whole
        return found

    def live(self, aim: str, *, remove: bool) -> Life:
        """Run one child process, killed as ``aim`` says; half of the time its records are read meanwhile."""
        told, mine = PROCESSES.Pipe(duplex=False)
        arguments = (self.home, self.documents.path, self.extra.path, remove, mine)
        process = PROCESSES.Process(target=live, args=arguments, daemon=True)
        listener = Listener(told)
        process.start()
        mine.close()
        listener.start()
        seen = Watcher(self.home / "index.sqlite")
        if self.dice.random() < 0.5:
            seen.start()
        listener.wait_for("open", HUNG_SECONDS)
        began = time.perf_counter()
        if aim == "none":
            process.join(HUNG_SECONDS)
        elif aim in ("evenly", "start"):
            process.join(self.dice.uniform(0, self.span if aim == "evenly" else START_SECONDS))
        else:
            listener.wait_for(aim, HUNG_SECONDS)
            process.join(self.dice.uniform(0, self.saving if aim == "save" else self.removing))
        alive = process.exitcode is None
        if alive:
            process.kill()
        seconds = time.perf_counter() - began
        process.join()
        records = seen.stop()
        listener.join()
        if aim == "none":
            self.saving = listener.seconds_of("save") or self.saving
            self.removing = listener.seconds_of("remove") or self.removing
        return Life(listener.phases, records, seconds, alive and aim != "none", alive and aim == "none")


class Listener(threading.Thread):
    """Receive the phases of a child process and when each began."""

    def __init__(self, told: Connection) -> None:
        super().__init__(daemon=True)
        self.phases: list[str] = []
        self.moments: list[float] = []
        self._told = told
        self._changed = threading.Condition()
        self._ended = False

    def run(self) -> None:
        """Receive phases until the pipe closes."""
        with suppress(EOFError, OSError), self._told:
            while True:
                phase = self._told.recv_bytes().decode()
                with self._changed:
                    self.moments.append(time.perf_counter())
                    self.phases.append(" ".join(phase.split()[:2]) if phase.startswith("sync read") else phase)
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, word: str, seconds: float) -> None:
        """Wait until a phase containing ``word`` begins or the process ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or any(word in phase for phase in self.phases), seconds)

    def seconds_of(self, word: str) -> float:
        """Duration of the last phase containing ``word``, nested phases included."""
        within = [word in phase.split() for phase in self.phases]
        if True not in within:
            return 0.0
        last = len(within) - 1 - within[::-1].index(True)
        first = last
        while first and within[first - 1]:
            first -= 1
        return self.moments[min(last + 1, len(within) - 1)] - self.moments[first]


class Watcher(threading.Thread):
    """Read the database again and again while it is being written."""

    def __init__(self, database: Path) -> None:
        super().__init__(daemon=True)
        self._database = database
        self._stopped = threading.Event()
        self._seen: dict[str, str] = {}

    def run(self) -> None:
        """Read until stopped."""
        while not self._stopped.wait(0.01):
            self._seen |= records_in(self._database)

    def stop(self) -> dict[str, str]:
        """Stop, and return the records seen."""
        self._stopped.set()
        if self.is_alive():
            self.join()
        return self._seen


def table(figures: Mapping[str, Any]) -> str:
    """Format the figures."""
    rows = [
        ("kills", f"{figures['kills']} in {figures['lives']} lives: {listed(figures['aims'])}"),
        ("phases that a kill struck", listed(figures["phases"])),
        ("files looked for again", f"{figures['acknowledged']:,}"),
        ("questions asked", f"{figures['asked']:,}"),
        ("vector file not the last", f"{figures['vector_files_behind']} times; it was made anew from the database"),
        ("synced and verified", f"{figures['synced_and_verified']}"),
        ("seconds", f"{figures['seconds']:.0f}"),
        ("violations", f"{figures['violations']}"),
    ]
    return aligned(rows)


if __name__ == "__main__":
    main()
