"""A run that dies at any node goes on from there, pays for nothing twice, and keeps to its limits."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import aiosqlite
import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from app.conversations.checkpoints import PLAIN
from graph.builder import SelfRAGGraph, build_graph
from run.context import Context, Limits
from run.state import SelfRAGState
from tests.integration.graph.played import CLOCK, simulate_time
from tests.integration.graph.sky import AIR, BAD, GOOD, QUESTION, SALT, SEA, Died, critic, look_at, nodes_of, thread
from tests.scripted import ScriptedGenerator, ScriptedRetriever, services

SUM = "What is 2+2?"
ROOMY = Limits(model_calls=100)
WAY = [
    *("decide", "retrieve", "grade_documents", "rewrite_query", "retrieve", "grade_documents"),
    *("generate", "answer_check", "hallucination_check", "select"),
    *("generate", "answer_check", "hallucination_check", "select", "finish"),
]
CALLS = Counter(retrieve=1, relevance=3, query=1, draft=1, support=3, usefulness=2, reason=1, mend=1)
WHOLE = CALLS + Counter({f"search {QUESTION}": 1, "search air": 1})


@dataclass
class Life:
    """One process: a graph of its own over models that may die at the n-th call of a kind, and count all calls."""

    dies_at: str | None = None
    turn: int = 1
    slow: float = 0.0
    seen: Counter[str] = field(default_factory=Counter)

    async def wait(self, kind: str) -> None:
        self.seen[kind] += 1
        CLOCK.ahead += self.slow
        if kind == self.dies_at and self.seen[kind] == self.turn:
            await asyncio.sleep(0.05)  # what runs beside it finishes, and is kept
            raise Died
        await asyncio.sleep(0)

    def graph(self, saver: BaseCheckpointSaver[Any]) -> SelfRAGGraph:
        """Nothing relevant at first; then a draft of which one claim fails; then a good one."""
        said = {"draft": f"{GOOD} {BAD}", "mend": GOOD, "query": "air", "direct": "4"}
        generator = ScriptedGenerator(forever=lambda name, turn: said[name], wait=self.wait)
        judge = critic({SUM: "direct"}, support=lambda claim: "no support" if claim == BAD else "fully supported")
        judge.wait = self.wait
        return build_graph(services(generator, judge, Shelf({QUESTION: [SALT, SEA], "air": [AIR, SALT]}, self)), saver)


class Shelf(ScriptedRetriever):
    """A retriever that may die too."""

    def __init__(self, found: dict[str, list[str]], life: Life) -> None:
        super().__init__(found)
        self.life = life

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        await self.life.wait(f"search {input}")
        return await super().ainvoke(input, k=k)


Running = Callable[..., Awaitable[SelfRAGState]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints.sqlite"


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    simulate_time(monkeypatch)
    yield
    CLOCK.ahead = 0.0


@pytest.fixture
async def run(path: Path) -> AsyncIterator[Running]:
    """Ask the question, or resume it with ``question`` None, in a life with connections of its own."""
    opened: list[aiosqlite.Connection] = []

    async def ask(
        life: Life, question: str | None = None, limits: Limits = ROOMY, *, sync: bool = False
    ) -> SelfRAGState:
        start: Any = {"question": question} if question else None
        how: Any = {"context": Context(limits=limits), "durability": "sync"}
        if sync:
            with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
                graph = life.graph(SqliteSaver(connection, serde=PLAIN))
                return cast("SelfRAGState", graph.invoke(start, thread("a"), **how))
        opened.append(await aiosqlite.connect(path))
        graph = life.graph(AsyncSqliteSaver(opened[-1], serde=PLAIN))
        return cast("SelfRAGState", await graph.ainvoke(start, thread("a"), **how))

    yield ask
    for connection in opened:
        await connection.close()


# Where it dies; what is made again; and how many verdicts a later node asks anew: the second draft keeps a claim of the
# first, and what a process remembers of its verdicts dies with it.
DEATHS: list[tuple[str, int, dict[str, int], int]] = [
    ("retrieve", 1, {"retrieve": 1, f"search {QUESTION}": 1}, 0),
    (f"search {QUESTION}", 1, {f"search {QUESTION}": 1}, 0),
    ("relevance", 1, {"relevance": 2}, 0),
    ("relevance", 2, {"relevance": 2}, 0),
    ("query", 1, {"query": 1}, 0),
    ("search air", 1, {"search air": 1}, 0),
    ("relevance", 3, {"relevance": 1}, 0),
    ("draft", 1, {"draft": 1}, 0),
    ("support", 1, {"support": 2}, 0),
    ("support", 2, {"support": 2}, 0),
    ("reason", 1, {"support": 3, "reason": 1}, 0),
    ("support", 3, {"support": 3}, 0),
    ("usefulness", 1, {"usefulness": 1}, 1),
    ("mend", 1, {"mend": 1}, 1),
    ("usefulness", 2, {"usefulness": 1}, 0),
]


@pytest.mark.parametrize(
    ("dies_at", "turn", "again", "anew", "sync"),
    [*((*one, False) for one in DEATHS), *((*one, True) for one in DEATHS[::3])],
)
async def test_a_run_that_dies_asks_again_only_what_its_unfinished_node_asks(
    run: Running, dies_at: str, turn: int, again: dict[str, int], anew: int, sync: bool
) -> None:
    first, second = Life(dies_at, turn), Life()
    with pytest.raises(Died):
        await run(first, QUESTION, sync=sync)
    final = await run(second, sync=sync)
    assert (final["outcome"], final["answer"]) == ("grounded", GOOD)
    look_at(final, ROOMY, QUESTION)
    assert sorted(nodes_of(final)) == sorted(WAY)
    assert first.seen + second.seen - WHOLE == Counter(again) + Counter(support=anew)
    assert final["usage"]["model_calls"] == CALLS.total() + anew


@pytest.mark.parametrize("dies_at", ["retrieve", "direct", "usefulness"])
async def test_a_direct_answer_is_resumed(run: Running, dies_at: str) -> None:
    first, second = Life(dies_at), Life()
    with pytest.raises(Died):
        await run(first, SUM)
    final = await run(second)
    assert (final["outcome"], final["answer"], final["citations"]) == ("direct", "4", [])
    made = first.seen + second.seen
    assert made - Counter({f"search {SUM}": 2}) == Counter(retrieve=1, direct=1, usefulness=1) + Counter({dies_at: 1})
    assert final["usage"]["model_calls"] == 3


@pytest.mark.parametrize("calls", range(1, 13))
@pytest.mark.parametrize("dies_at", ["relevance", "draft", "mend"])
async def test_limits_hold_over_both_lives(run: Running, dies_at: str, calls: int) -> None:
    limits = Limits(model_calls=calls)
    first, second = Life(dies_at), Life()
    try:
        final = await run(first, QUESTION, limits)
    except Died:
        final = await run(second, None, limits)
    look_at(final, limits, QUESTION)
    assert final["usage"]["model_calls"] <= calls
    assert sum(count for kind, count in second.seen.items() if not kind.startswith("search")) <= calls


async def test_the_time_in_which_nothing_ran_does_not_count(run: Running) -> None:
    first, second = Life("mend"), Life()
    with pytest.raises(Died):
        await run(first, QUESTION, Limits(seconds=60))
    CLOCK.ahead += 3600
    final = await run(second, None, Limits(seconds=60))
    assert (final["outcome"], final["stop_reason"]) == ("grounded", "accepted")
    assert final["seconds"] < 60


async def test_the_time_of_finished_nodes_counts(run: Running) -> None:
    first, second = Life("mend", slow=7), Life()
    with pytest.raises(Died):
        await run(first, QUESTION, Limits(seconds=1000))
    assert (await run(second, None, Limits(seconds=40)))["stop_reason"] == "limit_seconds"


async def test_a_graph_that_lives_on_resumes_as_a_new_one_does(path: Path) -> None:
    """What failed was no death: a search that raised, an hour ago."""
    life = Life("search air")
    async with aiosqlite.connect(path) as connection:
        graph = life.graph(AsyncSqliteSaver(connection, serde=PLAIN))
        context = Context(limits=Limits(seconds=60))
        with pytest.raises(Died):
            await graph.ainvoke({"question": QUESTION}, thread("a"), context=context, durability="sync")
        CLOCK.ahead += 3600
        final = await graph.ainvoke(None, thread("a"), context=context, durability="sync")
    assert (final["outcome"], final["stop_reason"]) == ("grounded", "accepted")
    assert final["usage"]["model_calls"] == CALLS.total()


async def test_checkpoints_hold_plain_values_only(run: Running, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing in the file is unpickled, and nothing that it names is imported but what LangGraph itself allows."""
    with pytest.raises(Died):
        await run(Life("usefulness"), QUESTION)
    final = await run(Life())
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        kinds = connection.execute("SELECT type FROM checkpoints UNION SELECT type FROM writes").fetchall()
        assert {kind for (kind,) in kinds} <= {"msgpack", "null"}
        saved = list(SqliteSaver(connection, serde=PLAIN).list(thread("a")))
    assert len(saved) > len(set(WAY))
    for one in saved:
        values = one.checkpoint["channel_values"]
        assert json.loads(json.dumps(values)) == values
    assert saved[0].checkpoint["channel_values"]["answer"] == final["answer"]
    assert caplog.records == []
