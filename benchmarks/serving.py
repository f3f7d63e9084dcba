"""What the server adds: its own share of a question, and how much of a model server's capacity people at once reach.

    python -m benchmarks.serving [--most 10] [--people 50] [--admit 16]

``python -m app serve`` answers over HTTP in a process of its own; the same front door answers in this one. Both ask the
sample library, and a model server in a third process, of which each call takes 300 ms. First each question is asked in
both ways in turn, after one to warm up: the share is what the server takes longer, over the whole. Then ``--people``
ask at the same moment, while the model server admits ``--admit`` calls at a time. Its capacity is calls × 0.3 s / 16;
reached is that over the wall-clock, by the server and, in the same run, in this process. ``bench/serving.json`` has the
figures.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from statistics import median
from typing import Any

import httpx2

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from app.screen import Screen
from app.settings import load_settings
from benchmarks.harness import end_progress, option_parser, show_progress, write_figures
from benchmarks.latency.timed_server import Pace, TimedServer
from benchmarks.sample import Asked, answerable
from tests.integration.loopback import Remote, in_another_process

CALL_SECONDS = 0.3
K = 4
MODEL = "timed"
SECONDS = 600  # to wait for an answer


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
async def two_ways(people: int) -> AsyncIterator[dict[str, Any]]:
    """By name, a function that asks a question and returns its result's JSON: over HTTP, and in this process."""
    limits = httpx2.Limits(max_connections=people)
    with SelfRAG.open(SAMPLE) as rag, serving(people) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=SECONDS, limits=limits, trust_env=False) as client:

            async def over_http(question: str) -> Any:
                reply = await client.post("/api/ask", json={"question": question})
                return reply.raise_for_status().json()

            async def in_process(question: str) -> Any:
                return (await rag.aask(question)).model_dump(mode="json")

            yield {"server": over_http, "process": in_process}


async def checked(ask: Any, one: Asked) -> float:
    """The seconds that an answer took. Raises RuntimeError for an answer to another question, or none."""
    began = time.perf_counter()
    result = await ask(one.question)
    seconds = time.perf_counter() - began
    if result["question"] != one.question or result["outcome"] != "grounded" or one.answer not in result["answer"]:
        raise RuntimeError(f"not the answer to {one.question!r}: {result['outcome']}, {result['answer']!r}")
    return seconds


async def own_share(ways: dict[str, Any], asked: Sequence[Asked]) -> dict[str, Any]:
    """Each question in both ways, one at a time; which goes first changes."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number, one in enumerate(asked):
        for name in sorted(ways, reverse=number % 2 == 0):
            taken[name].append(await checked(ways[name], one))
        show_progress(f"{number + 1} of {len(asked)}")
    added = [(server - process) / server for server, process in zip(taken["server"], taken["process"], strict=True)]
    return {
        "questions": len(asked) - 1,
        "server_seconds": median(taken["server"][1:]),
        "process_seconds": median(taken["process"][1:]),
        "share": median(added[1:]),
    }


async def at_once(ask: Any, asked: Sequence[Asked], people: int, server: Remote, admit: int) -> dict[str, Any]:
    """All questions at the same moment."""
    server.call("calls_of", MODEL)
    began = time.perf_counter()
    await asyncio.gather(*(checked(ask, one) for one in itertools.islice(itertools.cycle(asked), people)))
    seconds = time.perf_counter() - began
    calls = len(server.call("calls_of", MODEL))
    return {"calls": calls, "seconds": seconds, "reached": calls * CALL_SECONDS / admit / seconds}


async def measure(most: int, people: int, admit: int, server: Remote, known: Sequence[Asked]) -> dict[str, Any]:
    """Both figures, over one server of ours."""
    async with two_ways(people) as ways:
        share = await own_share(ways, known[: most + 1])
        end_progress()
        reached = {name: await at_once(ask, known, people, server, admit) for name, ask in ways.items()}
    return {"share": share, "people": people, "admit": admit, "at_once": reached}


def main() -> None:
    """Measure, print, write."""
    options = option_parser(__doc__, most=10, people=50, admit=16).parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["SELFRAG_HOME"] = home
        with SelfRAG.open(SAMPLE, settings=load_settings(), screen=Screen(quiet=True)) as rag:
            known = asyncio.run(answerable(rag.services.retriever, K, 1))
        with in_another_process(TimedServer, known, Pace(CALL_SECONDS, admitted=options.admit)) as server:
            os.environ |= {
                "OPENAI_BASE_URL": server.base_url,
                "OPENAI_API_KEY": "none",
                "SELFRAG_CHAT_MODEL": MODEL,
                "SELFRAG_CONCURRENCY": str(2 * options.admit),
            }
            figures = asyncio.run(measure(options.most, options.people, options.admit, server, known))
    share = figures["share"]
    print(
        f"{share['questions']} questions one at a time: {share['server_seconds']:.3f} s over HTTP, "
        f"{share['process_seconds']:.3f} s in a process; the server's own share {share['share']:.2%}"
    )
    for name, one in figures["at_once"].items():
        print(
            f"{options.people} at once, by the {name}: {one['calls']} calls in {one['seconds']:.1f} s, "
            f"{one['reached']:.1%} of what the model server can give, no answer mixed"
        )
    write_figures("serving", figures)


if __name__ == "__main__":
    main()
