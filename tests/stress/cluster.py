"""Servers in processes that are killed, and questions that are asked of one, followed at others, and judged."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, cast

import httpx
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from app.conversations.postgres.checkpoints import SharedSaver
from app.conversations.postgres.database import SharedDatabase
from app.conversations.postgres.threads import SharedThreads
from app.conversations.store import Threads
from app.front_door import SelfRAG
from app.results.result import result_of
from app.server.application import create_app
from app.server.asking import ServerOptions
from app.server.listening import listen, server_of
from app.settings import Settings
from benchmarks.harness import show_progress
from graph.builder import build_graph
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from run.context import Context, Services
from run.state import SelfRAGState
from tests.integration.server.scripted_server import events_of
from tests.stress.harness import PROCESSES, Tally, ended_alone, start
from tests.stress.recorder import (
    ROOMY,
    Call,
    Expected,
    Recorder,
    context_of,
    differences,
    nodes_of,
    saved_in,
    state_in,
    stepwise,
)
from tests.stress.tickets import TicketRetriever, question_of

AT_ONCE = 16
SILENCE = 2.0  # seconds after which the other servers take a server for dead
HUNG_SECONDS = 180
LONGEST = 120.0  # seconds in which a run has to end
COMPARED = "question standalone answer outcome stop_reason queries claims citations candidates".split()
Event = tuple[int, str, dict[str, Any]]


def serve(store: Path | str, base_url: str, model: str, ready: Connection) -> None:
    """Serve over the model at ``base_url``, and send the port when the server has started.

    ``store`` is the folder of the threads, or the address of a database that several servers share.
    """
    chat = openai_chat(model, base_url=base_url, api_key="none", call_seconds=60)
    retriever = TicketRetriever()
    named = ChatOpenAI(model=model, api_key=SecretStr("none"), base_url=base_url)
    rag = SelfRAG(retriever=retriever, model=named, settings=Settings())
    rag.services = Services(Generator(chat), Critic(chat), retriever)
    rag.context = Context(limits=ROOMY)
    rag.graph = build_graph(rag.services)
    threads = Threads(store) if isinstance(store, Path) else SharedThreads(store, silence=SILENCE)
    app = create_app(rag, ServerOptions(at_once=AT_ONCE), threads=threads)
    listening = listen("127.0.0.1", 0)
    server_of(app, lambda: ready.send(listening.getsockname()[1])).run(sockets=[listening])


@dataclass
class Server:
    process: Any
    client: httpx.AsyncClient


@dataclass
class Asked:
    """A run, where it was asked and is followed, its thread, and what has been seen of it."""

    number: int
    run: str
    place: int
    at: int
    thread: str | None = None
    before: list[Any] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


class Cluster:
    """Servers over one store, of which a client asks whichever is alive.

    A server that is alone keeps its threads in a folder, and the events of a run in its memory: when it is started
    again it tells others.
    """

    def __init__(self, store: Path | str, base_url: str, places: int) -> None:
        self.store, self.base_url, self.places = store, base_url, places
        self.shared = isinstance(store, str)
        self.servers: dict[int, Server] = {}
        self._lives = 0

    async def start(self, place: int) -> None:
        self._lives += 1
        receiving, sending = PROCESSES.Pipe(duplex=False)
        process = start(serve, self.store, self.base_url, f"life-{self._lives}", sending)
        if not await asyncio.to_thread(receiving.poll, HUNG_SECONDS):
            raise TimeoutError("the server did not start")
        address = f"http://127.0.0.1:{receiving.recv()}"
        self.servers[place] = Server(process, httpx.AsyncClient(base_url=address, timeout=HUNG_SECONDS))

    async def kill(self, place: int) -> None:
        """End the server at a place as a crash does."""
        server = self.servers.pop(place)
        await server.client.aclose()
        await asyncio.to_thread(ended_alone, server.process)

    async def new_thread(self, place: int) -> str:
        return str((await self.servers[place].client.post("/api/threads", json={})).json()["id"])

    async def turns(self, thread: str) -> list[Any]:
        client = next(iter(self.servers.values())).client
        return list((await client.get(f"/api/threads/{thread}")).json()["turns"])

    async def ask(self, number: int, place: int, thread: str | None) -> Asked:
        """Ask a question at a server, in a thread or by itself, as one that stands alone: it is compared."""
        question = question_of(number)
        before = await self.turns(thread) if thread else []
        context = context_of(number)
        given = {"strategy": context.strategy} | ({"length": context.length} if context.length else {})
        path = f"/api/threads/{thread}/runs" if thread else "/api/runs"
        sent = {"question": question, "standalone": question, **given}
        answer = await self.servers[place].client.post(path, json=sent)
        answer.raise_for_status()
        return Asked(number, str(answer.json()["id"]), place, (place + 1) % self.places, thread, before)

    async def follow(self, asked: Asked) -> None:
        """Follow a run to its end, at the next server whenever one breaks off."""
        while not asked.events or asked.events[-1][1] not in ("finished", "failed", "cancelled"):
            try:
                await self.follow_here(asked)
            except (httpx.HTTPError, httpx.StreamError, KeyError):
                asked.at = (asked.at + 1) % self.places
                if not self.shared:
                    asked.events.clear()
                await asyncio.sleep(0.05)

    async def follow_here(self, asked: Asked) -> None:
        """Read the events of a run at one server, after the last that was seen."""
        headers = {"Last-Event-ID": str(len(asked.events))}
        client = self.servers[asked.at].client
        async with client.stream("GET", f"/api/runs/{asked.run}/events", headers=headers) as response:
            response.raise_for_status()
            async for number, kind, data in events_of(response):
                asked.events.append((int(number), kind, json.loads(data)))

    def struck(self, place: int, asked: list[Asked]) -> dict[str, Counter[str]]:
        """Count the finished turns of each node in the checkpoints of the runs that a kill at this place struck."""
        runs = [one.run for one in asked if one.place == place]
        return {run: nodes_of(state) for run, state in self._saved(runs).items() if state}

    def _saved(self, runs: list[str]) -> dict[str, dict[str, Any]]:
        if isinstance(self.store, Path):
            files = {run: self.store / "checkpoints" / f"{run}.sqlite" for run in runs}
            there = {run: path for run, path in files.items() if path.exists() and path.stat().st_size}
            return {run: saved_in(path, [run])[run] for run, path in there.items()}
        database = SharedDatabase(self.store)
        try:
            saver = SharedSaver(database, cast("Any", None))  # a lease is for what writes
            return {run: state_in(saver, run) for run in runs}
        finally:
            database.close()


async def kill_all(cluster: Cluster, recorder: Recorder, kills: int, count: int, *, every: int) -> Tally:
    """Ask ``count`` questions, kill a server, follow them to the end and compare, ``kills`` times.

    Every so many a question is in a thread, which goes on from one kill to the next.
    """
    tally, dice, span = Tally(kills=kills), Random(recorder.seed), 0.0
    await asyncio.gather(*(cluster.start(place) for place in range(cluster.places)))
    threads = {number: await cluster.new_thread(number % cluster.places) for number in range(0, count, every)}
    for turn in range(kills + 1):
        numbers = range(turn * count, (turn + 1) * count)
        references = {number: await stepwise(number, recorder) for number in numbers}
        first, starting = len(recorder.calls), time.perf_counter()
        asked = await asyncio.gather(
            *(cluster.ask(number, number % cluster.places, threads.get(number % count)) for number in numbers)
        )
        following = [asyncio.create_task(cluster.follow(one)) for one in asked]
        cut, struck = first, dict[str, Counter[str]]()
        if turn:
            await asyncio.sleep(max(0.0, dice.uniform(0, span) - (time.perf_counter() - starting)))
            place = dice.randrange(cluster.places)
            await cluster.kill(place)
            await asyncio.sleep(0.05)  # what was sent before the kill has come by then
            cut, struck = len(recorder.calls), await asyncio.to_thread(cluster.struck, place, asked)
            await cluster.start(place)
        try:
            async with asyncio.timeout(LONGEST):
                await asyncio.gather(*following)
        except TimeoutError:
            tally.violated.append(f"kill {turn}: a run did not end")
            break
        if turn == 0:  # how long they take without a kill
            span = time.perf_counter() - starting
            continue
        for one in asked:
            calls = [call for call in recorder.calls[first:] if call.question == one.number]
            after = [call for call in recorder.calls[cut:] if call.question == one.number]
            found = await judge(cluster, tally, one, references[one.number], calls, after, struck.get(one.run))
            tally.violated += [f"kill {turn}, question {one.number} (run {one.run}): {text}" for text in found]
        show_progress(f"{turn} kills")
    for place in list(cluster.servers):
        await cluster.kill(place)
    return tally


async def judge(
    cluster: Cluster,
    tally: Tally,
    one: Asked,
    reference: tuple[Expected, SelfRAGState],
    calls: list[Call],
    after: list[Call],
    done: Counter[str] | None,
) -> list[str]:
    """Compare a run with the one that nothing killed: its calls, its events, its result and its thread.

    ``done`` are its nodes that had finished, if a kill struck it, and ``after`` the calls that were made since.
    """
    expected, state = reference
    found = expected.violations(calls if done is None else after, done or Counter())
    tally.again += expected.again(calls)
    tally.calls += len(calls)
    tally.questions += 1
    tally.counts["struck"] += done is not None
    if [number for number, _, _ in one.events] != list(range(1, len(one.events) + 1)):
        found.append(f"its events are numbered {[number for number, _, _ in one.events]}")
    for place in range(cluster.places if cluster.shared else 0):
        other = Asked(one.number, one.run, place, place)
        await cluster.follow_here(other)
        if other.events != one.events:
            found.append(f"server {place} tells other events")
    kind, data = one.events[-1][1:]
    if kind != "finished":
        return [*found, f"it is {kind}: {data}"]
    result = data["result"]
    tally.outcomes[result["outcome"]] += 1
    found += differences(result, result_of(state).model_dump(mode="json"), COMPARED)
    told = Counter(data["node"] for _, kind, data in one.events if kind == "node_finished")
    if told != nodes_of(result):
        found.append(f"the nodes {dict(told)} were told")
    if one.thread:
        *before, last = await cluster.turns(one.thread)
        if before != one.before:
            found.append("the turns before are not as they were")
        if (last["run"], last["answer"]) != (one.run, result["answer"]):
            found.append(f"the thread has {last} at its end")
    return found
