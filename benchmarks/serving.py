"""What servers of ours reach with many people at once, of what a model server can give.

    python -m benchmarks.serving [--people 50]
    python -m benchmarks.serving --servers 3 --people 200

``python -m app serve`` answers over HTTP in a process of its own, from the sample library. A model server in another
process admits 16 calls at a time, each of which takes 300 ms. ``--people`` begin at the same moment and ask three
questions one after another. The least time that the calls could take is calls × 0.3 s / 16; the share reached is that
over the wall-clock.

First one server over an embedded store is measured; with ``--servers``, then so many over a PostgreSQL that is started
for them, asked in turn. ``bench/serving.json`` has the figures.
"""

import asyncio
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

import httpx2

from benchmarks.harness import aligned, option_parser, write_figures
from benchmarks.latency.timed_server import Pace, TimedServer
from benchmarks.postgres_server import started_server
from benchmarks.sample import Asked, asked_of_sample
from tests.integration.loopback import Remote, in_another_process

CALL_SECONDS = 0.3
K = 4
MODEL = "timed"
SECONDS = 600  # to wait for an answer
EACH = 3  # questions of a person
ADMITTED = 16  # calls at a time
Ask = Callable[[str], Awaitable[Any]]


@contextmanager
def serving(people: int) -> Iterator[str]:
    """Yield the address of our own server, started with the settings of the environment."""
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
async def over_http(people: int) -> AsyncIterator[Ask]:
    """Yield a function that asks a server of our own a question and returns its result's JSON."""
    limits = httpx2.Limits(max_connections=people)
    with serving(people) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=SECONDS, limits=limits, trust_env=False) as client:

            async def ask(question: str) -> Any:
                reply = await client.post("/api/ask", json={"question": question})
                return reply.raise_for_status().json()

            yield ask


async def checked(ask: Ask, one: Asked) -> None:
    """Ask, and check the answer. Raises RuntimeError for an answer to another question, or none."""
    result = await ask(one.question)
    if result["question"] != one.question or result["outcome"] != "grounded" or one.answer not in result["answer"]:
        raise RuntimeError(f"not the answer to {one.question!r}: {result['outcome']}, {result['answer']!r}")


async def at_once(ask: Ask, known: Sequence[Asked], people: int, server: Remote) -> dict[str, Any]:
    """Let all people begin to ask at the same moment, and return the figures."""
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


async def reached(known: Sequence[Asked], people: int, server: Remote, servers: int) -> dict[str, Any]:
    """Return what so many servers of ours reach, over the store that the environment names."""
    async with AsyncExitStack() as stack:
        served = [await stack.enter_async_context(over_http(people)) for _ in range(servers)]
        for ask in served:  # each begins its connections and opens its library
            await checked(ask, known[0])
        turns = itertools.cycle(served)
        return await at_once(lambda question: next(turns)(question), known, people, server)


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
        figures = {"embedded store, one server": asyncio.run(reached(known, options.people, server, 1))}
        if options.servers > 1:
            with started_server() as store:
                os.environ["SELFRAG_STORE"] = store.get_uri()
                several = asyncio.run(reached(known, options.people, server, options.servers))
            figures[f"PostgreSQL, {options.servers} servers"] = several
    rows = [
        (
            f"{options.people} at once, {EACH} each, {name}",
            f"{one['calls']} calls, {one['seconds']:.1f} s, {one['reached']:.1%} of what the model server can give",
        )
        for name, one in figures.items()
    ]
    print(aligned(rows))
    write_figures("serving", {"people": options.people, "at_once": figures})


if __name__ == "__main__":
    main()
