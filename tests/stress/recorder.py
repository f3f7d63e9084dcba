"""Ask questions of a model that records every call, and judge from the calls whether resumed runs paid twice."""

import hashlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Self, cast

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from app.conversations.checkpoints import PLAIN
from core.types import Length
from graph.builder import SelfRAGGraph, build_graph
from models.chat import Chat
from models.connect import openai_chat
from run.context import Context, Limits
from run.state import SelfRAGState
from tests.integration.loopback import Loopback, Sent
from tests.integration.misbehaviour import Wire, reply
from tests.stress.random_model import completion_for, node_of
from tests.stress.tickets import question_of, services_of, ticket_of

CALL_SECONDS = 0.004
NOWHERE = "http://127.0.0.1:9"
ROOMY = Limits(rewrites=2, drafts=3, model_calls=500, tokens=10**7, seconds=600)
Done = Mapping[str, int]  # how many times each node of a question has finished


@dataclass(frozen=True)
class Call:
    """One call as the server saw it. ``prompt`` is a hash; each process uses its own model name (``life``)."""

    question: int
    node: str
    prompt: str
    life: str


class Recorder(Loopback):
    """Reply to a prompt at random, but always the same; keep every call."""

    def __init__(self, seed: int) -> None:
        super().__init__(self.answer)
        self.seed = seed
        self.calls: list[Call] = []

    def answer(self, sent: Sent) -> Wire:
        request = sent.body
        messages = request["messages"]
        asked = json.dumps([messages, request.get("response_format")], sort_keys=True)
        prompt = hashlib.sha256(f"{self.seed} {asked}".encode()).hexdigest()[:16]
        self.calls.append(Call(int(ticket_of(messages)), node_of(messages), prompt, request["model"]))
        said = reply(completion_for(request, Random(prompt)), stream=bool(request.get("stream")))
        return replace(said, pause=CALL_SECONDS)


@dataclass
class Expected:
    """The calls of each turn of each node when nothing but the state survives a step."""

    turns: dict[str, list[Counter[str]]]

    @classmethod
    def of(cls, steps: Sequence[Iterable[str]], calls: Sequence[Sequence[Call]]) -> Self:
        turns: defaultdict[str, list[Counter[str]]] = defaultdict(list)
        for nodes, made in zip(steps, calls, strict=True):
            for node in nodes:
                turns[node].append(Counter(call.prompt for call in made if call.node == node))
        return cls(dict(turns))

    def violations(self, calls: Iterable[Call], done: Done) -> list[str]:
        """Calls of one process, started after ``done``, that belong to no unfinished turn of their node."""
        found = []
        made: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for call in calls:
            made[call.node][call.prompt] += 1
        for node, prompts in made.items():
            turns = self.turns.get(node, [])
            allowed = sum(turns[done.get(node, 0) :], Counter[str]())
            paid = sum(turns[: done.get(node, 0)], Counter[str]())
            for prompt in prompts - allowed:
                was = "was paid for already" if prompt in paid else "is in no run without kills"
                found.append(f"{node} made a call that {was}")
        return found

    def again(self, calls: Iterable[Call]) -> int:
        """Count the calls of all processes that no run without kills makes."""
        once = sum((prompts for turns in self.turns.values() for prompts in turns), Counter[str]())
        return (Counter(call.prompt for call in calls) - once).total()


def state_in(saver: BaseCheckpointSaver[Any], thread: str) -> dict[str, Any]:
    """The state of a run by its checkpoints, with what nodes wrote that have finished since the last."""
    graph, _ = bound(NOWHERE, "nobody", saver)
    return dict(graph.get_state({"configurable": {"thread_id": thread, "checkpoint_ns": ""}}).values)


def saved_in(path: Path, runs: Iterable[str]) -> dict[str, dict[str, Any]]:
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection, serde=PLAIN)
        return {run: state_in(saver, run) for run in runs}


def nodes_of(state: Mapping[str, Any]) -> Counter[str]:
    return Counter(step["node"] for step in state.get("path") or [])


def differences(state: Mapping[str, Any], reference: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """What of a run is not as in the one that nothing killed: these fields, or its way."""
    found = [f"{name} is not as without kills" for name in names if state[name] != reference[name]]
    went, expected = nodes_of(state), nodes_of(reference)
    went.pop("contextualize", None)  # which a thread adds
    if went != expected:
        found.append(f"went {dict(went)} where {dict(expected)} is the way without kills")
    return found


def context_of(number: int) -> Context:
    """Alternate between the two draft strategies; every third answer is a long one."""
    length: Length | None = "long" if number % 3 == 0 else None
    return Context(strategy="per-passage" if number % 2 else "combined", length=length, limits=ROOMY)


def start_of(number: int) -> SelfRAGState:
    return cast("SelfRAGState", {"question": question_of(number)})


def thread_of(number: int) -> Any:
    return {"configurable": {"thread_id": str(number)}, "recursion_limit": ROOMY.steps}


def bound(base_url: str, name: str, saver: BaseCheckpointSaver[Any]) -> tuple[SelfRAGGraph, Chat]:
    """Build a graph over the model ``name`` at ``base_url``; return it with its client."""
    chat = openai_chat(name, base_url=base_url, api_key="none", call_seconds=60)
    return build_graph(services_of(chat), saver), chat


async def stepwise(number: int, recorder: Recorder) -> tuple[Expected, SelfRAGState]:
    """Run one question with a new graph for every step; return the calls of each step and the final state."""
    steps: list[list[str]] = []
    calls: list[list[Call]] = []
    async with aiosqlite.connect(":memory:") as connection:
        saver = AsyncSqliteSaver(connection, serde=PLAIN)
        values: Any = {}
        start: SelfRAGState | None = start_of(number)
        while not values.get("outcome"):
            name, before, path = f"step-{number}-{len(steps)}", len(recorder.calls), len(values.get("path") or [])
            graph, chat = bound(recorder.base_url, name, saver)
            values = await graph.ainvoke(start, thread_of(number), context=context_of(number), interrupt_after="*")
            await chat.aclose()
            start = None
            steps.append([step["node"] for step in values["path"][path:]])
            calls.append([call for call in recorder.calls[before:] if call.life == name])
    return Expected.of(steps, calls), cast("SelfRAGState", values)
