"""Ask many questions of a server with injected faults; check the invariants of each.

    python -m tests.stress.faults [--questions 2000] [--seed 1]

A fifth of the replies has a fault. Settings and limits are drawn anew for each question, and every other one is
streamed. Nothing may be violated: each question ends with an outcome that follows from its recorded verdicts, within
its limits by the server's own count, and none hangs. It writes ``bench/faults.json`` and ends with 1 if anything was
violated.
"""

import asyncio
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, cast

from benchmarks.harness import listed, option_parser, show_progress
from graph.builder import SelfRAGGraph, build_graph
from models.connect import openai_chat
from run.context import Context, Limits
from run.state import SelfRAGState
from tests.integration.graph.invariants import violations
from tests.integration.loopback import in_another_process
from tests.stress.harness import Tally
from tests.stress.random_model import UNKNOWN, FaultyServer
from tests.stress.tickets import services_of, ticket, varied_question_of

SHARE = 0.2
AT_ONCE = 24
CALL_SECONDS = 1.0
HUNG_SECONDS = 30  # beyond the question's limit: long after all that may delay a run on a busy machine


@dataclass(frozen=True)
class Asked:
    number: int
    late: float  # seconds after its limit
    final: SelfRAGState | None
    violated: list[str]


def main() -> None:
    options = option_parser(__doc__, questions=2000, seed=1).parse_args()
    warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # of usage that is none
    tally = Tally()
    with in_another_process(FaultyServer, options.seed, SHARE) as server:
        asked = asyncio.run(ask_all(server.base_url, options.questions, options.seed))
        requests, faults = server.call("counts")
    late = counted(tally, asked, requests)
    rows = [
        ("questions", f"{tally.questions:,}"),
        ("requests", f"{tally.calls:,}, {sum(faults.values()) / max(1, tally.calls):.1%} of them with a fault"),
        ("outcomes", listed(tally.outcomes)),
        ("stop reasons", listed(tally.counts)),
        ("longest after its time", f"{late:.2f} s"),
        ("faults", listed(faults)),
    ]
    tally.conclude("faults", rows, seed=options.seed, faults=dict(faults), late=late)


def context_of(number: int, seed: int) -> Context:
    dice = Random(f"{seed}/{number}")
    limits = Limits(
        rewrites=dice.randrange(4),
        drafts=dice.randrange(1, 4),
        segments=dice.randrange(1, 9),
        model_calls=dice.choice((2, 8, 16, 32, 32, 32)),
        tokens=dice.choice((10_000, 30_000, 60_000, 60_000)),
        seconds=dice.choice((3, 10, 30)),
    )
    return Context(
        mode=dice.choice(("adaptive", "adaptive", "adaptive", "always", "never")),
        length=dice.choice(("short", "short", "long")),
        strategy=dice.choice(("combined", "per-passage")),
        fallback=dice.choice(("abstain", "direct", "passages")),
        constraints=dice.choice(("soft", "soft", "hard")),
        explain=dice.random() < 0.2,
        limits=limits,
    )


async def ask_all(base_url: str, questions: int, seed: int) -> list[Asked]:
    chat = openai_chat("faulty", base_url=base_url, api_key="none", call_seconds=CALL_SECONDS)
    graph = build_graph(services_of(chat))
    turn, done = asyncio.Semaphore(AT_ONCE), 0

    async def one(number: int) -> Asked:
        nonlocal done
        async with turn:
            asked = await ask(graph, number, seed)
        done += 1
        show_progress(f"{done} of {questions}")
        return asked

    await ask(graph, questions, seed)  # a question more, not counted: all that is loaded at first is loaded now
    asked = await asyncio.gather(*(one(number) for number in range(questions)))
    await chat.aclose()
    return asked


async def ask(graph: SelfRAGGraph, number: int, seed: int) -> Asked:
    """Ask one question, streamed or not, with a watchdog."""
    context = context_of(number, seed)
    limits, final, failure = context.effective_limits, None, ""
    ticket.set(str(number))
    began = time.perf_counter()
    try:
        async with asyncio.timeout(limits.seconds + HUNG_SECONDS):
            final = await _final(graph, varied_question_of(number), context, streamed=number % 2 == 1)
    except TimeoutError:
        failure = "it hung"
    except Exception as error:  # noqa: BLE001 - any error that reaches the caller is what is looked for
        failure = f"it raised {error!r}"
    late = time.perf_counter() - began - limits.seconds
    violated = violations(final, varied_question_of(number), context) if final else [failure]
    return Asked(number, late, final, violated)


async def _final(graph: SelfRAGGraph, question: str, context: Context, *, streamed: bool) -> SelfRAGState:
    start = cast("SelfRAGState", {"question": question})
    config: Any = {"recursion_limit": context.effective_limits.steps}
    if not streamed:
        return cast("SelfRAGState", await graph.ainvoke(start, config, context=context))
    final: Any = None
    async for mode, part in graph.astream(start, config, context=context, stream_mode=["messages", "values"]):
        final = part if mode == "values" else final
    return cast("SelfRAGState", final)


def counted(tally: Tally, asked: Sequence[Asked], requests: Mapping[str, int]) -> float:
    """Sum up, comparing the server's counts with each question's usage; return the longest time after a limit."""
    tally.questions, tally.calls = len(asked), sum(requests.values())
    for one in asked:
        violated = list(one.violated)
        if one.final is not None:
            served, said = requests.get(str(one.number), 0), one.final["usage"]["model_calls"]
            if served > said:
                violated.append(f"the server counted {served} calls, the question says {said}")
            tally.outcomes[str(one.final["outcome"])] += 1
            tally.counts[str(one.final["stop_reason"])] += 1
        tally.violated += [f"question {one.number}: {text}" for text in violated]
    if unknown := requests.get(UNKNOWN, 0):
        tally.violated.append(f"{unknown} requests belong to no question")
    return max(one.late for one in asked)


if __name__ == "__main__":
    main()
