"""Kill runs at random moments and resume them; no finished node may be paid for again.

    python -m tests.stress.graph_kills [--kills 200] [--seed 1]

Each life is a process that asks a few questions side by side of a model server in this process, with its checkpoints
in one SQLite file. It is sent SIGKILL at a moment drawn evenly over the time that the questions take, and the next
life resumes them. The server knows each call by its life, its question and its prompt. Before, each question is run
with a graph of its own for every step: what those ask is what each turn of a node costs. It writes
``bench/kills.json`` and ends with 1 if anything was violated.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from typing import Any

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from app.conversations.checkpoints import PLAIN
from benchmarks.harness import listed, option_parser, show_progress
from tests.integration.graph.invariants import violations
from tests.stress.harness import PROCESSES, Tally, ended_alone, start
from tests.stress.recorder import (
    Recorder,
    bound,
    context_of,
    differences,
    nodes_of,
    saved_in,
    start_of,
    stepwise,
    thread_of,
)
from tests.stress.tickets import question_of

AT_ONCE = 4
HUNG_SECONDS = 120
OWN = {"run", "seconds", "usage", "path"}  # what two runs of one question may differ in


def main() -> None:
    options = option_parser(__doc__, kills=200, seed=1).parse_args()
    PROCESSES.set_forkserver_preload(["tests.stress.recorder", "langchain_openai"])
    tally = asyncio.run(kill_all(options.kills, options.seed))
    rows = [
        ("kills", f"{tally.kills} in {tally.lives} lives of {tally.outcomes.total()} questions"),
        ("outcomes", listed(tally.outcomes)),
        ("calls", f"{tally.calls:,}"),
        ("made again, unfinished", f"{tally.again:,}, {tally.again / max(1, tally.kills):.1f} a kill"),
    ]
    tally.conclude("kills", rows, seed=options.seed)


async def kill_all(kills: int, seed: int) -> Tally:
    """Ask a few questions at a time until ``kills`` processes were killed and every question is answered."""
    tally, dice, first = Tally(), Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        async with Recorder(seed).listening() as recorder:
            while tally.kills < kills:
                questions = range(first, first + AT_ONCE)
                await kill_some(tally, dice, kills, Lives(Path(folder) / f"{first}.sqlite", recorder, questions))
                first += AT_ONCE
    return tally


@dataclass
class Lives:
    """The processes that ask some questions, one after the other, with their checkpoints in one file."""

    path: Path
    recorder: Recorder
    questions: Sequence[int]

    async def run(self, name: str, moment: float | None = None, path: Path | None = None) -> float | None:
        """Run one process; return how many seconds it took, None if it was killed ``moment`` seconds after it began."""
        begun = PROCESSES.Event()
        process = start(live, path or self.path, self.recorder.base_url, name, self.questions, begun)
        await asyncio.to_thread(begun.wait, HUNG_SECONDS)
        began = time.perf_counter()
        alone = await asyncio.to_thread(ended_alone, process, HUNG_SECONDS if moment is None else moment)
        if not alone and moment is not None:
            return None
        if process.exitcode:
            raise RuntimeError(f"a life of the questions {self.questions} hung or ended with {process.exitcode}")
        return time.perf_counter() - began

    def saved(self) -> dict[str, dict[str, Any]]:
        return saved_in(self.path, map(str, self.questions))


async def kill_some(tally: Tally, dice: Random, kills: int, lives: Lives) -> None:
    """Start and kill processes until every question has its outcome, and compare each with the run without kills."""
    recorder, first = lives.recorder, len(lives.recorder.calls)
    references = {number: await stepwise(number, recorder) for number in lives.questions}
    span = await lives.run("whole", path=lives.path.with_suffix(".whole")) or 0.0
    saved = lives.saved()
    while not all(state.get("outcome") for state in saved.values()):
        name = f"life-{tally.lives}"
        killed = await lives.run(name, dice.uniform(0, span) if tally.kills < kills else None) is None
        tally.lives += 1
        tally.kills += killed
        await asyncio.sleep(0.02)  # what was sent before the kill has come by then
        for number, (expected, _) in references.items():
            calls = [call for call in recorder.calls if (call.life, call.question) == (name, number)]
            tally.calls += len(calls)
            tally.violated += expected.violations(calls, nodes_of(saved[str(number)]))
        saved = lives.saved()
        show_progress(f"{tally.kills} kills, {tally.lives} lives")
    for number, (expected, reference) in references.items():
        state: Any = saved[str(number)]
        tally.outcomes[state["outcome"]] += 1
        tally.again += expected.again(
            call for call in recorder.calls[first:] if call.question == number and call.life.startswith("life-")
        )
        found = violations(state, question_of(number), context_of(number))
        found += differences(state, reference, sorted(state.keys() - OWN))
        if state["usage"]["model_calls"] > reference["usage"]["model_calls"]:
            found.append("usage counts more calls than the finished nodes made")
        tally.violated += [f"question {number}: {text}" for text in found]


def live(path: Path, base_url: str, name: str, questions: Sequence[int], begun: Event) -> None:
    """Ask or resume the questions concurrently until each has an outcome; set ``begun`` before the first."""
    asyncio.run(_live(path, base_url, name, questions, begun))


async def _live(path: Path, base_url: str, name: str, questions: Sequence[int], begun: Event) -> None:
    async with aiosqlite.connect(path) as connection:
        graph, chat = bound(base_url, name, AsyncSqliteSaver(connection, serde=PLAIN))

        async def ask(number: int) -> None:
            state = await graph.aget_state(thread_of(number))
            if not state.values.get("outcome"):
                given = None if state.created_at else start_of(number)
                await graph.ainvoke(given, thread_of(number), context=context_of(number), durability="sync")

        begun.set()
        await asyncio.gather(*(ask(number) for number in questions))
        await chat.aclose()


if __name__ == "__main__":
    main()
