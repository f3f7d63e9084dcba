"""What people say of answers, in the shared schema."""

from __future__ import annotations

from app.conversations.feedback import Feedback, Label, label_of, labels_in
from app.conversations.postgres.database import SharedDatabase
from app.results.result import Result
from core.text import as_json

ADD = """
INSERT INTO labels VALUES (%s, %s, %s)
ON CONFLICT (run) DO UPDATE SET owner = excluded.owner, label = excluded.label
"""


class SharedFeedback:
    """The last label of each run."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database

    def add(self, owner: str, run: str, feedback: Feedback, result: Result) -> None:
        """Keep a label. Raises `RequestError` if it cannot be kept."""
        label = as_json(label_of(run, feedback, result).model_dump(mode="json"))
        with self._database.transaction() as connection:
            connection.execute(ADD, (run, owner, label))

    def labels(self) -> list[Label]:
        """Return the last label of each run of all owners, the oldest first. Raises `RequestError`."""
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT label FROM labels").fetchall()
        return sorted(labels_in(row[0].encode() for row in rows), key=lambda one: one.at)
