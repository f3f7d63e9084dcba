"""LangGraph's checkpoints in the shared schema; only the holder of a lease writes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Cursor
from psycopg.rows import DictRow, dict_row

from app.conversations.checkpoints import PLAIN, ForgivingSaver
from app.conversations.postgres.database import Marked, SharedDatabase
from app.conversations.postgres.leases import Lease
from core.errors import RequestError

REMOVE = tuple(
    f"DELETE FROM {table} WHERE thread_id = ANY(%s)"  # noqa: S608 - constants
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
)


class SharedSaver(ForgivingSaver, PostgresSaver):
    """The checkpoints of one question. A shared saver would make questions wait for each other, as it has a lock."""

    errors = (RequestError,)

    def __init__(self, database: SharedDatabase, lease: Lease) -> None:
        super().__init__(cast("Any", None), serde=PLAIN)  # it gets its connections in `_cursor` only
        self._database = database
        self._lease = lease

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[Cursor[DictRow]]:
        """Yield a cursor in a transaction. ``pipeline`` is true for writes, which require the lease."""
        with self._database.transaction() as connection:
            if pipeline:
                self._lease.require(Marked(connection))
            with connection.cursor(binary=True, row_factory=dict_row) as cursor:
                yield cursor
