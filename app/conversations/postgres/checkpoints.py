"""LangGraph's checkpoints in the shared schema, written by the holder of a lease alone."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
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


class _ThreadedSaver(PostgresSaver):
    """LangGraph's synchronous checkpointer over our connections, called in threads from the event loop."""

    def __init__(self, database: SharedDatabase, lease: Lease) -> None:
        super().__init__(cast("Any", None), serde=PLAIN)  # it asks for connections in `_cursor` alone
        self._database = database
        self._lease = lease

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[Cursor[DictRow]]:
        """Yield a cursor in a transaction; ``pipeline`` is true of what writes."""
        with self._database.transaction() as connection:
            if pipeline:
                self._lease.require(Marked(connection))
            with connection.cursor(binary=True, row_factory=dict_row) as cursor:
                yield cursor

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)


class SharedSaver(ForgivingSaver, _ThreadedSaver):
    """The checkpoints of one question; one saver a question, since LangGraph's waits for itself."""

    errors = (RequestError,)
