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

import ctypes
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from sqlite3 import Connection as Rows
from typing import Any
from unittest.mock import patch

from benchmarks.harness import listed, option_parser, show_progress
from retrieval.index.database import Database
from retrieval.index.vector_file import VectorIndex
from retrieval.library.library import Library
from retrieval.library.sync import Sync
from tests.stress.folder import Folder
from tests.stress.harness import PROCESSES, Tally, ended_alone, start
from tests.stress.inspection import Expected, Inspected, inspect, records_in
from tests.unit.retrieval.fakes import BagOfWords

HUNG_SECONDS = 120.0
ORPHAN_SECONDS = 10.0
START_SECONDS = 0.03
EXTRA = 15  # documents in the second folder
FAILED = "failed: "
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


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
    PROCESSES.set_forkserver_preload(["tests.stress.inspection", "faiss"])
    forkserver.ensure_running()  # it and its tracker are no orphans
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this system does not hand over orphans")
    with tempfile.TemporaryDirectory() as folder:
        tally = Killer(Path(folder), Random(options.seed)).kill(options.kills)
    counts = tally.counts
    rows = [
        ("kills", f"{tally.kills} in {tally.lives} lives"),
        ("phases that a kill struck", listed(tally.struck)),
        ("files looked for again", f"{counts['acknowledged']:,}"),
        ("questions asked", f"{tally.questions:,}"),
        ("vector file not the last", f"{counts['vector files behind']} times; it was made anew from the database"),
        ("synced and verified", f"{counts['synced and verified']}"),
    ]
    tally.conclude("index_kills", rows, seed=options.seed)


class Killer:
    """One index, its two folders, and the records known to be committed."""

    def __init__(self, folder: Path, dice: Random) -> None:
        self.home, self.copy = folder / "index", folder / "copy"
        self.documents, self.extra = Folder(folder / "documents", "a"), Folder(folder / "extra", "b")
        self.dice = dice
        self.tally = Tally()
        self.acknowledged: dict[str, str] = {}
        self.span, self.took = 0.0, dict[str, float]()

    def kill(self, kills: int) -> Tally:
        """Run undisturbed first to measure durations; then until ``kills`` processes were killed."""
        for number in range(1, EXTRA + 1):
            self.extra.add(number)
        for _ in range(3):
            self.documents.turn(self.dice)
        self.one("none", remove=False)
        self.one("none", remove=True)
        while self.tally.kills < kills:
            aim = self.dice.choices(("evenly", "start", "save", "remove"), (7, 1, 1, 1))[0]
            self.one(aim, remove=aim == "remove")
            show_progress(f"{self.tally.kills} kills, {self.tally.lives} lives")
        self.one("none", remove=False)
        return self.tally

    def one(self, aim: str, *, remove: bool) -> None:
        """Run one child process and inspect the index that it leaves."""
        tally, known = self.tally, children()
        self.documents.turn(self.dice)
        life = self.live(aim, remove=remove)
        tally.lives += 1
        tally.kills += life.killed
        self.acknowledged |= life.seen
        if life.killed:
            tally.struck[life.phases[-1] if life.phases else "before the first"] += 1
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
        self.tally.counts["acknowledged"] += len(found.records)
        self.tally.questions += found.asked
        self.tally.counts["vector files behind"] += not found.vector_file
        self.tally.counts["synced and verified"] += whole
        return found

    def live(self, aim: str, *, remove: bool) -> Life:
        """Run one child process, killed as ``aim`` says; half of the time its records are read meanwhile."""
        told, mine = PROCESSES.Pipe(duplex=False)
        process = start(live, self.home, self.documents.path, self.extra.path, remove, mine)
        listener = Listener(told)
        mine.close()
        listener.start()
        seen = Watcher(self.home / "index.sqlite")
        if self.dice.random() < 0.5:
            seen.start()
        listener.wait_for("open", HUNG_SECONDS)
        began = time.perf_counter()
        if aim in ("save", "remove"):
            listener.wait_for(aim, HUNG_SECONDS)
        span = {"none": HUNG_SECONDS, "evenly": self.span, "start": START_SECONDS}.get(aim, self.took.get(aim, 0.0))
        alone = ended_alone(process, span if aim == "none" else self.dice.uniform(0, span))
        seconds = time.perf_counter() - began
        records = seen.stop()
        listener.join()
        if aim == "none":
            self.took |= listener.took
        return Life(listener.phases, records, seconds, not alone and aim != "none", not alone and aim == "none")


