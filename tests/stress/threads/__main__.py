"""Kill a server in the middle of ten threads, or load it with two hundred; nothing may be lost, mixed or paid twice.

    python -m tests.stress.threads kills [--kills 20] [--threads 10] [--seed 1]
    python -m tests.stress.threads load [--threads 200] [--turns 20] [--at-once 16]

``kills``: the server is a process that asks a model server in this one. Each of its threads is asked a question at the
same time, and it is sent SIGKILL at a moment drawn evenly over the time that they take. The next process must answer
them all as if nothing had been, without a call that a finished node had made, and leave the turns before as they were.
``load``: each thread has a word of its own, which its first question names and the follow-ups lean on. Every answer
must have that word and no other. Both write ``bench/threads-*.json`` and end with 1 if anything was violated.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx

from app.result import result_of
from app.threads.store import Threads
from app.threads.thread import ThreadTurn
from benchmarks.harness import aligned, end, end_progress, listed, option_parser, show_progress
from graph.state import SelfRAGState
from tests.integration.openai_server import OpenAIServer
from tests.stress.graph_kills.__main__ import stepwise
from tests.stress.graph_kills.recorder import Expected, Recorder, finished
from tests.stress.graph_kills.worker import context_of, opened, start_of
from tests.stress.threads.worker import AT_ONCE, marked, serve_threads

HUNG_SECONDS = 180
PROCESSES = multiprocessing.get_context("forkserver")
COMPARED = {
    "question",
    "standalone",
    "answer",
    "outcome",
    "stop_reason",
    "queries",
    "claims",
    "citations",
    "candidates",
}


def main() -> None:
    """Run one of the two, and print its figures."""
    PROCESSES.set_forkserver_preload(["tests.stress.threads.worker"])
    what = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in ("kills", "load") else None
    if what == "load":
        options = option_parser(__doc__, threads=200, turns=20, at_once=AT_ONCE).parse_args()
        asyncio.run(load(options.threads, options.turns, options.at_once))
    options = option_parser(__doc__, kills=20, threads=10, seed=1).parse_args()
    asyncio.run(kill_all(options.kills, options.threads, options.seed))


@dataclass
class Server:
    """A server in a process of its own."""

    process: Any
    client: httpx.AsyncClient

    async def kill(self) -> None:
        """End it as a crash does."""
        await self.client.aclose()
        self.process.kill()
        await asyncio.to_thread(self.process.join)


async def started(store: Path | str, base_url: str, model: str, *, markers: bool = False) -> Server:
    """Start a server over the threads of a store."""
    receiving, sending = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=serve_threads, args=(store, base_url, model, markers, sending))
    process.start()
    if not await asyncio.to_thread(receiving.poll, HUNG_SECONDS):
        raise TimeoutError("the server did not start")
    address = f"http://127.0.0.1:{receiving.recv()}"
    return Server(process, httpx.AsyncClient(base_url=address, timeout=HUNG_SECONDS))


async def ask(client: httpx.AsyncClient, thread: str, question: str, **options: Any) -> str:
    """Ask a question of a thread, and return its run."""
    answer = await client.post(f"/api/threads/{thread}/runs", json={"question": question, **options})
    answer.raise_for_status()
    return str(answer.json()["id"])


async def result_after(client: httpx.AsyncClient, run: str) -> dict[str, Any]:
    """Follow a run to its end, and return its result, which is empty if it has none."""
    last: dict[str, Any] = {}
    async with client.stream("GET", f"/api/runs/{run}/events") as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: "))
    return dict(last.get("result") or {})


# --- kills ----------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Counts over all kills."""

    questions: int = 0
    unfinished: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    forgotten: int = 0
    violated: list[str] = field(default_factory=list)


