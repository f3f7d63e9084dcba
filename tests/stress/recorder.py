"""Ask questions of a model that records every call, and judge from the calls whether resumed runs paid twice."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Self, cast

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.builder import SelfRAGGraph, build_graph
from models.chat import Chat
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from prompts.answer_check import USEFULNESS
from prompts.compare_answers import BRIEF_ANSWER
from prompts.decide import RETRIEVE
from prompts.direct_generate import DIRECT_GENERATE
from prompts.generate import GENERATE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from prompts.rewrite_query import REWRITE_QUERY
from run.context import Context, Limits, Services
from run.state import SelfRAGState
from tests.integration.loopback import Loopback, Sent
from tests.integration.misbehaviour import Wire, reply
from tests.scripted import is_of, marks_of
from tests.stress.faults.random_model import completion_for
from tests.stress.faults.tickets import THINGS, TICKET, TicketRetriever, passages

CALL_SECONDS = 0.004
ROOMY = Limits(rewrites=2, drafts=3, model_calls=500, tokens=10**7, seconds=600)
# Plain values only: nothing in a file of checkpoints is unpickled or imported by name.
PLAIN = JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None)
Done = Mapping[str, int]  # how many times each node of a question has finished


@dataclass(frozen=True)
class Call:
    """One call as the server saw it. ``prompt`` is a hash; each process uses its own model name (``life``)."""

    question: int
    node: str
    prompt: str
    life: str


NODES = {
    marks_of(RETRIEVE.messages): "decide",
    marks_of(RELEVANCE.messages): "grade_documents",
    marks_of(REWRITE_QUERY): "rewrite_query",
    marks_of(GENERATE): "generate",
    marks_of(DIRECT_GENERATE): "direct_generate",
    marks_of(SUPPORT.messages): "hallucination_check",
    marks_of(USEFULNESS.messages): "answer_check",
    marks_of(BRIEF_ANSWER): "compare_answers",
}


class Recorder(Loopback):
    """Reply to a prompt at random, but always the same; keep every call."""

    def __init__(self, seed: int) -> None:
        super().__init__(self.answer)
        self.seed = seed
        self.calls: list[Call] = []

    def answer(self, sent: Sent) -> Wire:
        """The reply to one request."""
        request = sent.body
        messages = request["messages"]
        asked = json.dumps([messages, request.get("response_format")], sort_keys=True)
        prompt = hashlib.sha256(f"{self.seed} {asked}".encode()).hexdigest()[:16]
        number = int(TICKET.findall(str([one["content"] for one in messages]))[-1])
        node = next(node for marks, node in NODES.items() if is_of(messages, marks))
        self.calls.append(Call(number, node, prompt, request["model"]))
        said = reply(completion_for(request, Random(prompt)), stream=bool(request.get("stream")))
        return replace(said, pause=CALL_SECONDS)


@dataclass
class Expected:
    """The calls of each turn of each node when nothing but the state survives a step."""

    turns: dict[str, list[Counter[str]]]

    @classmethod
    def of(cls, steps: Sequence[Iterable[str]], calls: Sequence[Sequence[Call]]) -> Self:
        """Build from the nodes and the calls of each step."""
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

    def forgotten(self, calls: Iterable[Call], done: Done) -> int:
        """Count calls of unfinished turns that repeat a prompt of a finished turn."""
        paid = {node: set().union(*turns[: done.get(node, 0)]) for node, turns in self.turns.items()}
        return sum(call.prompt in paid.get(call.node, ()) for call in calls)


def finished(saved: Any) -> Counter[str]:
    """Count finished turns of each node in a checkpoint, pending writes included."""
    if saved is None:
        return Counter()
    steps = list(saved.checkpoint["channel_values"].get("path") or [])
    for _, channel, value in saved.pending_writes or ():
        if channel == "path":
            steps += getattr(value, "value", value)
    return Counter(step["node"] for step in steps)


def context_of(number: int) -> Context:
    """Alternate between the two draft strategies."""
    return Context(strategy="per-passage" if number % 2 else "combined", limits=ROOMY)


def start_of(number: int) -> SelfRAGState:
    """The input of a question."""
    return cast("SelfRAGState", {"question": f"What does ticket {number} say about the {THINGS[number % 10]}?"})


def thread_of(number: int) -> RunnableConfig:
    """The config of a question's thread."""
    return {"configurable": {"thread_id": str(number), "checkpoint_ns": ""}, "recursion_limit": ROOMY.steps}


def bound(base_url: str, name: str, saver: BaseCheckpointSaver[Any]) -> tuple[SelfRAGGraph, Chat]:
    """Build a graph over the model ``name`` at ``base_url``; return it with its client."""
    chat = openai_chat(name, base_url=base_url, api_key="none", call_seconds=60)
    return build_graph(Services(Generator(chat), Critic(chat), TicketRetriever(passages())), saver), chat


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
