"""A process that asks or resumes questions, as a program that keeps its checkpoints in SQLite would."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, cast

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.faults.shelf import THINGS, Shelf, passages
from graph.builder import SelfRAGGraph, build_graph
from graph.context import Context, Limits, Services
from graph.state import SelfRAGState
from models.chat import Chat
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator

ROOMY = Limits(rewrites=2, drafts=3, model_calls=500, tokens=10**7, seconds=600)
# Plain values only: nothing in a file of checkpoints is unpickled or imported by name.
PLAIN = JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None)


def context_of(number: int) -> Context:
    """Every other question with one draft a passage."""
    return Context(strategy="per-passage" if number % 2 else "combined", limits=ROOMY)


def start_of(number: int) -> SelfRAGState:
    """The input of a question."""
    return cast("SelfRAGState", {"question": f"What does ticket {number} say about the {THINGS[number % 10]}?"})


def thread_of(number: int) -> RunnableConfig:
    """Where its checkpoints are."""
    return {"configurable": {"thread_id": str(number), "checkpoint_ns": ""}, "recursion_limit": ROOMY.steps}


def bound(base_url: str, name: str, saver: BaseCheckpointSaver[Any]) -> tuple[SelfRAGGraph, Chat]:
    """A graph over the model ``name`` at ``base_url``, and its client."""
    chat = openai_chat(name, base_url=base_url, api_key="none", call_seconds=60)
    return build_graph(Services(Generator(chat), Critic(chat), Shelf(passages())), saver), chat


def opened(path: Path) -> SqliteSaver:
    """The file of checkpoints, for synchronous use."""
    return SqliteSaver(sqlite3.connect(path, check_same_thread=False), serde=PLAIN)


def live(path: Path, base_url: str, name: str, numbers: Sequence[int], sync: bool, begun: Event) -> None:
    """Ask or resume the questions side by side until each has its outcome; ``begun`` is set before the first."""
    if sync:
        _live(path, base_url, name, numbers, begun)
    else:
        asyncio.run(_alive(path, base_url, name, numbers, begun))


def _live(path: Path, base_url: str, name: str, numbers: Sequence[int], begun: Event) -> None:
    graph, _ = bound(base_url, name, opened(path))

    def ask(number: int) -> None:
        thread, state = thread_of(number), graph.get_state(thread_of(number))
        if not state.values.get("outcome"):
            begun = start_of(number) if state.created_at is None else None
            graph.invoke(begun, thread, context=context_of(number), durability="sync")

    begun.set()
    with ThreadPoolExecutor(len(numbers)) as pool:
        list(pool.map(ask, numbers))


async def _alive(path: Path, base_url: str, name: str, numbers: Sequence[int], begun: Event) -> None:
    async with aiosqlite.connect(path) as connection:
        graph, chat = bound(base_url, name, AsyncSqliteSaver(connection, serde=PLAIN))

        async def ask(number: int) -> None:
            thread, state = thread_of(number), await graph.aget_state(thread_of(number))
            if not state.values.get("outcome"):
                begun = start_of(number) if state.created_at is None else None
                await graph.ainvoke(begun, thread, context=context_of(number), durability="sync")

        begun.set()
        await asyncio.gather(*(ask(number) for number in numbers))
        await chat.aclose()
