"""Kill runs at random moments and resume them; no finished node may be paid for again.

    python -m tests.stress.graph_kills [--kills 200] [--seed 1] [--at-once 4]

Each life is a process that asks a few questions side by side of a model server in this process, with its checkpoints in
one SQLite file, by ``invoke`` and ``ainvoke`` in turns. It is sent SIGKILL at a moment drawn evenly over the time that
the questions take, and the next life resumes them. The server knows each call by its life, its question and its prompt.
Before, each question is run with a graph of its own for every step: what those ask is what each turn of a node costs.
It writes ``bench/kills.json`` and ends with 1 if anything was violated.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.harness import aligned, end, end_progress, listed, option_parser, show_progress
from graph.state import SelfRAGState
from tests.integration.graph.invariants import violations
from tests.stress.graph_kills.recorder import Call, Expected, Recorder, finished
from tests.stress.graph_kills.worker import PLAIN, bound, context_of, live, opened, start_of, thread_of

HUNG_SECONDS = 120
OWN = ("run", "seconds", "usage", "path")  # what two runs of one question may differ in
PROCESSES = multiprocessing.get_context("forkserver")


@dataclass
class Tally:
    """Counts over all processes."""

    kills: int = 0
    lives: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    enough: int = 0
    forgotten: int = 0
    violated: list[str] = field(default_factory=list)


def main() -> None:
    """Kill, resume, count, print."""
    options = option_parser(__doc__, kills=200, seed=1, at_once=4).parse_args()
    PROCESSES.set_forkserver_preload(["tests.stress.graph_kills.worker", "langchain_openai"])
    began = time.perf_counter()
    tally = asyncio.run(kill_all(options.kills, options.seed, options.at_once))
    figures = {
        "kills": tally.kills,
        "lives": tally.lives,
        "questions": tally.outcomes.total(),
        "outcomes": dict(tally.outcomes),
        "unfinished_nodes": dict(tally.struck),
        "calls": tally.calls,
        "calls_without_kills": tally.enough,
        "forgotten": tally.forgotten,
        "violations": len(tally.violated),
        "seed": options.seed,
        "seconds": time.perf_counter() - began,
    }
    print(table(figures))
    end("kills", figures, tally.violated)


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
    end_progress()
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
            seconds = await self.live(name, path.stem, sync=tally.lives % 2 == 1, moment=moment)
            killed = seconds == 0.0
            tally.lives += 1
            tally.kills += killed
            await asyncio.sleep(0.02)  # what was sent before the kill has come by then
            calls = [call for call in self.recorder.calls[before:] if call.life == name]
            after = saved_in(path, self.numbers)
            for number in self.numbers:
                done = finished(saved[number])
                mine = [call for call in calls if call.question == number]
                tally.violated += self.expected[number].violations(mine, done)
                tally.forgotten += self.expected[number].forgotten(mine, done)
                tally.struck.update({call.node for call in mine if killed} - set(finished(after[number]) - done))
            tally.calls += len(calls)
            finals = ended_in(path, self.numbers)
            show_progress(f"{tally.kills} kills, {tally.lives} lives")
        tally.enough += self.enough
        for number, final in finals.items():
            tally.outcomes[final["outcome"]] += 1
            found = violations(final, start_of(number)["question"], context_of(number))
            tally.violated += [f"question {number}: {text}" for text in found]
            tally.violated += [f"question {number}: {text}" for text in differences(final, self.reference[number])]

    async def live(
        self, name: str, stem: str | None = None, *, sync: bool = False, moment: float | None = None
    ) -> float:
        """Run one process; return its duration in seconds, 0 if killed ``moment`` seconds after it began."""
        begun = PROCESSES.Event()
        path = self.folder / f"{stem or f'{name}-{self.numbers[0]}'}.sqlite"
        process = PROCESSES.Process(target=live, args=(path, self.recorder.base_url, name, self.numbers, sync, begun))
        process.start()
        await asyncio.to_thread(begun.wait, HUNG_SECONDS)
        began = time.perf_counter()
        await asyncio.to_thread(process.join, HUNG_SECONDS if moment is None else moment)
        seconds = time.perf_counter() - began
        if process.exitcode is None:
            process.kill()
            await asyncio.to_thread(process.join)
            if moment is None:
                raise TimeoutError(f"a life of the questions {self.numbers} hung")
            return 0.0
        if process.exitcode:
            raise RuntimeError(f"a life of the questions {self.numbers} ended with {process.exitcode}")
        return seconds


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


def table(figures: Mapping[str, Any]) -> str:
    """Format the figures."""
    again = figures["calls"] - figures["calls_without_kills"] - figures["forgotten"]
    rows = [
        ("kills", f"{figures['kills']} in {figures['lives']} lives of {figures['questions']} questions"),
        ("outcomes", listed(figures["outcomes"])),
        ("nodes that a kill struck", listed(figures["unfinished_nodes"])),
        ("calls", f"{figures['calls']:,}, where {figures['calls_without_kills']:,} are enough without kills"),
        ("made again, unfinished", f"{again:,}, {again / max(1, figures['kills']):.1f} a kill"),
        ("asked anew, forgotten", f"{figures['forgotten']:,}"),
        ("seconds", f"{figures['seconds']:.0f}"),
        ("violations", f"{figures['violations']}"),
    ]
    return aligned(rows)


if __name__ == "__main__":
    main()