class Listener(threading.Thread):
    """Receive the phases of a child process, and how long each took that has ended."""

    def __init__(self, told: Connection) -> None:
        super().__init__(daemon=True)
        self.phases: list[str] = []
        self.took: dict[str, float] = {}
        self._told = told
        self._changed = threading.Condition()
        self._ended = False

    def run(self) -> None:
        """Receive phases until the pipe closes."""
        with suppress(EOFError, OSError), self._told:
            while True:
                phase = self._told.recv_bytes().decode()
                with self._changed:
                    if phase.startswith("took "):
                        _, name, seconds = phase.split()
                        self.took[name] = float(seconds)
                    else:
                        self.phases.append(phase)
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, word: str, seconds: float) -> None:
        """Wait until a phase containing ``word`` begins or the process ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or any(word in phase for phase in self.phases), seconds)


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


class Teller:
    """Report to the parent the phase that begins, and the enclosing one when it ends."""

    def __init__(self, parent: Connection) -> None:
        self._parent = parent
        self._phases: list[str] = []

    def say(self, text: str) -> None:
        """Send one message atomically."""
        self._parent.send_bytes(text.encode("utf-8", "replace")[:500])

    @contextmanager
    def within(self, phase: str) -> Iterator[None]:
        """Report the start and the end of a phase."""
        self._phases.append(phase)
        self.say(" ".join(self._phases))
        began = time.perf_counter()
        yield
        self.say(f"took {phase} {time.perf_counter() - began}")
        self._phases.pop()
        self.say(" ".join(self._phases) or "between")

    def telling(self, phase: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the method so that it reports itself as a phase."""

        @wraps(method)
        def told(*arguments: Any, **named: Any) -> Any:
            with self.within(phase):
                return method(*arguments, **named)

        return told

    def telling_transaction(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``Database.writing`` as a phase that ends with the commit."""

        @contextmanager
        def told(database: Database) -> Iterator[Rows]:
            with self.within("write"), method(database) as connection:
                yield connection

        return told


def live(home: Path, documents: Path, extra: Path, remove: bool, parent: Connection) -> None:
    """Index both folders; then remove the second from the library if ``remove``."""
    teller = Teller(parent)
    try:
        with ExitStack() as stack:
            stack.enter_context(patch.object(VectorIndex, "save", teller.telling("save", VectorIndex.save)))
            stack.enter_context(patch.object(Sync, "plan", teller.telling("plan", Sync.plan)))
            stack.enter_context(patch.object(Database, "writing", teller.telling_transaction(Database.writing)))
            _live(home, documents, extra, remove, teller)
    except Exception as error:  # noqa: BLE001 - whatever ends a life is for the parent to judge
        teller.say(f"{FAILED}{type(error).__name__}: {error}")


def _live(home: Path, documents: Path, extra: Path, remove: bool, teller: Teller) -> None:
    with teller.within("open"):
        library = Library.open(home, BagOfWords(), embedding_name="bow")
    with library:
        with teller.within("add"):
            library.add([documents, extra])
        with teller.within("sync"):
            library.sync(lambda advance: teller.say("sync read"))
        if remove:
            with teller.within("remove"):
                library.remove(extra)


def children() -> set[int]:
    """Process ids of this process's children."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                after = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if int(after[1]) == os.getpid():
                    found.add(int(folder.name))
    return found


def survivors(known: set[int], seconds: float) -> list[int]:
    """Children not in ``known`` that are alive after ``seconds``; they are killed."""
    deadline = time.monotonic() + seconds
    while left := children() - known:
        for process in sorted(left):
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    left = children() - known
    for process in left:
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    return sorted(left)


if __name__ == "__main__":
    main()
