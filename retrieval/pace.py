"""How far a sync is, and how long it is going to take at its pace so far."""

import time
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from retrieval.report import Advance, Progress

_SMALL = 1_000  # bytes that a file costs however small it is


class Pace:
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
