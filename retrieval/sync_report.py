"""The results and progress of a sync or a check, and the entries of a library."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple

Status = Literal["indexed", "empty", "failed"]


@dataclass(frozen=True)
class Advance:
    """The progress of a sync or a check.

    ``files`` of ``total`` are done, with ``passages`` in ``seconds``; ``path`` is the next file, or finally the last.
    ``seconds_left`` is None until it can be estimated.
    """

    files: int
    total: int
    passages: int
    seconds: float
    path: Path
    seconds_left: float | None = None


# Called at the start, from time to time, and when all files are done; not at all when there is nothing to do.
Progress = Callable[[Advance], None]


class Failure(NamedTuple):
    """A document without passages, and a sentence that says why."""

    path: Path
    reason: str


class Skipped(NamedTuple):
    """A file or folder that is not indexed; ``reason`` is one of a few fixed texts."""

    path: Path
    reason: str


class Source(NamedTuple):
    """A document of the library; ``reason`` is a sentence, ``date`` the document's own, else that of its last change.

    ``sha256`` is of the bytes that are indexed; None if the file must be read again.
    """

    path: Path
    status: Status
    passages: int
    reason: str
    date: str | None = None
    sha256: str | None = None


@dataclass
class SyncReport:
    """The outcome of a sync for each document.

    ``failed`` documents could not be read and ``empty`` ones have no text, both in this sync; ``still_failed`` ones
    failed or were empty before and have not changed. ``unchanged`` counts the other documents that have not changed.
    ``skipped`` are hidden files, unsupported file types and the like; ``passages`` is the library's new total;
    ``notes`` are sentences on what else a user should know.
    """

    added: list[Path] = field(default_factory=list)
    updated: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)
    unchanged: int = 0
    empty: list[Failure] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    still_failed: list[Failure] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    passages: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass
class VerifyReport:
    """The result of a check: sentences on damage that was repaired (``repairs``), or was not (``problems``)."""

    passages: int
    documents: int
    repairs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


_OVERHEAD = 1_000  # bytes: the fixed cost of a file


class TimeEstimate:
    """Reports progress and the time left, estimated by the files' sizes; the caller counts ``passages``."""

    def __init__(self, files: Sequence[tuple[Path, int]], progress: Progress | None) -> None:
        """Start the clock for files with their sizes in bytes."""
        self._files = files
        self._cost = [0, *accumulate(size + _OVERHEAD for _, size in files)]
        self._progress = progress
        self._started = time.monotonic()
        self.passages = 0

    def update(self, done: int) -> None:
        """Report that ``done`` files are done."""
        if not self._progress or not self._files:
            return
        seconds = time.monotonic() - self._started
        left = seconds * (self._cost[-1] - self._cost[done]) / self._cost[done] if done else None
        path, _ = self._files[min(done, len(self._files) - 1)]
        self._progress(Advance(done, len(self._files), self.passages, seconds, path, left))