async def kill_all(kills: int, count: int, seed: int) -> None:
    """Ask, kill, start again and compare, ``kills`` times; then print."""
    tally, dice, began, span = Tally(), Random(seed), time.perf_counter(), 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with Recorder(seed).listening() as recorder:
            server = await started(folder, recorder.base_url, "life-0")
            threads = [(await server.client.post("/api/threads", json={})).json()["id"] for _ in range(count)]
            for turn in range(kills + 1):
                numbers = range(turn * count, (turn + 1) * count)
                asked = {number: await stepwise(number, recorder) for number in numbers}
                before, first = turns_in(folder, threads), len(recorder.calls)
                starting = time.perf_counter()
                runs = await asyncio.gather(
                    *(ask_number(server.client, *one) for one in zip(threads, numbers, strict=True))
                )
                if turn == 0:  # how long they take without a kill
                    await asyncio.gather(*(result_after(server.client, run) for run in runs))
                    span = time.perf_counter() - starting
                    continue
                await asyncio.sleep(max(0.0, dice.uniform(0, span) - (time.perf_counter() - starting)))
                await server.kill()
                await asyncio.sleep(0.05)  # what was sent before the kill has come by then
                killed, cut = turns_in(folder, threads), len(recorder.calls)
                done = {run: finished_in(folder, run) for run in runs}
                server = await started(folder, recorder.base_url, f"life-{turn}")
                await asyncio.gather(*(result_after(server.client, run) for run in runs))
                after = turns_in(folder, threads)
                tally.questions += count
                for thread, number, run in zip(threads, numbers, runs, strict=True):
                    expected, reference = asked[number]
                    made = [call for call in recorder.calls[cut:] if call.question == number]
                    calls = [call for call in recorder.calls[first:] if call.question == number]
                    was_done = killed[thread][-1].state == "finished"
                    finished_nodes = all_of(expected) if was_done else done[run]
                    tally.unfinished += not was_done
                    tally.calls += len(calls)
                    tally.forgotten += expected.forgotten(made, finished_nodes)
                    tally.struck.update({call.node for call in calls if call not in made} - set(finished_nodes))
                    found = expected.violations(made, finished_nodes)
                    found += differences(after[thread], before[thread], run, reference)
                    tally.violated += [f"kill {turn}, question {number}: {text}" for text in found]
                    result = after[thread][-1].result
                    tally.outcomes[str(result.outcome if result else None)] += 1
                show_progress(f"{turn} kills")
            await server.kill()
    end_progress()
    figures = {
        "kills": kills,
        "threads": count,
        "questions": tally.questions,
        "unfinished": tally.unfinished,
        "outcomes": dict(tally.outcomes),
        "unfinished_nodes": dict(tally.struck),
        "calls": tally.calls,
        "forgotten": tally.forgotten,
        "violations": len(tally.violated),
        "seed": seed,
        "seconds": time.perf_counter() - began,
    }
    rows = [
        ("kills", f"{kills} of a server with a question in each of {count} threads"),
        ("cut off", f"{tally.unfinished} of {tally.questions} questions"),
        ("outcomes", listed(tally.outcomes)),
        ("nodes that a kill struck", listed(tally.struck)),
        ("calls", f"{tally.calls:,}"),
        ("asked anew, forgotten", f"{tally.forgotten:,}"),
        ("seconds", f"{figures['seconds']:.0f}"),
        ("violations", f"{len(tally.violated)}"),
    ]
    print(aligned(rows))
    end("threads-kills", figures, tally.violated)


async def ask_number(client: httpx.AsyncClient, thread: str, number: int) -> str:
    """Ask one of the questions of `tests.stress.graph_kills` in a thread, as one that stands alone: it is compared."""
    question = start_of(number)["question"]
    return await ask(client, thread, question, strategy=context_of(number).strategy, standalone=question)


def turns_in(folder: Path, threads: list[str]) -> dict[str, list[ThreadTurn]]:
    """Return the turns of each thread as another process reads them."""
    store = Threads(folder)
    try:
        return {thread: store.turns(thread) for thread in threads}
    finally:
        store.close()


def finished_in(folder: Path, run: str) -> Counter[str]:
    """Count the finished turns of each node in the checkpoints of a run that was cut off."""
    path = folder / "checkpoints" / f"{run}.sqlite"
    if not path.exists() or not path.stat().st_size:
        return Counter()
    saver = opened(path)
    try:
        return finished(saver.get_tuple({"configurable": {"thread_id": run, "checkpoint_ns": ""}}))
    finally:
        saver.conn.close()


def all_of(expected: Expected) -> Counter[str]:
    """Return the turns of each node of a question that has ended."""
    return Counter({node: len(turns) for node, turns in expected.turns.items()})


