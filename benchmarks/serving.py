"""What the server adds: to the first event, to a whole question, and to fifty at once; and how slow clients slow it.

    python -m benchmarks.serving [--most 10] [--people 50] [--each 3] [--admit 16] [--slow 1000]
    python -m benchmarks.serving --servers 3 --people 200

``python -m app serve`` answers over HTTP in a process of its own; the same front door answers in this one. Both ask the
sample library, and a model server in a third process, of which each call takes 300 ms.

- First event: from the question to the first node's event, 50 times in both ways in turn.
- Share: each question in both ways in turn, after one to warm up; what the server takes longer, over the whole.
- At once: ``--people`` begin at the same moment and ask ``--each`` questions one after another, while the model server
  admits ``--admit`` calls at a time. Its capacity is calls × 0.3 s / 16; reached is that over the wall-clock, by the
  server and, in the same run, in this process. The less each asks, the more count beginning and end, when the model
  server waits.
- Slow: how long ``/healthz`` takes, alone and while ``--slow`` connections send a byte a second.

With ``--servers`` so many of ours over a PostgreSQL that is started for them are asked by people of whom each stays
with one, and in the same run one server over an embedded store; no other figure is taken.
``bench/serving.json`` has the figures, of several servers ``bench/several_servers.json``.
"""

import argparse
import asyncio
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from statistics import median
from typing import Any

import httpx2

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from benchmarks.harness import aligned, counted, option_parser, write_figures
from benchmarks.latency.timed_server import Pace, TimedServer
from benchmarks.postgres_server import started_server
from benchmarks.sample import Asked, asked_of_sample
from tests.integration.loopback import Remote, in_another_process

CALL_SECONDS = 0.3
K = 4
MODEL = "timed"
SECONDS = 600  # to wait for an answer
ROUNDS = 50
WAYS = ("server", "process")
Ask = Callable[[str], Awaitable[Any]]


@contextmanager
def serving(people: int) -> Iterator[str]:
    """The address of our own server, with the settings of the environment."""
    environment = os.environ | {"SELFRAG_SERVER_CONCURRENCY": str(people)}
    command = [sys.executable, "-m", "app", "serve", "--port", "0", "--quiet"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.startswith("Serving at "):
                raise RuntimeError(f"the server did not start: {line}")
            yield line.split()[2]
        finally:
            process.terminate()


@asynccontextmanager
async def over_http(people: int) -> AsyncIterator[tuple[httpx2.AsyncClient, Ask]]:
    """A client of a server of our own, and what asks it a question and returns its result's JSON."""
    limits = httpx2.Limits(max_connections=people)
    with serving(people) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=SECONDS, limits=limits, trust_env=False) as client:

            async def ask(question: str) -> Any:
                reply = await client.post("/api/ask", json={"question": question})
                return reply.raise_for_status().json()

            yield client, ask


@asynccontextmanager
async def two_ways(people: int) -> AsyncIterator[dict[str, Any]]:
    """By name, what asks a question over HTTP and in this process."""
    with SelfRAG.open(SAMPLE) as rag:

        async def in_process(question: str) -> Any:
            return (await rag.aask(question)).model_dump(mode="json")

        async with over_http(people) as (client, ask):
            yield {"server": ask, "process": in_process, "client": client, "rag": rag}


async def first_event(client: httpx2.AsyncClient, rag: SelfRAG, question: str) -> dict[str, float]:
    """The milliseconds from a question to the first node's event, medians of both ways."""
    taken: dict[str, list[float]] = {"server": [], "process": []}
    for _ in range(ROUNDS):
        began = time.perf_counter()
        run = (await client.post("/api/runs", json={"question": question})).json()["id"]
        async with client.stream("GET", f"/api/runs/{run}/events") as events:
            async for line in events.aiter_lines():
                if line == "event: node_started":
                    taken["server"].append(1000 * (time.perf_counter() - began))
                    break
        await client.delete(f"/api/runs/{run}")
        began = time.perf_counter()
        async with aclosing(rag.astream(question)) as stream:
            await anext(stream)
            taken["process"].append(1000 * (time.perf_counter() - began))
    return {name: median(values) for name, values in taken.items()}


