"""Translate a filter to SQL."""

import json
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from retrieval.filters import Filter, Visible, matching


@dataclass(frozen=True)
class Condition:
    """The passages that match a filter; ``ids_sql`` selects their ids."""

    connection: sqlite3.Connection
    ids_sql: str
    parameters: tuple[object, ...]

    @classmethod
    def of(cls, connection: sqlite3.Connection, filter_: Filter | None, visible: Visible | None = None) -> Self | None:
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
            paths = connection.execute("SELECT id, path FROM documents")
            parameters.append(json.dumps(matching(paths, filter_.sources, visible)))
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
