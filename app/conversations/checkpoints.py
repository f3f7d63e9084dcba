"""Checkpoints, from which interrupted questions continue. An error in a checkpoint never stops a question."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from app.front_door import SelfRAG
from app.results.events import Event, ResumedNodes
from core.text import one_line, shown_path
from graph.builder import SelfRAGGraph
from retrieval.index.sqlite_files import create_private
from run.context import Context
from run.state import SelfRAGState

log = logging.getLogger("selfrag.threads")
# Plain values only: checkpoints are read without unpickling, and without importing what they name.
PLAIN = JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None)


class ForgivingSaver(BaseCheckpointSaver[str]):
    """A mixin that makes a synchronous LangGraph checkpointer asynchronous: its methods run in worker threads.

    If one of ``errors`` is raised when a checkpoint is written, the question goes on without checkpoints.
    """

    errors: ClassVar[tuple[type[Exception], ...]]
    closed = False  # or writing has failed: nothing is written from then on

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        if not self.closed:
            try:
                return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)
            except self.errors as error:
                self._fail(error)
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        if not self.closed:
            try:
                await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)
            except self.errors as error:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self.closed:
            return
        self.closed = True
        log.warning("checkpoints cannot be written (%s): a crash would now cost what the question has paid", error)


class FileSaver(ForgivingSaver, SqliteSaver):
    """The checkpoints of one question in a file of their own."""

    errors = (sqlite3.Error,)

    def __init__(self, path: Path) -> None:
        """Open or create the file. Raises ``sqlite3.Error`` and ``OSError``."""
        create_private(path)
        super().__init__(sqlite3.connect(path, check_same_thread=False), serde=PLAIN)
        self.setup()


@asynccontextmanager
async def open_checkpoints(path: Path) -> AsyncGenerator[FileSaver | None, None]:
    """Open the file of a question's checkpoints; yield None if it cannot be opened."""
    saver: FileSaver | None = None
    try:
        saver = await asyncio.to_thread(FileSaver, path)
    except (sqlite3.Error, OSError) as error:
        log.warning("%s cannot be opened: %s", shown_path(path), error)
    try:
        yield saver
    finally:
        if saver:
            saver.closed = True
            with saver.lock:  # a cancelled node may be writing
                saver.conn.close()


def answered(
    rag: SelfRAG,
    saver: BaseCheckpointSaver[str] | None,
    run: str,
    asked: SelfRAGState | None,
    context: Context | None,
    *,
    tokens: bool,
) -> AsyncGenerator[Event, None]:
    """Answer a question with checkpoints, event by event; if ``asked`` is None, continue from the last checkpoint."""
    if saver is None:
        return rag.astream_state(asked, context, tokens=tokens)
    config: RunnableConfig = {"configurable": {"thread_id": run}}
    return rag.with_checkpointer(saver).astream_state(asked, context, config, tokens=tokens)


async def can_resume(rag: SelfRAG, saver: BaseCheckpointSaver[str], run: str) -> bool:
    """True if a run's last checkpoint can be read, and the run has ended or can continue with this version's graph."""
    graph: SelfRAGGraph = rag.with_checkpointer(saver).graph
    try:
        snapshot = await graph.aget_state({"configurable": {"thread_id": run}})
        list(ResumedNodes.of(snapshot).events())
        return bool(snapshot.tasks or snapshot.values.get("outcome"))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the question can be begun anew
        log.warning("a checkpoint cannot be read, and its question is begun anew: %s", one_line(str(error)))
        return False
