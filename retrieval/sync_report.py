"""What a sync or a check did, how far it is, and what a library holds."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple

Status = Literal["indexed", "empty", "failed"]


@dataclass(frozen=True)
class Advance:
    """How far a sync or a check is.

    ``files`` of ``total`` are done, with ``passages`` in ``seconds``; ``path`` is what comes next, or came last.
    ``seconds_left`` is None until it can be told.
    """

    files: int
    total: int
    passages: int
    seconds: float
    path: Path
    seconds_left: float | None = None


# Called at the start, now and then, and at the end, when all files are done; never when there is nothing to do.
Progress = Callable[[Advance], None]


class Failure(NamedTuple):
    """A document that has no passages, and a sentence that says why."""

    path: Path
    reason: str


class Skipped(NamedTuple):
    """A file or folder that is no document of the library; ``reason`` is the same for all of a kind."""

    path: Path
    reason: str


class Source(NamedTuple):
    """A document of the library; ``reason`` is a sentence, ``date`` is as the document gives it, else its file.

    ``sha256`` is of the bytes that are indexed; None where they are to be read again.
    """

    path: Path
    status: Status
    passages: int
    reason: str
    date: str | None = None
    sha256: str | None = None


@dataclass
class SyncReport:
    """The documents by what became of them.

    ``failed`` could not be read and ``empty`` have no text in them, both this time; ``still_failed`` are those that
    were either before and have not changed. ``unchanged`` counts the others that have not. ``skipped`` are hidden
    files, files of no known kind and the like; ``passages`` is how many the library has now; ``notes`` are sentences
    on what else a user should know.
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
    """What a check of the index found: sentences on the damage that it mended, and on what it could not mend."""

    passages: int
    documents: int
    mended: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


_SMALL = 1_000  # bytes that a file costs however small it is


class TimeEstimate:
    """Tell ``progress`` of files, by what they weigh in bytes; ``passages`` is for the caller to count."""

    def __init__(self, files: Sequence[tuple[Path, int]], progress: Progress | None) -> None:
        """Begin the clock for these files and their sizes."""
        self._files = files
        self._done = [0, *accumulate(size + _SMALL for _, size in files)]
        self._progress = progress
        self._begun = time.monotonic()
        self.passages = 0

    def tell(self, done: int) -> None:
        """Say that so many files are done."""
        if not self._progress or not self._files:
            return
        seconds = time.monotonic() - self._begun
        left = seconds * (self._done[-1] - self._done[done]) / self._done[done] if done else None
        path, _ = self._files[min(done, len(self._files) - 1)]
        self._progress(Advance(done, len(self._files), self.passages, seconds, path, left))
