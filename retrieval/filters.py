"""Filters on the passages that a search may return, and their translation to SQL."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
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


@dataclass(frozen=True)
class Condition:
    """The passages that match a filter; ``ids_sql`` selects their ids."""

    connection: sqlite3.Connection
    ids_sql: str
    parameters: tuple[object, ...]

    @classmethod
    def of(
        cls, connection: sqlite3.Connection, filter_: Filter | None, visible: Visible | None = None
    ) -> Condition | None:
        """Translate a filter for the state that the connection reads; return None for an empty filter.

        Only documents whose path is ``visible`` match.
        """
        if not filter_ and not visible:
            return None
        filter_ = filter_ or Filter()
        parts: list[str] = []
        parameters: list[object] = []
        if filter_.sources or visible:
            parts.append("document IN (SELECT value FROM json_each(?))")
            parameters.append(json.dumps(_documents(connection, filter_.sources, visible)))
        if filter_.pages:
            parts.append("page BETWEEN ? AND ?")
            parameters += filter_.pages
        date = "coalesce(passages.date, documents.date)"
        if filter_.since:
            parts.append(f"{date} >= ?")
            parameters.append(filter_.since.isoformat())
        if filter_.until:
            parts.append(f"{date} <= ?")
            parameters.append(filter_.until.isoformat())
        sql = (
            "SELECT passages.id FROM passages JOIN documents ON documents.id = document "  # noqa: S608
            f"WHERE {' AND '.join(parts)}"
        )
        return cls(connection, sql, tuple(parameters))

    @cached_property
    def ids(self) -> npt.NDArray[np.int64]:
        """The ids of the passages, sorted."""
        rows = self.connection.execute(self.ids_sql, self.parameters)
        return np.sort(np.fromiter((id_ for (id_,) in rows), dtype=np.int64))

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest id, a close bound since the ids of one document are adjacent."""
        return (int(self.ids[0]), int(self.ids[-1])) if len(self.ids) else (0, -1)

    def __len__(self) -> int:
        """Return the number of passages that match."""
        return len(self.ids)


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


def _documents(connection: sqlite3.Connection, patterns: tuple[str, ...], visible: Visible | None) -> list[int]:
    rows = connection.execute("SELECT id, path FROM documents")
    seen = [(id_, path) for id_, path in rows if visible is None or visible(path)]
    if not patterns:
        return [id_ for id_, _ in seen]
    return [id_ for id_, path in seen if any(fits(path.decode("utf-8", "replace"), pattern) for pattern in patterns)]
