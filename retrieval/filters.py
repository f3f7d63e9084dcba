"""Filters on the passages that a search may return."""

import fnmatch
import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import BaseModel, model_validator


class Filter(BaseModel, frozen=True, extra="forbid"):
    """Conditions, all of which a passage must meet; one without a page or date fails any condition on pages or days.

    ``sources`` are shell patterns, one of which must match consecutive parts of the path, such as the file's name or a
    folder above it; an absolute pattern matches from the start of the path. ``pages`` are the first and the last page,
    from 1. ``since`` and ``until`` are days, both included, compared with the document's own date, else its file's last
    change.
    """

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


def matching(paths: Iterable[tuple[int, bytes]], patterns: Sequence[str], visible: Visible | None = None) -> list[int]:
    """Return the ids of documents whose path is ``visible`` and matches a pattern; without patterns all match."""
    sought = [fitting(pattern) for pattern in patterns]
    allowed = ((id_, path) for id_, path in paths if visible is None or visible(path))
    return [id_ for id_, path in allowed if not sought or any(fits(path) for fits in sought)]


def fitting(pattern: str) -> Visible:
    """Return a test of whether a path fits one pattern of ``Filter.sources``."""
    sought = _Pattern(pattern)
    return lambda path: sought.fits(_parts(path.decode("utf-8", "replace")))


def exclusion(patterns: Iterable[str], roots: Iterable[bytes]) -> Callable[[bytes], str]:
    """Return a function that gives the reason why a path is excluded, or "" if it is not.

    Patterns are as in ``Filter.sources``, but are compared only with the part of a path below its root, the folder that
    was added; a pattern of several parts may begin with the name of the root.
    """
    sought = {excluded_by(pattern): _Pattern(pattern) for pattern in sorted(patterns)}
    known = {tuple(_parts(root.decode("utf-8", "replace"))) for root in roots if sought}

    def reason(path: bytes) -> str:
        parts = _parts(path.decode("utf-8", "replace")) if sought else []
        below = next((end for end in range(1, len(parts)) if tuple(parts[:end]) in known), len(parts) - 1)
        return next((reason for reason, pattern in sought.items() if pattern.fits(parts, below)), "")

    return reason


def excluded_by(pattern: str) -> str:
    """Return the reason for leaving out files that match a pattern, with the pattern quoted for a shell."""
    return f"excluded by {shlex.quote(pattern)}"


class _Pattern:
    """A pattern of ``Filter.sources``, read once for all the paths of a library."""

    def __init__(self, pattern: str) -> None:
        self._absolute = Path(pattern).is_absolute()
        # Most paths of a library share their folders.
        self._wanted = [cache(re.compile(fnmatch.translate(part)).match) for part in _parts(pattern)]

    def fits(self, parts: Sequence[str], below: int = 0) -> bool:
        """True if the pattern matches consecutive parts of a path, or the first parts if the pattern is absolute.

        The first ``below`` parts are the root of a library. A relative pattern matches only below the root, except that
        a pattern of several parts may begin with the root's own name.
        """
        if len(self._wanted) == 1 and not self._absolute:
            return any(map(self._wanted[0], parts[below:]))
        starts = len(parts) - len(self._wanted) + 1
        return any(
            all(match(part) for match, part in zip(self._wanted, parts[start:], strict=False))
            for start in (range(min(starts, 1)) if self._absolute else range(max(below - 1, 0), starts))
        )


def _parts(path: str) -> list[str]:
    return os.path.normcase(path).rstrip(os.sep).split(os.sep)  # noqa: PTH206 - a pattern need not be a path
