"""What the server adds: to the first event, and to a whole question; and what it reaches with fifty people at once.

    python -m benchmarks.serving [--people 50]
    python -m benchmarks.serving --servers 3 --people 200

``python -m app serve`` answers over HTTP in a process of its own; the same front door answers in this one. Both ask the
sample library, and a model server in a third process, of which each call takes 300 ms.

- First event: from the question to the first node's event, 50 times.
- Share: each question in both ways in turn, after one to warm up; what the server takes longer, over the whole.
- At once: ``--people`` begin at the same moment and ask three questions one after another, while the model server
  admits 16 calls at a time. Its capacity is calls × 0.3 s / 16; reached is that over the wall-clock.

With ``--servers`` so many of ours over a PostgreSQL that is started for them are asked in turn, and in the same run one
server over an embedded store; no other figure is taken.
``bench/serving.json`` has the figures, of several servers ``bench/several_servers.json``.
"""

import asyncio
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
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
ROUNDS = 50  # for the first event
QUESTIONS = 10  # for the share
EACH = 3  # questions of a person
ADMITTED = 16  # calls at a time
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


async def first_event(client: httpx2.AsyncClient, question: str) -> float:
    """The milliseconds from a question to the first node's event, median."""
    taken = []
    for _ in counted(range(ROUNDS), "first event"):
        began = time.perf_counter()
        run = (await client.post("/api/runs", json={"question": question})).json()["id"]
        async with client.stream("GET", f"/api/runs/{run}/events") as events:
            async for line in events.aiter_lines():
                if line == "event: node_started":
                    taken.append(1000 * (time.perf_counter() - began))
                    break
        await client.delete(f"/api/runs/{run}")
    return median(taken)


async def checked(ask: Ask, one: Asked) -> float:
    """The seconds that an answer took. Raises RuntimeError for an answer to another question, or none."""
    began = time.perf_counter()
    result = await ask(one.question)
    seconds = time.perf_counter() - began
    if result["question"] != one.question or result["outcome"] != "grounded" or one.answer not in result["answer"]:
        raise RuntimeError(f"not the answer to {one.question!r}: {result['outcome']}, {result['answer']!r}")
    return seconds


async def own_share(ways: Mapping[str, Ask], asked: Sequence[Asked]) -> float:
    """Which share of a question's time is the server's: each is asked in both ways; which goes first changes."""
    added = []
    for number, one in enumerate(counted(asked, "question")):
        taken = {name: await checked(ways[name], one) for name in sorted(ways, reverse=number % 2 == 0)}
        added.append((taken["server"] - taken["process"]) / taken["server"])
    return median(added[1:])


async def at_once(ask: Ask, known: Sequence[Asked], people: int, server: Remote) -> dict[str, Any]:
    """All people at the same moment."""
    questions = list(itertools.islice(itertools.cycle(known), people * EACH))

    async def person(number: int) -> None:
        for one in questions[number::people]:
            await checked(ask, one)

    server.call("calls_of", MODEL)
    began = time.perf_counter()
    await asyncio.gather(*(person(number) for number in range(people)))
    seconds = time.perf_counter() - began
    calls = len(server.call("calls_of", MODEL))
    return {"calls": calls, "seconds": seconds, "reached": calls * CALL_SECONDS / ADMITTED / seconds}


async def measure(known: Sequence[Asked], people: int, server: Remote) -> dict[str, Any]:
    """All figures, over one server of ours."""
    with SelfRAG.open(SAMPLE) as rag:

        async def in_process(question: str) -> Any:
            return (await rag.aask(question)).model_dump(mode="json")

        async with over_http(people) as (client, ask):
            share = await own_share({"server": ask, "process": in_process}, known[: QUESTIONS + 1])
            first = await first_event(client, known[0].question)
            reached = await at_once(ask, known, people, server)
    return {"share": share, "first_event_ms": first, "at_once": {"one server": reached}}


async def measure_several(known: Sequence[Asked], people: int, server: Remote, servers: int) -> dict[str, Any]:
    """What one server over an embedded store reaches, and several over PostgreSQL."""

    async def reached(count: int) -> dict[str, Any]:
        async with AsyncExitStack() as stack:
            served = [await stack.enter_async_context(over_http(people)) for _ in range(count)]
            for _, ask in served:  # each begins its connections and opens its library
                await checked(ask, known[0])
            turns = itertools.cycle([ask for _, ask in served])
            return await at_once(lambda question: next(turns)(question), known, people, server)

    one = await reached(1)
    with started_server() as store:
        os.environ["SELFRAG_STORE"] = store.get_uri()
        several = await reached(servers)
    return {"at_once": {"embedded store, one server": one, f"PostgreSQL, {servers} servers": several}}


def main() -> None:
    """Measure, print, write."""
    options = option_parser(__doc__, people=50, servers=1).parse_args()
    known, _ = asyncio.run(asked_of_sample(K))
    with (
        tempfile.TemporaryDirectory() as home,
        in_another_process(TimedServer, known, Pace(CALL_SECONDS, admitted=ADMITTED)) as server,
    ):
        os.environ |= {
            "SELFRAG_HOME": home,
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "none",
            "SELFRAG_CHAT_MODEL": MODEL,
            "SELFRAG_CONCURRENCY": str(2 * ADMITTED),
        }
        if options.servers == 1:
            figures = asyncio.run(measure(known, options.people, server))
        else:
            figures = asyncio.run(measure_several(known, options.people, server, options.servers))
    rows = [
        (
            f"{options.people} at once, {EACH} each, {name}",
            f"{one['calls']} calls, {one['seconds']:.1f} s, {one['reached']:.1%} of what the model server can give",
        )
        for name, one in figures["at_once"].items()
    ]
    if options.servers == 1:
        rows += [
            (f"the server's own share, {QUESTIONS} questions one at a time", f"{figures['share']:.2%}"),
            (f"first node's event, median of {ROUNDS}", f"{figures['first_event_ms']:.1f} ms"),
        ]
    print(aligned(rows))
    write_figures("serving" if options.servers == 1 else "several_servers", figures | {"people": options.people})


if __name__ == "__main__":
    main()
