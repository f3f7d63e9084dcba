"""Filters on the passages that a search may return."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator


class Filter(BaseModel):
    """Conditions that a passage must all meet; one without a page or date meets no condition on it.

    ``sources`` are shell patterns, one of which must match: consecutive parts of the path, such as the file's name or
    a folder above it; an absolute pattern matches from the root. ``pages`` are the first and the last page, from 1.
    ``since`` and ``until`` are days, both included, compared with the document's own date, else its file's last
    change.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: tuple[str, ...] = ()
    pages: tuple[int, int] | None = None
    since: date | None = None
    until: date | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.pages and not 1 <= self.pages[0] <= self.pages[1]:
            raise ValueError("pages must be the first and the last page, from 1")
        if self.since and self.until and self.since > self.until:
            raise ValueError("since must not be after until")
        return self

    def __bool__(self) -> bool:
        """True if there is any condition."""
        return bool(self.sources or self.pages or self.since or self.until)

    def as_options(self) -> str:
        """Return the conditions as command line options, for messages: ``--source '*.pdf' --page 3-5``."""
        first, last = self.pages or (0, 0)
        words = [f"--source {shlex.quote(source)}" for source in self.sources]
        words += [f"--page {first}" if first == last else f"--page {first}-{last}"] if self.pages else []
        words += [f"--since {self.since}"] if self.since else []
        words += [f"--until {self.until}"] if self.until else []
        return " ".join(words)


Visible = Callable[[bytes], bool]  # whether the document of a path may be found at all
_SEPARATORS = r"[\\/]" if os.sep == "\\" else "/"


def matching(paths: Iterable[tuple[int, bytes]], patterns: Sequence[str], visible: Visible | None = None) -> list[int]:
    """Return the ids of the documents whose path is ``visible`` and matches one of the patterns, if there are any."""
    return [
        id_
        for id_, path in paths
        if (visible is None or visible(path))
        and (not patterns or any(fits(path.decode("utf-8", "replace"), pattern) for pattern in patterns))
    ]


def fits(path: str, pattern: str) -> bool:
    """True if a source matches a pattern of ``Filter.sources``."""
    parts = _parts(path)
    wanted = _parts(pattern)
    if Path(pattern).is_absolute():
        return len(parts) >= len(wanted) and _match(parts[: len(wanted)], wanted)
    starts = range(len(parts) - len(wanted) + 1)
    return any(_match(parts[start : start + len(wanted)], wanted) for start in starts)


def _parts(path: str) -> list[str]:
    return re.split(_SEPARATORS, os.path.normcase(path).rstrip(os.sep))


def _match(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    return all(fnmatch.fnmatchcase(part, pattern) for part, pattern in zip(parts, wanted, strict=True))
