"""Read many documents in a pool of sandboxed processes, in order and prefetched."""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from threading import Condition, Lock, RLock, Thread, current_thread

from core.errors import RequestError
from retrieval.sandbox.child import SECTION
from retrieval.sandbox.process import ReaderProcess
from retrieval.sandbox.replies import Reading, ReadLimits

__all__ = ["ReadLimits", "Readers", "Reading"]

_PREFETCH = 4  # files per worker
_PREFETCH_TEXT = 64_000_000  # characters of finished text
_MOST_WORKERS = 4
_WAIT = 1.0  # seconds, after which the caller sees a signal that did not end its wait
_LIMITS = ReadLimits()


class Readers(AbstractContextManager["Readers"]):
    """A pool of processes that read documents; they start with the first file and are killed on exit."""

    def __init__(
        self, limits: ReadLimits = _LIMITS, workers: int | None = None, *, command: Sequence[str] | None = None
    ) -> None:
        """Use this many ``workers``; tests replace the ``command`` that starts one."""
        self._new_process = partial(ReaderProcess, limits, command)
        # One of the cores is left to the embedding model.
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = max(1, min(_MOST_WORKERS, cores - 1) if workers is None else workers)
        self._processes = [self._new_process() for _ in range(count)]
        self._run: _Run | None = None
        self._closed = False

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, also while they read."""
        self._closed = True
        for process in self._processes:
            process.kill()
        if self._run:
            self._run.stop()
        for process in self._processes:
            process.close()

    @property
    def note(self) -> str:
        """A sentence on what a document that takes over a process could still do on this system; empty if nothing."""
        return next((process.note for process in self._processes if process.note), "")

    def read(self, paths: Sequence[bytes]) -> Iterator[Reading]:
        """Yield the outcome of each file, in the order of the paths.

        One sequence of files is read at a time: a new call ends the one before. Raises ``RequestError`` when no
        process can be started.
        """
        if self._closed:
            raise RuntimeError("These readers are closed: make new ones.")
        if self._run:
            self._run.stop()
        self._processes = [self._new_process() if one.killed else one for one in self._processes]
        run = self._run = _Run(paths, self._processes[: len(paths)])
        try:
            run.start()
            for index in range(len(paths)):
                yield run.wait_for(index)
        finally:
            run.stop()


class _Run:
    """One call of ``read``, with a thread per process.

    Ctrl-C may interrupt the caller between any two steps of Python code, and ``Condition``, which is written in Python,
    could then keep its lock for ever. So the caller uses only locks, written in C: ``_lock``, and ``_no_news`` to
    wait for the threads, with a timeout: a signal just before the wait, or to another thread, does not end the wait.
    """

    def __init__(self, paths: Sequence[bytes], processes: Sequence[ReaderProcess]) -> None:
        self._paths = paths
        self._processes = processes
        self._lock = RLock()
        self._changed = Condition(self._lock)  # what the threads wait on
        self._no_news = Lock()  # what the caller waits for
        self._no_news.acquire()
        self._next = 0  # index of the next file to read
        self._consumed = 0  # number of files that the caller has received
        self._done: dict[int, Reading | Exception] = {}
        self._stopped = False
        self._prefetch = _PREFETCH * len(processes)
        self._threads = [Thread(target=self._work, args=(process,), daemon=True) for process in processes]

    def start(self) -> None:
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError as error:
            raise RequestError("No thread can be started to read documents: end other programs first.") from error

    def wait_for(self, index: int) -> Reading:
        """Wait for the file with this index and return its outcome."""
        while (outcome := self._take(index)) is None:
            self._no_news.acquire(timeout=_WAIT)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _take(self, index: int) -> Reading | Exception | None:
        with self._lock:
            if self._stopped:
                raise RuntimeError("These files are no longer read: the readers were closed or given others.")
            if index in self._done:
                self._consumed = index + 1
                self._changed.notify_all()
            return self._done.pop(index, None)

    def stop(self) -> None:
        """Discard what is not consumed yet, and kill the processes if they may be busy."""
        with self._lock:
            self._stopped = True
            self._done.clear()
            for process in self._processes if self._consumed < len(self._paths) else ():
                process.kill()
            self._notify()
        for thread in self._threads:
            if thread.ident is not None and thread is not current_thread():
                thread.join()

    def _work(self, process: ReaderProcess) -> None:
        while (index := self._next_index()) is not None:
            try:
                outcome: Reading | Exception = process.read(self._paths[index])
            except Exception as error:  # noqa: BLE001 - raised again in wait_for
                outcome = error
            with self._lock:
                if not self._stopped:
                    self._done[index] = outcome
                self._notify()
        if process.killed:
            process.close()

    def _notify(self) -> None:
        """Wake the threads and the caller."""
        self._changed.notify_all()
        if self._no_news.locked():
            self._no_news.release()

    def _next_index(self) -> int | None:
        """Wait until the next file may be read; return its index, or None when there is none left."""
        with self._lock:
            self._changed.wait_for(self._may_continue)
            if self._stopped or self._next == len(self._paths):
                return None
            self._next += 1
            return self._next - 1

    def _may_continue(self) -> bool:
        if self._stopped or self._next in (self._consumed, len(self._paths)):
            return True
        return self._next - self._consumed < self._prefetch and sum(map(_size, self._done.values())) < _PREFETCH_TEXT


def _size(outcome: Reading | Exception) -> int:
    """Return how many characters a finished file keeps in memory."""
    if isinstance(outcome, Exception) or outcome.loaded is None:
        return 0
    return sum(max(len(section.text), SECTION) for section in outcome.loaded.sections)
