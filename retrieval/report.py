"""What a sync did, for whoever tells the user."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# Called with the files done, the files in all, the passages so far and the file that is next.
Progress = Callable[[int, int, int, Path], None]


class Failure(NamedTuple):
    """A document that is not indexed, and a sentence that says why."""

    path: Path
    reason: str


class Source(NamedTuple):
    """A document of the library; ``status`` is 'indexed' or 'failed', and ``reason`` a sentence."""

    path: Path
    status: str
    passages: int
    reason: str


@dataclass
class SyncReport:
    """The documents by what became of them.

    ``failed`` could not be read this time, ``still_failed`` could not before and have not changed.
    ``skipped`` counts hidden files and files of no known kind; ``passages`` is how many the library
    has now; ``notes`` are sentences on what else a user should know.
    """

    added: list[Path] = field(default_factory=list)
    updated: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)
    unchanged: int = 0
    failed: list[Failure] = field(default_factory=list)
    still_failed: list[Failure] = field(default_factory=list)
    skipped: int = 0
    passages: int = 0
    notes: list[str] = field(default_factory=list)