async def health(client: httpx2.AsyncClient) -> float:
    """The milliseconds that ``/healthz`` takes, median."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        (await client.get("/healthz")).raise_for_status()
        taken.append(1000 * (time.perf_counter() - began))
    return median(taken)


async def drip(writers: Sequence[asyncio.StreamWriter]) -> None:
    """Send a byte a second of a request that never ends over each connection."""
    while True:
        for writer in writers:
            writer.write(b"a")
        await asyncio.sleep(1)


async def beside_slow(client: httpx2.AsyncClient, slow: int) -> dict[str, float]:
    """How long ``/healthz`` takes alone, and beside so many slow connections."""
    idle = await health(client)
    writers = [(await asyncio.open_connection(client.base_url.host, client.base_url.port))[1] for _ in range(slow)]
    for writer in writers:
        writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
    dripping = asyncio.create_task(drip(writers))
    await asyncio.sleep(3)
    beside = await health(client)
    dripping.cancel()
    open_still = sum(not writer.is_closing() for writer in writers)
    for writer in writers:
        writer.close()
    return {"connections": open_still, "idle_ms": idle, "beside_ms": beside}


async def checked(ask: Ask, one: Asked) -> float:
    """The seconds that an answer took. Raises RuntimeError for an answer to another question, or none."""
    began = time.perf_counter()
    result = await ask(one.question)
    seconds = time.perf_counter() - began
    if result["question"] != one.question or result["outcome"] != "grounded" or one.answer not in result["answer"]:
        raise RuntimeError(f"not the answer to {one.question!r}: {result['outcome']}, {result['answer']!r}")
    return seconds


async def own_share(given: dict[str, Any], asked: Sequence[Asked]) -> dict[str, Any]:
    """Each question in both ways, one at a time; which goes first changes."""
    ways = {name: given[name] for name in WAYS}
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    for number, one in enumerate(counted(asked)):
        for name in sorted(ways, reverse=number % 2 == 0):
            taken[name].append(await checked(ways[name], one))
    added = [(server - process) / server for server, process in zip(taken["server"], taken["process"], strict=True)]
    return {
        "questions": len(asked) - 1,
        "server_seconds": median(taken["server"][1:]),
        "process_seconds": median(taken["process"][1:]),
        "share": median(added[1:]),
    }


async def at_once(ask: Ask, known: Sequence[Asked], options: argparse.Namespace, server: Remote) -> dict[str, Any]:
    """All people at the same moment."""
    questions = list(itertools.islice(itertools.cycle(known), options.people * options.each))

    async def person(number: int) -> None:
        for one in questions[number :: options.people]:
            await checked(ask, one)

    server.call("calls_of", MODEL)
    began = time.perf_counter()
    await asyncio.gather(*(person(number) for number in range(options.people)))
    seconds = time.perf_counter() - began
    calls = len(server.call("calls_of", MODEL))
    return {"calls": calls, "seconds": seconds, "reached": calls * CALL_SECONDS / options.admit / seconds}


async def measure(options: argparse.Namespace, server: Remote, known: Sequence[Asked]) -> dict[str, Any]:
    """All figures, over one server of ours."""
    async with two_ways(options.people) as given:
        share = await own_share(given, known[: options.most + 1])
        first = await first_event(given["client"], given["rag"], known[0].question)
        reached = {name: await at_once(given[name], known, options, server) for name in WAYS}
        slow = await beside_slow(given["client"], options.slow)
    return {"share": share, "first_event_ms": first, "at_once": reached, "slow": slow}


async def reached_by(
    store: str | None, count: int, options: argparse.Namespace, server: Remote, known: Sequence[Asked]
) -> dict[str, Any]:
    """Start so many servers over a store, the embedded one if None, and ask them all at once."""
    if store:
        os.environ["SELFRAG_STORE"] = store
    async with AsyncExitStack() as stack:
        asks = [await stack.enter_async_context(over_http(options.people)) for _ in range(count)]
        for _, ask in asks:  # each begins its connections and opens its library
            await checked(ask, known[0])
        turns = itertools.cycle([ask for _, ask in asks])
        return await at_once(lambda question: next(turns)(question), known, options, server)


async def measure_several(options: argparse.Namespace, server: Remote, known: Sequence[Asked]) -> dict[str, Any]:
    """What one server over an embedded store reaches, and several over PostgreSQL."""
    one = await reached_by(None, 1, options, server, known)
    with started_server() as store:
        several = await reached_by(store.get_uri(), options.servers, options, server, known)
    return {"at_once": {"embedded store, one server": one, f"PostgreSQL, {options.servers} servers": several}}


def main() -> None:
    """Measure, print, write."""
    options = option_parser(__doc__, most=10, people=50, each=3, admit=16, slow=1000, servers=1).parse_args()
    known, _ = asyncio.run(asked_of_sample(K, 1))
    with (
        tempfile.TemporaryDirectory() as home,
        in_another_process(TimedServer, known, Pace(CALL_SECONDS, admitted=options.admit)) as server,
    ):
        os.environ |= {
            "SELFRAG_HOME": home,
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "none",
            "SELFRAG_CHAT_MODEL": MODEL,
            "SELFRAG_CONCURRENCY": str(2 * options.admit),
        }
        measured = measure if options.servers == 1 else measure_several
        figures = asyncio.run(measured(options, server, known)) | {"options": vars(options)}
    rows = [
        (
            f"{options.people} at once, {options.each} each, {name}",
            f"{one['calls']} calls, {one['seconds']:.1f} s, {one['reached']:.1%} of what the model server can give",
        )
        for name, one in figures["at_once"].items()
    ]
    if options.servers == 1:
        share, first, slow = figures["share"], figures["first_event_ms"], figures["slow"]
        each = f"{share['server_seconds']:.3f} s over HTTP, {share['process_seconds']:.3f} s in this process"
        rows += [
            (f"{share['questions']} questions one at a time", f"{each}; the server's own share {share['share']:.2%}"),
            ("first node's event, median", f"{first['server']:.1f} ms, in this process {first['process']:.1f} ms"),
            ("/healthz alone", f"{slow['idle_ms']:.1f} ms"),
            (f"… beside {slow['connections']} connections that send a byte a second", f"{slow['beside_ms']:.1f} ms"),
        ]
    print(aligned(rows))
    write_figures("serving" if options.servers == 1 else "several_servers", figures)


if __name__ == "__main__":
    main()
