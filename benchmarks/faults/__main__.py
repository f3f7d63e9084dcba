"""Ask many questions of a server of whose replies a share goes wrong; look at what must hold of each.

    python -m benchmarks.faults [--questions 2000] [--share 0.2] [--seed 1] [--at-once 24] [--call-seconds 1]

Settings and limits are drawn anew for each question, and every other one is streamed. Nothing may be violated: each
question ends with an outcome that follows from its recorded verdicts, within its limits by the server's own count, and
none hangs. It writes ``bench/faults.json`` and ends with 1 if anything was violated.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from benchmarks.faults.server import serving
from benchmarks.faults.shelf import THINGS, Shelf, passages
from benchmarks.figures import aligned, ended, listed
from benchmarks.holds import violations
from graph.builder import SelfRAGGraph, build_graph
from graph.context import Context, Limits, Services
from graph.state import SelfRAGState
from models.chat import Chat
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator

HUNG_SECONDS = 30  # beyond the question's limit: long after all that may delay a run on a busy machine


@dataclass(frozen=True)
class Asked:
    """One question: what was set, how it ended, and what was violated."""

    number: int
    limits: Limits
    seconds: float
    final: SelfRAGState | None = None
    violated: tuple[str, ...] = ()


@dataclass
class Tally:
    """What is counted over all questions."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    violated: list[str] = field(default_factory=list)
    worst: dict[str, float] = field(default_factory=lambda: {"calls": 0.0, "tokens": 0.0, "seconds": 0.0, "late": 0.0})


def main() -> None:
    """Ask, count, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=24)
    parser.add_argument("--call-seconds", type=float, default=1.0)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # of usage that is none
    began = time.perf_counter()
    with serving(options.seed, options.share) as server:
        chat = openai_chat("faulty", base_url=server.base_url, api_key="none", call_seconds=options.call_seconds)
        graph = build_graph(Services(Generator(chat), Critic(chat), Shelf(passages())))
        asked = asyncio.run(ask_all(graph, chat, options.questions, options.seed, options.at_once))
        record = server.record()
    tally = counted(asked, record["requests"])
    figures = {
        "questions": len(asked),
        "share": options.share,
        "seed": options.seed,
        "requests": sum(record["requests"].values()),
        "faults": record["faults"],
        "outcomes": dict(tally.outcomes),
        "stop_reasons": dict(tally.reasons),
        "worst": tally.worst,
        "violations": len(tally.violated),
        "seconds": time.perf_counter() - began,
    }
    print(table(figures))
    ended("faults", figures, tally.violated)


def settings_of(number: int, seed: int) -> tuple[Context, Limits]:
    """What one question is asked with: limits from tight to roomy, and any mode."""
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
        fallback=dice.choice(("abstain", "direct")),
        constraints=dice.choice(("soft", "soft", "hard")),
        explain=dice.random() < 0.2,
        limits=limits,
    )
    return context, limits


async def ask_all(graph: SelfRAGGraph, chat: Chat, questions: int, seed: int, at_once: int) -> list[Asked]:
    """All questions, so many at once, with their number on standard error."""
    turn, done = asyncio.Semaphore(at_once), 0

    async def one(number: int) -> Asked:
        nonlocal done
        async with turn:
            asked = await ask(graph, number, seed)
        done += 1
        print(f"\r{done} of {questions}", end="\n" if done == questions else "", file=sys.stderr, flush=True)
        return asked

    await ask(graph, questions, seed)  # a question more, not counted: all that is loaded at first is loaded now
    asked = await asyncio.gather(*(one(number) for number in range(questions)))
    await chat.aclose()
    return asked


async def ask(graph: SelfRAGGraph, number: int, seed: int) -> Asked:
    """One question, whole or streamed, with a watchdog."""
    context, limits = settings_of(number, seed)
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
    found = violations(final, limits, question, hard=context.constraints == "hard")
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


def counted(asked: Sequence[Asked], requests: Mapping[str, int]) -> Tally:
    """The sums, with what the server counted held against what each question says and may."""
    tally = Tally()
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
            tally.reasons[str(one.final["stop_reason"])] += 1
            tokens = usage["input_tokens"] + usage["output_tokens"]
            shares = {
                "calls": usage["model_calls"] / one.limits.model_calls,
                "tokens": tokens / one.limits.tokens,
                "seconds": one.seconds / one.limits.seconds,
                "late": one.seconds - one.limits.seconds,
            }
            tally.worst = {name: max(value, tally.worst[name]) for name, value in shares.items()}
        tally.violated += [f"question {one.number}: {text}" for text in violated]
    unknown = requests.get("none", 0)
    if unknown:
        tally.violated.append(f"{unknown} requests belong to no question")
    return tally


def table(figures: Mapping[str, Any]) -> str:
    """The figures as they are printed."""
    worst, faults = figures["worst"], figures["faults"]
    injected = sum(faults.values())
    rows = [
        ("questions", f"{figures['questions']:,}"),
        ("requests", f"{figures['requests']:,}, {injected / max(1, figures['requests']):.1%} of them with a fault"),
        ("outcomes", listed(figures["outcomes"])),
        ("stop reasons", listed(figures["stop_reasons"])),
        ("most of a limit used", f"calls {worst['calls']:.0%}, tokens {worst['tokens']:.0%}"),
        ("longest after its time", f"{worst['late']:.2f} s"),
        ("faults", listed(faults)),
        ("seconds", f"{figures['seconds']:.0f}"),
        ("violations", f"{figures['violations']}"),
    ]
    return aligned(rows)


if __name__ == "__main__":
    main()