def differences(after: list[ThreadTurn], before: list[ThreadTurn], run: str, reference: SelfRAGState) -> list[str]:
    """What is not as if nothing had been killed."""
    found = []
    if after[:-1] != before:
        found.append("the turns before are not as they were")
    last = after[-1]
    if last.run != run or last.state != "finished" or last.result is None:
        return [*found, f"the question is {last.state}: {last.message}"]
    expected = result_of(reference)
    for name, value in last.result.model_dump(mode="json", include=COMPARED).items():
        if value != expected.model_dump(mode="json", include={name})[name]:
            found.append(f"{name} is not as without kills")
    nodes, way = (sorted(step["node"] for step in one.path) for one in (last.result, expected))
    if [node for node in nodes if node != "contextualize"] != way:
        found.append(f"went {nodes} where {way} is the way without kills")
    return found


# --- load -----------------------------------------------------------------------------------------------------------


async def load(count: int, turns: int, at_once: int) -> None:
    """Ask ``turns`` questions of each of ``count`` threads, ``at_once`` of them at a time; then print."""
    began, violated, answered, total = time.perf_counter(), list[str](), 0, count * turns
    memory: dict[int, float] = {}
    model = OpenAIServer(models=("load",))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = await started(folder, model.base_url, "load", markers=True)
        waiting: asyncio.Queue[tuple[int, str, int]] = asyncio.Queue()
        for number in range(count):
            waiting.put_nowait((number, (await server.client.post("/api/threads", json={})).json()["id"], 0))

        async def ask_next() -> None:
            nonlocal answered
            while not waiting.empty():
                number, thread, turn = waiting.get_nowait()
                run = await ask(server.client, thread, question_of(number, turn))
                result = await result_after(server.client, run)
                violated.extend(f"thread {number}, turn {turn}: {text}" for text in mixed(result, number))
                answered += 1
                if answered * 100 // total in (25, 50, 75, 100):
                    memory.setdefault(answered * 100 // total, resident(server.process.pid))
                if turn + 1 < turns:
                    waiting.put_nowait((number, thread, turn + 1))
                if answered % 50 == 0:
                    model.asked.clear()
                    model.sent.clear()
                    show_progress(f"{answered:,} of {total:,} questions")

        await asyncio.gather(*(ask_next() for _ in range(at_once)))
        asked = time.perf_counter() - began
        listing = (await server.client.get("/api/threads")).json()["threads"]
        violated += [f"a thread has {one['turns']} turns" for one in listing if one["turns"] != turns]
        if len(listing) != count:
            violated.append(f"{len(listing)} threads are listed")
        size, left = sizes(folder)
        if left:
            violated.append(f"{left} files of checkpoints are left")
        await server.kill()
    model.close()
    end_progress()
    figures = {
        "threads": count,
        "turns": turns,
        "at_once": at_once,
        "answered": answered,
        "seconds": asked,
        "megabytes": memory,
        "bytes": size,
        "violations": len(violated),
    }
    rows = [
        ("threads", f"{count} of {turns} turns, {at_once} at once"),
        ("answered", f"{answered:,} in {asked:.0f} s"),
        ("memory", ", ".join(f"{megabytes:.0f} MB at {share} %" for share, megabytes in memory.items())),
        ("100 % against 25 %", f"{memory[100] / memory[25]:.2f}"),
        ("files", f"{size / 1e6:.1f} MB, {size / max(1, answered) / 1e3:.1f} KB a question"),
        ("violations", f"{len(violated)}"),
    ]
    print(aligned(rows))
    end("threads-load", figures, violated)


def sizes(folder: Path) -> tuple[int, int]:
    """The bytes of all files, and the number of files of checkpoints."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files), sum(path.parent.name == "checkpoints" for path in files)


def question_of(number: int, turn: int) -> str:
    """The first question names the thread, and the others lean on it."""
    return (
        f"Which word does thread {number} keep?"
        if turn == 0
        else f"And which word does it keep after {'a year ' * turn}?"
    )


def mixed(result: dict[str, Any], number: int) -> list[str]:
    """What an answer has that is not its thread's."""
    if result.get("outcome") != "grounded":
        return [f"it ended as {result.get('outcome')}"]
    words = re.findall(r"marker[0-9]+x", json.dumps(result))
    strange = sorted(set(words) - {f"marker{number}x"})
    if strange or marked(number) not in result["answer"]:
        return [f"it says {result['answer'][:80]!r}, and has {strange}"]
    return []


def resident(process: int) -> float:
    """The memory of a process in megabytes."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmRSS:\s*([0-9]+) kB", status)[0]) / 1e3


if __name__ == "__main__":
    main()
