"""Kill a server in the middle of ten threads, or load it with two hundred; nothing may be lost, mixed or paid twice.

    python -m tests.stress.threads kills [--kills 20] [--threads 10] [--seed 1]
    python -m tests.stress.threads load [--threads 200] [--turns 20]

``kills``: the server is a process that asks a model server in this one. Each of its threads is asked a question at the
same time, and it is sent SIGKILL at a moment drawn evenly over the time that they take. The next process must answer
them all as if nothing had been, without a call that a finished node had made, and leave the turns before as they were.
``load``: each thread has a word of its own, which its first question names and the follow-ups lean on. Every answer
must have that word and no other. Both write ``bench/threads-*.json`` and end with 1 if anything was violated.
"""

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import listed, option_parser, show_progress
from tests.integration.openai_server import serving
from tests.stress.cluster import AT_ONCE, Asked, Cluster, kill_all, marked
from tests.stress.harness import PROCESSES, Tally
from tests.stress.recorder import Recorder


def main() -> None:
    PROCESSES.set_forkserver_preload(["tests.stress.cluster"])
    if sys.argv[1:2] == ["load"]:
        options = option_parser(__doc__, threads=200, turns=20).parse_args(sys.argv[2:])
        asyncio.run(load(options.threads, options.turns))
    options = option_parser(__doc__, kills=20, threads=10, seed=1).parse_args(sys.argv[2:])
    tally = asyncio.run(kill(options.kills, options.threads, options.seed))
    rows = [
        ("kills", f"{options.kills} of a server with a question in each of {options.threads} threads"),
        ("cut off", f"{tally.counts['struck']} of {tally.questions} questions"),
        ("outcomes", listed(tally.outcomes)),
        ("calls", f"{tally.calls:,}"),
        ("asked anew of unfinished nodes", f"{tally.again:,}"),
    ]
    tally.conclude("threads-kills", rows, seed=options.seed, threads=options.threads)


async def kill(kills: int, count: int, seed: int) -> Tally:
    with tempfile.TemporaryDirectory() as folder:
        async with Recorder(seed).listening() as recorder:
            return await kill_all(Cluster(Path(folder), recorder.base_url), recorder, kills, count, every=1)


async def load(count: int, turns: int) -> None:
    """Ask ``turns`` questions of each of ``count`` threads, a few of them at a time; then print."""
    tally, total = Tally(), count * turns
    memory: list[float] = []
    with serving(models=("life-1",)) as model, tempfile.TemporaryDirectory() as name:
        cluster = Cluster(Path(name), model.base_url, markers=True)
        await cluster.start(0)
        server = cluster.servers[0]
        waiting: asyncio.Queue[tuple[int, str, int]] = asyncio.Queue()
        for number in range(count):
            waiting.put_nowait((number, await cluster.new_thread(0), 0))

        async def ask_next() -> None:
            while not waiting.empty():
                number, thread, turn = waiting.get_nowait()
                asked = Asked(number, await cluster.post(0, thread, question=question_of(number, turn)), 0, 0)
                await cluster.follow_here(asked)
                result = asked.events[-1][2].get("result") or {}
                tally.violated += [f"thread {number}, turn {turn}: {text}" for text in mixed(result, number)]
                tally.questions += 1
                if tally.questions in (total // 4, total):
                    memory.append(resident(server.process.pid))
                if turn + 1 < turns:
                    waiting.put_nowait((number, thread, turn + 1))
                if tally.questions % 50 == 0:
                    model.asked.clear()
                    model.sent.clear()
                    show_progress(f"{tally.questions:,} of {total:,} questions")

        await asyncio.gather(*(ask_next() for _ in range(AT_ONCE)))
        listing = (await server.client.get("/api/threads")).json()["threads"]
        if [one["turns"] for one in listing] != [turns] * count:
            tally.violated.append(f"the threads are listed with {[one['turns'] for one in listing]} turns")
        files = [path for path in Path(name).rglob("*") if path.is_file()]  # noqa: ASYNC240 - nothing else runs
        if any(path.parent.name == "checkpoints" for path in files):
            tally.violated.append("files of checkpoints are left")
        size = sum(path.stat().st_size for path in files)
        await cluster.kill(0)
    rows = [
        ("threads", f"{count} of {turns} turns, {AT_ONCE} at once"),
        ("answered", f"{tally.questions:,}"),
        ("memory at a quarter, at the end", ", ".join(f"{megabytes:.0f} MB" for megabytes in memory)),
        ("files", f"{size / 1e6:.1f} MB, {size / max(1, tally.questions) / 1e3:.1f} KB a question"),
    ]
    tally.conclude("threads-load", rows, threads=count, turns=turns, megabytes=memory, bytes=size)


def question_of(number: int, turn: int) -> str:
    """The first question names the thread, and the others lean on it."""
    return (
        f"And which word does it keep after {'a year ' * turn}?" if turn else f"Which word does thread {number} keep?"
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
