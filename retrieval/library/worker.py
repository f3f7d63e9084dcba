"""Read files of a library's queue, beside other processes and machines that do so."""

import math
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from core.errors import IndexBusy, RequestError, StoreUnavailable
from core.files import is_below
from core.text import shown_path
from retrieval.library.discovery import FileStamp
from retrieval.library.sync import split_file
from retrieval.sandbox.pool import Readers, Reading
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import UPLOADS, FileQueue, FileRecord, Job, SplitFile, path_of
from retrieval.unit_vectors import BATCH

LEASE = 60.0  # seconds after which other processes may take the files of a process that ended
MOST = 16  # files that are taken at a time
LIGHT = 1_000_000  # bytes of files that are taken together: what is large is left to others
SETTLED = 60.0  # seconds after which changes of the words' frequencies are added up; until then every search does so
MOST_DEATHS = 5  # processes that may die while they read a file
PAUSE = 1.0  # seconds until a database that cannot be reached is tried again
T = TypeVar("T")


@dataclass
class Worker(AbstractContextManager["Worker"]):
    """Takes files of a queue, reads, splits, embeds and writes them; use it as a context manager.

    It reads this machine's files and, if ``everywhere``, other machines' files whose bytes were sent. ``unreachable``
    is called when the database cannot be reached; the worker then retries for up to ``patience`` seconds.
    ``passages`` counts the passages that it wrote, and ``last`` is the file that it wrote last.
    """

    store: Store
    queue: FileQueue
    settings: SplitSettings
    name: str
    _: KW_ONLY
    everywhere: bool = True
    lease: float = LEASE
    patience: float = math.inf
    unreachable: Callable[[RequestError], None] = lambda error: None
    passages: int = field(default=0, init=False)
    last: Path = field(default=Path(), init=False)
    readers: Readers = field(default_factory=Readers, init=False)
    _taken: list[Job] = field(default_factory=list, init=False)
    _unsettled: bool = field(default=False, init=False)
    _settled: float = field(default_factory=time.monotonic, init=False)

    def __exit__(self, *_: object) -> None:
        self.readers.close()
        with suppress(RequestError):
            self.queue.give_back(self._taken)

    def step(self) -> int:
        """Take and read a few files that no worker has taken; return how many, 0 if there is none."""
        jobs = self._persist(lambda: self.queue.take(self.name, MOST, self.lease, everywhere=self.everywhere))
        if not jobs or time.monotonic() > self._settled + SETTLED:
            self._settle()
        jobs, others = _together(jobs)
        if others:
            self._persist(lambda: self.queue.give_back(others))
        self._taken = jobs
        with self._renewing(), tempfile.TemporaryDirectory() as folder:
            pending: dict[Job, SplitFile] = {}
            for job, file in self._read(jobs, Path(folder)):
                pending[job] = file
                if sum(len(one.passages) for one in pending.values()) >= BATCH:
                    self._finish(pending)
                    pending = {}
            self._finish(pending)
        return len(jobs)

    def _read(self, jobs: Sequence[Job], folder: Path) -> Iterator[tuple[Job, SplitFile]]:
        """Yield each job with its split file; ``folder`` is for copies of files that were sent or uploaded."""
        for job in jobs:
            if job.deaths >= MOST_DEATHS:
                yield job, _given_up(job)
        jobs = [job for job in jobs if job.deaths < MOST_DEATHS]
        paths = [self._readable(job, folder) for job in jobs]
        for job, reading in zip(jobs, self.readers.read(paths), strict=True):
            yield job, split_file(_under_its_name(reading, job), FileStamp(job.size, job.mtime_ns), self.settings)

    def _readable(self, job: Job, folder: Path) -> bytes:
        """Return the path to read: the file's own, or that of a copy in ``folder`` if it was sent or uploaded.

        The copy has the file's suffix, which tells its kind. It is empty for an upload that was removed meanwhile.
        """
        content, uploads = job.content, self.store.uploads
        if uploads and is_below(job.path, UPLOADS):
            content = self._persist(lambda: uploads.content(job.path)) or b""
        if content is None:
            return job.path
        copy = folder / f"{job.id}{path_of(job.path).suffix}"
        copy.write_bytes(content)
        return os.fsencode(copy)

    def _finish(self, files: dict[Job, SplitFile]) -> None:
        if files:
            for job in self._persist(lambda: self.queue.finish(files, self.settings)):
                self.passages += len(files[job].passages)
                self.last = path_of(job.path)
            self._taken = [job for job in self._taken if job not in files]
            self._unsettled = True

    def _settle(self) -> None:
        """Bring up to date what is derived from the documents, unless another process does so or nothing was read."""
        if self._unsettled:
            with suppress(RequestError), self.store.only_writer(seconds=0):
                self.store.settle()
                self._unsettled = False
        self._settled = time.monotonic()

    def _persist(self, act: Callable[[], T]) -> T:
        """Call ``act``, again and again while the database cannot be reached or another process holds its lock."""
        ends = time.monotonic() + self.patience
        while True:
            try:
                return act()
            except (StoreUnavailable, IndexBusy) as error:
                if isinstance(error, StoreUnavailable) and time.monotonic() >= ends:
                    raise
                self.unreachable(error)
                time.sleep(PAUSE)

    @contextmanager
    def _renewing(self) -> Iterator[None]:
        """Renew the lease of the taken files until the block ends."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self.lease / 3):
                with suppress(RequestError):  # tried again soon; a lease that ends meanwhile costs only time
                    self.queue.renew(self.name, self._taken, self.lease)

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _together(jobs: Sequence[Job]) -> tuple[list[Job], list[Job]]:
    """Return jobs to read now, and jobs to give back: a large file, or one over which a process died, is read alone."""
    suspect = next((job for job in jobs if job.deaths), None)
    if suspect:
        return [suspect], [job for job in jobs if job is not suspect]
    size = 0
    for number, job in enumerate(jobs):
        size += job.size
        if number and size > LIGHT:
            return list(jobs[:number]), list(jobs[number:])
    return list(jobs), []


def _under_its_name(reading: Reading, job: Job) -> Reading:
    """Return the outcome with the path and name of the file itself, in place of those of the copy that was read."""
    if reading.path == job.path:
        return reading
    copy, name = (shown_path(path_of(path).name) for path in (reading.path, job.path))
    return replace(reading, path=job.path, reason=reading.reason.replace(copy, name))


def _given_up(job: Job) -> SplitFile:
    """Return a failed file, without a hash so that the next sync reads it again: it may not be to blame."""
    name = shown_path(path_of(job.path).name)
    reason = (
        f"{name} was given up, as {job.deaths} processes ended while they read it: index again, or look at the file."
    )
    record = FileRecord(job.path, size=job.size, mtime_ns=job.mtime_ns, status="failed", reason=reason)
    return SplitFile(record, [])
