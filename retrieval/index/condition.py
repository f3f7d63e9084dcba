"""Find the passages that fit a filter."""

import json
import sqlite3
from itertools import chain

import numpy as np

from retrieval.filters import Filter, Visible, matching
from retrieval.index.faiss_index import Ids


def fitting_ids(connection: sqlite3.Connection, filter_: Filter | None, visible: Visible | None = None) -> Ids | None:
    """Return the ids of the passages that fit a filter, sorted; None for an empty filter.

    Only documents whose path is ``visible`` fit.
    """
    if not filter_ and not visible:
        return None
    filter_ = filter_ or Filter()
    documents = None
    if filter_.sources or visible:
        paths = connection.execute("SELECT id, path FROM documents")
        documents = json.dumps(matching(paths, filter_.sources, visible))
    first, last = filter_.pages or (None, None)
    conditions = {
        "document IN (SELECT value FROM json_each(?))": documents,
        "page >= ?": first,
        "page <= ?": last,
        "coalesce(passages.date, documents.date) >= ?": filter_.since and filter_.since.isoformat(),
        "coalesce(passages.date, documents.date) <= ?": filter_.until and filter_.until.isoformat(),
    }
    given = {condition: value for condition, value in conditions.items() if value is not None}
    sql = "SELECT passages.id FROM passages JOIN documents ON documents.id = document WHERE "
    rows = connection.execute(sql + " AND ".join(given), tuple(given.values()))
    return np.sort(np.fromiter(chain.from_iterable(rows), dtype=np.int64))
