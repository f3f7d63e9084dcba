"""Kill runs at random moments and resume them; no finished node may be paid for again.

    python -m tests.stress.graph_kills [--kills 200] [--seed 1] [--at-once 4]

Each life is a process that asks a few questions side by side of a model server in this process, with its checkpoints in
one SQLite file, by ``invoke`` and ``ainvoke`` in turns. It is sent SIGKILL at a moment drawn evenly over the time that
the questions take, and the next life resumes them. The server knows each call by its life, its question and its prompt.
Before, each question is run with a graph of its own for every step: what those ask is what each turn of a node costs.
It writes ``bench/kills.json`` and ends with 1 if anything was violated.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from typing import Any

import aiosqlite
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.harness import listed, option_parser, show_progress
from run.state import SelfRAGState
from tests.integration.graph.invariants import violations
from tests.stress.harness import PROCESSES, Tally, ended_alone, start
from tests.stress.recorder import PLAIN, Expected, Recorder, bound, context_of, finished, start_of, stepwise, thread_of

HUNG_SECONDS = 120
OWN = ("run", "seconds", "usage", "path")  # what two runs of one question may differ in


def main() -> None:
    """Kill, resume, count, print."""
    options = option_parser(__doc__, kills=200, seed=1, at_once=4).parse_args()
    PROCESSES.set_forkserver_preload(["tests.stress.recorder", "langchain_openai"])
    tally = asyncio.run(kill_all(options.kills, options.seed, options.at_once))
    enough, forgotten = tally.counts["calls without kills"], tally.counts["forgotten"]
    tally.again = tally.calls - enough - forgotten
    rows = [
        ("kills", f"{tally.kills} in {tally.lives} lives of {tally.outcomes.total()} questions"),
        ("outcomes", listed(tally.outcomes)),
        ("nodes that a kill struck", listed(tally.struck)),
        ("calls", f"{tally.calls:,}, where {enough:,} are enough without kills"),
        ("made again, unfinished", f"{tally.again:,}, {tally.again / max(1, tally.kills):.1f} a kill"),
        ("asked anew, forgotten", f"{forgotten:,}"),
    ]
    tally.conclude("kills", rows, seed=options.seed)


async def kill_all(kills: int, seed: int, at_once: int) -> Tally:
    """Run batches of questions until ``kills`` processes were killed and every question is answered."""
    tally, dice, first = Tally(), Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        async with Recorder(seed).listening() as recorder:
            while tally.kills < kills:
                batch = Batch(Path(folder), list(range(first, first + at_once)), recorder)
                await batch.prepare()
                await batch.kill(tally, dice, kills)
                first += at_once
    return tally


@dataclass
class Batch:
    """Questions asked concurrently, with each one's expected calls and final state."""

    folder: Path
    numbers: list[int]
    recorder: Recorder
    expected: dict[int, Expected] = field(default_factory=dict)
    reference: dict[int, SelfRAGState] = field(default_factory=dict)
    span: float = 0.0
    enough: int = 0

    async def prepare(self) -> None:
        """Record each question's calls step by step, and time an undisturbed run of all."""
        for number in self.numbers:
            self.expected[number], self.reference[number] = await stepwise(number, self.recorder)
        before = len(self.recorder.calls)
        self.span = await self.live("whole")
        self.enough = sum(call.life == "whole" for call in self.recorder.calls[before:])

    async def kill(self, tally: Tally, dice: Random, kills: int) -> None:
        """Start and kill processes until every question has its outcome."""
        path = self.folder / f"{self.numbers[0]}.sqlite"
        finals: dict[int, Any] = {}
        while len(finals) < len(self.numbers):
            saved, before, name = saved_in(path, self.numbers), len(self.recorder.calls), f"life-{tally.lives}"
            moment = dice.uniform(0, self.span) if tally.kills < kills else None
            killed = await self.live(name, path.stem, sync=tally.lives % 2 == 1, moment=moment) == 0.0
            tally.lives += 1
            tally.kills += killed
            await asyncio.sleep(0.02)  # what was sent before the kill has come by then
            calls = [call for call in self.recorder.calls[before:] if call.life == name]
            after = saved_in(path, self.numbers)
            for number in self.numbers:
                done = finished(saved[number])
                mine = [call for call in calls if call.question == number]
                tally.violated += self.expected[number].violations(mine, done)
                tally.counts["forgotten"] += self.expected[number].forgotten(mine, done)
                tally.struck.update({call.node for call in mine if killed} - set(finished(after[number]) - done))
            tally.calls += len(calls)
            finals = ended_in(path, self.numbers)
            show_progress(f"{tally.kills} kills, {tally.lives} lives")
        tally.counts["calls without kills"] += self.enough
        for number, final in finals.items():
            tally.outcomes[final["outcome"]] += 1
            found = violations(final, start_of(number)["question"], context_of(number))
            found += differences(final, self.reference[number])
            tally.violated += [f"question {number}: {text}" for text in found]

    async def live(
        self, name: str, stem: str | None = None, *, sync: bool = False, moment: float | None = None
    ) -> float:
        """Run one process; return its duration in seconds, 0 if killed ``moment`` seconds after it began."""
        begun = PROCESSES.Event()
        path = self.folder / f"{stem or f'{name}-{self.numbers[0]}'}.sqlite"
        process = start(live, path, self.recorder.base_url, name, self.numbers, sync, begun)
        await asyncio.to_thread(begun.wait, HUNG_SECONDS)
        began = time.perf_counter()
        if not await asyncio.to_thread(ended_alone, process, HUNG_SECONDS if moment is None else moment):
            if moment is None:
                raise TimeoutError(f"a life of the questions {self.numbers} hung")
            return 0.0
        if process.exitcode:
            raise RuntimeError(f"a life of the questions {self.numbers} ended with {process.exitcode}")
        return time.perf_counter() - began


