"""A stream that its caller leaves, closes or cancels ends all that the question held, and at once."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langgraph.config import get_stream_writer

from graph.builder import build_graph
from run.execution import SharedResources
from tests.integration.graph.sky import asking, critic
from tests.scripted import ScriptedGenerator, ScriptedRetriever, services

ROOT = Path(__file__).parents[3]
STREAMS = 12
ASKING = asking()


class Endless(ScriptedRetriever):
    """Counts the searches that are under way; none is ever done."""

    def __init__(self) -> None:
        super().__init__(always=["So."])
        self.begun = self.under_way = 0
        self.ended = threading.Event()

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        self.begun += 1
        self.under_way += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.under_way -= 1
            self.ended.set()
        raise AssertionError("unreachable")


def graph(retriever: ScriptedRetriever) -> Any:
    return build_graph(services(ScriptedGenerator(), critic(), retriever))


def runs() -> int:
    gc.collect()
    return sum(isinstance(one, SharedResources) for one in gc.get_objects())


async def close(stream: Any) -> None:
    await anext(stream)
    await stream.aclose()


async def leave(stream: Any) -> None:
    async for _ in stream:
        break


async def cancel(stream: Any) -> None:
    await anext(stream)
    task = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("end", [close, leave, cancel])
async def test_nothing_is_left_of_streams_that_ended_early(end: Callable[[Any], Any]) -> None:
    retriever, before = Endless(), runs()
    asked = graph(retriever)
    for _ in range(STREAMS):
        await end(asked.astream(ASKING, stream_mode="updates"))
    assert retriever.begun == STREAMS
    async with asyncio.timeout(30):  # the event loop closes a stream that was left, and ends cancelled tasks
        while asyncio.all_tasks() != {asyncio.current_task()} or runs() > before:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert retriever.under_way == 0


@pytest.mark.timeout(60)
def test_nothing_is_left_of_synchronous_streams_that_ended_early() -> None:
    retriever, before = Endless(), runs()
    asked = graph(retriever)
    for number in range(STREAMS):
        retriever.ended.clear()
        stream = asked.stream(ASKING, stream_mode="updates")
        next(stream)
        if number % 2:
            stream.close()
        else:
            del stream
        assert retriever.ended.wait(30)
    assert retriever.begun == STREAMS
    while runs() > before:  # the last search is ending in its thread
        time.sleep(0.01)


async def test_nothing_is_left_of_a_run_that_failed() -> None:
    class Broken(ScriptedRetriever):
        async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
            raise OSError("the disk is gone")

    before = runs()
    with pytest.raises(OSError, match="the disk is gone"):
        await graph(Broken()).ainvoke(ASKING)
    async with asyncio.timeout(30):  # a task beside the one that failed may still be ending
        while runs() > before:  # noqa: ASYNC110
            await asyncio.sleep(0)


@pytest.mark.timeout(30)
def test_a_synchronous_stream_that_is_closed_does_not_wait_for_its_nodes() -> None:
    ended = threading.Event()

    async def tell_and_wait(kind: str) -> None:
        if kind == "relevance":
            get_stream_writer()("grading")
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

    judge = critic()
    judge.wait = tell_and_wait
    asked = build_graph(services(ScriptedGenerator(), judge, ScriptedRetriever(always=["So."])))
    stream: Any = asked.stream(ASKING, stream_mode="custom")
    assert next(stream) == "grading"
    stream.close()
    assert ended.wait(30)


def test_a_program_that_ends_with_streams_open_ends_in_silence() -> None:
    program = """
import asyncio
from tests.integration.graph.sky import AIR, GOOD, QUESTION, critic
from graph.builder import build_graph
from tests.scripted import ScriptedGenerator, ScriptedRetriever, services

graph = build_graph(services(ScriptedGenerator(drafts=[GOOD] * 2), critic(), ScriptedRetriever(always=[AIR])))
kept = [graph.stream({"question": QUESTION}), graph.astream({"question": QUESTION})]

async def begin():
    await anext(kept[1])

next(kept[0])
asyncio.run(begin())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
