"""Many questions at once: the share of a model server's capacity that one process of ours reaches.

    python -m benchmarks.throughput [--questions 200] [--admit 16] [--concurrency 32] [--under-way 64]

All questions are asked at the same moment, of a loopback server in another process that admits so many calls at a
time, 300 ms each. Its capacity is calls × 0.3 s / 16; reached is that over the wall-clock. ``--concurrency`` is how
many calls our client has under way at most; without it, its default. ``--under-way`` lets so many questions begin, and
the others wait for those: it spreads the work of beginning. The processor time is this process's own, the client
library's included. `bench/throughput.json` has the figures.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.harness import end_progress, option_parser, show_progress, write_figures
from benchmarks.latency.timed_server import Call, Pace, TimedServer
from benchmarks.latency.ways import OURS, services_at
from benchmarks.sample import CachedRetriever, answerable, sample_retriever
from graph.builder import build_graph
from graph.context import Context, Limits
from tests.integration.loopback import in_another_process

K = 4
CALL_SECONDS = 0.3
PATIENCE = Limits(seconds=3600)


@dataclass(frozen=True)
class Reached:
    """What a run reached; ``busy`` is the share of the server's places that were taken until the last call ended."""

    questions: int
    calls: int
    seconds: float
    share: float
    busy: float
    processor_ms_a_call: float


async def measure(questions: int, pace: Pace, options: dict[str, Any], under_way: int | None = None) -> Reached:
    """Ask them all at once, after one that opens connections and fills caches."""
    retriever = CachedRetriever(sample_retriever())
    known = await answerable(retriever, K, 1)
    asked = list(itertools.islice(itertools.cycle(known), questions))
    context = Context(k=K, limits=PATIENCE)
    turn = asyncio.Semaphore(under_way or questions)
    done = 0
    with in_another_process(TimedServer, known, pace) as server:
        graph = build_graph(services_at(server, OURS, retriever, **options))

        async def ask(question: str) -> str:
            nonlocal done
            async with turn:
                state = await graph.ainvoke({"question": question}, context=context)
            done += 1
            show_progress(f"{done} of {questions}")
            return str(state["outcome"])

        await ask(known[0].question)
        server.call("calls_of", OURS)
        done = 0
        began, worked = time.perf_counter(), time.process_time()
        outcomes = await asyncio.gather(*(ask(one.question) for one in asked))
        seconds, processor = time.perf_counter() - began, time.process_time() - worked
        calls = server.call("calls_of", OURS)
    end_progress()
    if set(outcomes) != {"grounded"}:
        raise RuntimeError(f"not every question was grounded, but {sorted(set(outcomes))}")
    share = len(calls) * pace.call / pace.admitted / seconds
    return Reached(questions, len(calls), seconds, share, busy(calls, pace), 1000 * processor / len(calls))


def busy(calls: list[Call], pace: Pace) -> float:
    """The share of the server's places that were taken from the first call to the last."""
    spent = sum(call.ended - call.began for call in calls)
    return spent / pace.admitted / (max(call.ended for call in calls) - min(call.asked for call in calls))


def main() -> None:
    """Measure, print, write."""
    parser = option_parser(__doc__, questions=200, admit=16)
    parser.add_argument("--concurrency", type=int)
    parser.add_argument("--under-way", type=int)
    given = parser.parse_args()
    options = {} if given.concurrency is None else {"concurrency": given.concurrency}
    reached = asyncio.run(measure(given.questions, Pace(CALL_SECONDS, admitted=given.admit), options, given.under_way))
    print(
        f"{reached.questions} questions at once, {reached.calls} calls, {reached.seconds:.1f} s: "
        f"{reached.share:.1%} of what the server can give; its places were taken {reached.busy:.1%} of the time; "
        f"{reached.processor_ms_a_call:.1f} ms of our processor a call"
    )
    write_figures("throughput", asdict(reached) | vars(given))


if __name__ == "__main__":
    main()