def opened(path: Path) -> SqliteSaver:
    """Open a checkpoint file for synchronous use."""
    return SqliteSaver(sqlite3.connect(path, check_same_thread=False), serde=PLAIN)


def live(path: Path, base_url: str, name: str, numbers: Sequence[int], sync: bool, begun: Event) -> None:
    """Ask or resume the questions concurrently until each has an outcome; set ``begun`` before the first."""
    asyncio.run(_live(path, base_url, name, numbers, sync, begun))


async def _live(path: Path, base_url: str, name: str, numbers: Sequence[int], sync: bool, begun: Event) -> None:
    async with aiosqlite.connect(path) as connection:
        saver = opened(path) if sync else AsyncSqliteSaver(connection, serde=PLAIN)
        graph, chat = bound(base_url, name, saver)

        async def ask(number: int) -> None:
            how: dict[str, Any] = {"context": context_of(number), "durability": "sync"}
            thread = thread_of(number)
            state = await (asyncio.to_thread(graph.get_state, thread) if sync else graph.aget_state(thread))
            if state.values.get("outcome"):
                return
            given: Any = start_of(number) if state.created_at is None else None
            if sync:
                invoke: Any = graph.invoke
                await asyncio.to_thread(invoke, given, thread, **how)
            else:
                await graph.ainvoke(given, thread, **how)

        begun.set()
        await asyncio.gather(*(ask(number) for number in numbers))
        await chat.aclose()


def saved_in(path: Path, numbers: Sequence[int]) -> dict[int, Any]:
    """The last checkpoint of each question, None where there is none."""
    saver = opened(path)
    with closing(saver.conn):
        return {number: saver.get_tuple(thread_of(number)) for number in numbers}


def ended_in(path: Path, numbers: Sequence[int]) -> dict[int, Any]:
    """The state of each question that has its outcome, also if a kill struck before its last checkpoint."""
    saver = opened(path)
    with closing(saver.conn):
        graph, _ = bound("http://127.0.0.1:9", "nobody", saver)
        states = {number: graph.get_state(thread_of(number)).values for number in numbers}
    return {number: state for number, state in states.items() if state.get("outcome")}


def differences(final: SelfRAGState, reference: SelfRAGState) -> list[str]:
    """Differences from the undisturbed run."""
    known: Any = reference
    found = [f"{key} is not as without kills" for key, value in final.items() if key not in OWN and value != known[key]]
    nodes, expected = (sorted(step["node"] for step in state["path"]) for state in (final, reference))
    if nodes != expected:
        found.append(f"went {nodes} where {expected} is the way without kills")
    if final["usage"]["model_calls"] > reference["usage"]["model_calls"]:
        found.append("usage counts more calls than the finished nodes made")
    return found


if __name__ == "__main__":
    main()
