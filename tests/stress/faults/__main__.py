"""Ask many questions of a server with injected faults; check the invariants of each.

    python -m tests.stress.faults [--questions 2000] [--share 0.2] [--seed 1] [--at-once 24] [--call-seconds 1]

Settings and limits are drawn anew for each question, and every other one is streamed. Nothing may be violated: each
question ends with an outcome that follows from its recorded verdicts, within its limits by the server's own count, and
none hangs. It writes ``bench/faults.json`` and ends with 1 if anything was violated.
"""

import asyncio
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, cast

from benchmarks.harness import end_progress, listed, option_parser, show_progress
from graph.builder import SelfRAGGraph, build_graph
from models.chat import Chat
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from run.context import Context, Limits, Services
from run.state import SelfRAGState
from tests.integration.graph.invariants import violations
from tests.integration.loopback import in_another_process
from tests.stress.faults.faulty_server import FaultyServer
from tests.stress.faults.tickets import THINGS, TicketRetriever, passages, ticket
from tests.stress.harness import Tally

HUNG_SECONDS = 30  # beyond the question's limit: long after all that may delay a run on a busy machine


@dataclass(frozen=True)
class Asked:
    """One question: its limits, final state and violations."""

    number: int
    limits: Limits
    seconds: float
    final: SelfRAGState | None = None
    violated: tuple[str, ...] = ()


def main() -> None:
    """Ask, count, print."""
    options = option_parser(__doc__, questions=2000, share=0.2, seed=1, at_once=24, call_seconds=1.0).parse_args()
    warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # of usage that is none
    tally = Tally()
    with in_another_process(FaultyServer, options.seed, options.share) as server:
        chat = openai_chat("faulty", base_url=server.base_url, api_key="none", call_seconds=options.call_seconds)
        graph = build_graph(Services(Generator(chat), Critic(chat), TicketRetriever(passages())))
        asked = asyncio.run(ask_all(graph, chat, options.questions, options.seed, options.at_once))
        requests, faults = server.call("counts")
    worst = counted(tally, asked, requests)
    rows = [
        ("questions", f"{tally.questions:,}"),
        ("requests", f"{tally.calls:,}, {sum(faults.values()) / max(1, tally.calls):.1%} of them with a fault"),
        ("outcomes", listed(tally.outcomes)),
        ("stop reasons", listed(tally.counts)),
        ("most of a limit used", f"calls {worst['calls']:.0%}, tokens {worst['tokens']:.0%}"),
        ("longest after its time", f"{worst['late']:.2f} s"),
        ("faults", listed(faults)),
    ]
    tally.conclude("faults", rows, seed=options.seed, share=options.share, faults=dict(faults), worst=worst)


def settings_of(number: int, seed: int) -> tuple[Context, Limits]:
    """Draw the context of one question: limits from tight to generous, any mode."""
    dice = Random(f"{seed}/{number}")
    limits = Limits(
        rewrites=dice.randrange(4),
        drafts=dice.randrange(1, 4),
        model_calls=dice.choice((2, 8, 16, 32, 32, 32)),
        tokens=dice.choice((10_000, 30_000, 60_000, 60_000)),
        seconds=dice.choice((3, 10, 30)),
    )
    context = Context(
        mode=dice.choice(("adaptive", "adaptive", "adaptive", "always", "never")),
        strategy=dice.choice(("combined", "per-passage")),
        fallback=dice.choice(("abstain", "direct", "passages")),
        constraints=dice.choice(("soft", "soft", "hard")),
        explain=dice.random() < 0.2,
        limits=limits,
    )
    return context, limits


async def ask_all(graph: SelfRAGGraph, chat: Chat, questions: int, seed: int, at_once: int) -> list[Asked]:
    """Ask all questions, at most ``at_once`` concurrently."""
    turn, done = asyncio.Semaphore(at_once), 0

    async def one(number: int) -> Asked:
        nonlocal done
        async with turn:
            asked = await ask(graph, number, seed)
        done += 1
        show_progress(f"{done} of {questions}")
        return asked

    await ask(graph, questions, seed)  # a question more, not counted: all that is loaded at first is loaded now
    asked = await asyncio.gather(*(one(number) for number in range(questions)))
    end_progress()
    await chat.aclose()
    return asked


async def ask(graph: SelfRAGGraph, number: int, seed: int) -> Asked:
    """Ask one question, streamed or not, with a watchdog."""
    context, limits = settings_of(number, seed)
    ticket.set(str(number))
    question = f"What does ticket {number} say about the {THINGS[number % len(THINGS)]}?"
    began = time.perf_counter()
    try:
        async with asyncio.timeout(limits.seconds + HUNG_SECONDS):
            final = await _final(graph, question, context, streamed=number % 2 == 1)
    except TimeoutError:
        return Asked(number, limits, time.perf_counter() - began, violated=("it hung",))
    except Exception as error:  # noqa: BLE001 - any error that reaches the caller is what is looked for
        return Asked(number, limits, time.perf_counter() - began, violated=(f"it raised {error!r}",))
    seconds = time.perf_counter() - began
    found = violations(final, question, context)
    return Asked(number, limits, seconds, final, tuple(found))


async def _final(graph: SelfRAGGraph, question: str, context: Context, *, streamed: bool) -> SelfRAGState:
    start = cast("SelfRAGState", {"question": question})
    config: Any = {"recursion_limit": context.effective_limits.steps}
    if not streamed:
        return cast("SelfRAGState", await graph.ainvoke(start, config, context=context))
    final: Any = None
    async for mode, part in graph.astream(start, config, context=context, stream_mode=["messages", "values"]):
        final = part if mode == "values" else final
    return cast("SelfRAGState", final)


def counted(tally: Tally, asked: Sequence[Asked], requests: Mapping[str, int]) -> dict[str, float]:
    """Sum up, comparing the server's counts with each question's usage and limits; return the most of each limit."""
    worst = dict.fromkeys(("calls", "tokens", "seconds", "late"), 0.0)
    tally.questions, tally.calls = len(asked), sum(requests.values())
    for one in asked:
        served = requests.get(str(one.number), 0)
        violated = list(one.violated)
        if served > one.limits.model_calls:
            violated.append(f"the server counted {served} calls of {one.limits.model_calls}")
        if one.final is not None:
            usage = one.final["usage"]
            if served > usage["model_calls"]:
                violated.append(f"the server counted {served} calls, the question says {usage['model_calls']}")
            tally.outcomes[str(one.final["outcome"])] += 1
            tally.counts[str(one.final["stop_reason"])] += 1
            tokens = usage["input_tokens"] + usage["output_tokens"]
            shares = {
                "calls": usage["model_calls"] / one.limits.model_calls,
                "tokens": tokens / one.limits.tokens,
                "seconds": one.seconds / one.limits.seconds,
                "late": one.seconds - one.limits.seconds,
            }
            worst = {name: max(value, worst[name]) for name, value in shares.items()}
        tally.violated += [f"question {one.number}: {text}" for text in violated]
    unknown = requests.get("none", 0)
    if unknown:
        tally.violated.append(f"{unknown} requests belong to no question")
    return worst


if __name__ == "__main__":
    main()
