"""Kill workers, a process that indexes, and PostgreSQL itself; check that no file is lost, doubled or half visible.

    python -m tests.stress.workers [--kills 200] [--server-kills 20] [--files 400] [--seed 1]

A server of its own, three workers and a process that indexes share one library, while the folder's files change. At
moments drawn by the seed one of the four processes gets SIGKILL and is started again; then the postmaster does, and is
started again by `pg_ctl`. Meanwhile another connection looks for documents whose passages are not all there. At the end
everything is read, and the library must be what one process makes of the folder. It writes ``bench/workers.json`` and
ends with 1 if anything was violated.
"""

import hashlib
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from benchmarks.documents import load
from benchmarks.harness import option_parser, show_progress
from benchmarks.postgres_server import started_server
from core.errors import RequestError
from retrieval.library.library import Library, open_store
from retrieval.library.queued_sync import worker_name
from retrieval.library.worker import Worker
from retrieval.splitter import SplitSettings, split
from retrieval.store import Machine, Model
from tests.stress.harness import PROCESSES, Tally, ended_alone, start
from tests.unit.retrieval.fakes import BagOfWords

LEASE = 1.0  # seconds, so that the files of what was killed are soon taken by others
SPLIT = SplitSettings(200, 20)
WORKERS = 3
PAUSES = (0.05, 0.6)  # seconds from one kill to the next
HUNG = 180.0  # seconds in which everything has to be read at the end
HALF_VISIBLE = """
SELECT count(*) FROM selfrag_library.documents AS one WHERE passages <> (
    SELECT count(*) FROM selfrag_library.passages WHERE document = one.id
)
"""
TAKEN = "SELECT count(*) FROM selfrag_library.queue WHERE taken_until > clock_timestamp()"


@dataclass
class Run:
    server: Any
    folder: Path
    dice: Random
    tally: Tally = field(default_factory=Tally)
    processes: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return str(self.server.get_uri())

    def start(self, name: str) -> None:
        self.processes[name] = start(forever, partial(index, self.folder) if name == "index" else work, self.url)

    def kill_all(self, kills: int, server_kills: int) -> None:
        """Kill processes, then the server, with changes between; then check."""
        names = ["index", *(f"worker {number}" for number in range(WORKERS))]
        for name in names:
            self.start(name)
        for number in range(kills + server_kills):
            time.sleep(self.dice.uniform(*PAUSES))
            if number % 5 == 0:
                self.turn()
            self.look()
            if number < kills:
                name = self.dice.choice(names)
                ended_alone(self.processes[name])
                self.start(name)
            else:
                self.kill_server()
            show_progress(f"{number + 1} kills")
        self.check()

    def kill_server(self) -> None:
        """Kill the postmaster; its processes end when they notice."""
        pid = int((self.server.pgdata / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while True:
            with suppress(Exception):
                self.server.ensure_postgres_running()
                with psycopg.connect(self.url):
                    return
            if time.monotonic() > deadline:
                raise TimeoutError("PostgreSQL could not be started again")
            time.sleep(0.2)

    def turn(self) -> None:
        """Change some files, add one, remove one."""
        files = sorted(self.folder.iterdir())
        for path in self.dice.sample(files, min(20, len(files))):
            write(path, self.dice)
        self.dice.choice(files).unlink()
        write(self.folder / f"new-{self.dice.random():.12f}.txt", self.dice)

    def look(self) -> None:
        with suppress(psycopg.Error), psycopg.connect(self.url) as connection:
            (half,) = connection.execute(HALF_VISIBLE).fetchone() or (0,)
            (taken,) = connection.execute(TAKEN).fetchone() or (0,)
            self.tally.counts["looks"] += 1
            self.tally.counts["looks while files were being read"] += taken > 0
            if half:
                self.tally.violated.append(f"{half} documents were half visible")

    def check(self) -> None:
        """Wait until all is read, and compare the library with the folder."""
        expected = {path: whole(path) for path in self.folder.iterdir()}
        deadline = time.monotonic() + HUNG
        with open_library(self.url) as library:
            while (waiting := library.require_queue().waiting(everywhere=True)) or state(library) != expected:
                if time.monotonic() > deadline:
                    found = state(library)
                    other = [path for path in expected.keys() | found.keys() if found.get(path) != expected.get(path)]
                    self.tally.violated += [f"{path} is {found.get(path)}, not {expected.get(path)}" for path in other]
                    self.tally.violated.append(f"{waiting} files were not read")
                    break
                time.sleep(0.5)
            for process in self.processes.values():
                ended_alone(process)
            if self.tally.violated:  # a sync would wait for what nobody reads
                return
            report, checked = library.sync(), library.verify()
            changed = [*report.added, *report.updated, *report.removed, *report.failed]
            self.tally.violated += [f"{path} was not in step" for path in changed]
            self.tally.violated += [*checked.repairs, *checked.problems]


def write(path: Path, dice: Random) -> None:
    """Write a file of a few passages, whole at once."""
    words = " ".join(f"word{dice.randrange(10_000)}" for _ in range(dice.randrange(5, 120)))
    new = path.with_name(f".{path.name}")
    new.write_text(f"{path.name}: {words}.")
    new.replace(path)


def whole(path: Path) -> tuple[str, int]:
    """Return the hash of a file, and how many passages it has."""
    return hashlib.sha256(path.read_bytes()).hexdigest(), len(split(load(path), SPLIT))


def state(library: Any) -> dict[Path, tuple[str, int]]:
    return {source.path: (source.sha256 or source.reason, source.passages) for source in library.sources()}


def open_library(url: str) -> Library:
    return Library(open_store(url, "library", Model(BagOfWords(), "bow"), machine=Machine("here")), SPLIT)


def forever(step: Callable[[Library], object], url: str) -> None:
    """Do something with the library again and again until the process is killed."""
    while True:
        try:
            with open_library(url) as library:
                while True:
                    step(library)
                    time.sleep(0.05)
        except RequestError:  # the database is gone for a moment
            time.sleep(0.1)


def work(library: Library) -> None:
    with Worker(library.store, library.require_queue(), SPLIT, worker_name(), lease=LEASE) as worker:
        while worker.step():
            pass


def index(folder: Path, library: Library) -> None:
    library.add([folder])
    library.sync()


def main() -> None:
    options = option_parser(__doc__, kills=200, server_kills=20, files=400, seed=1).parse_args()
    PROCESSES.set_forkserver_preload(["retrieval.library.worker", "retrieval.postgres.postgres_store"])
    with started_server() as server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, dice = Path(name), Random(options.seed)
        for number in range(options.files):
            write(folder / f"{number:04}.txt", dice)
        run = Run(server, folder, dice)
        run.kill_all(options.kills, options.server_kills)
    figures = {"kills": options.kills, "kills of PostgreSQL": options.server_kills, "files": options.files}
    rows = [(name, str(value)) for name, value in {**figures, **run.tally.counts}.items()]
    run.tally.conclude("workers", rows, **figures)


if __name__ == "__main__":
    main()
