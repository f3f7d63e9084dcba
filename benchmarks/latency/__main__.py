"""What Self-RAG's calls cost in time: plain retrieve-and-generate, ours and the peers' ways, k = 4, all checks on.

    python -m benchmarks.latency [--most 8]

Against a loopback server, in one run and in turns, after one question to warm up: each call takes 300 ms and 20 ms for
each token of its reply, or 300 ms flat. Drafts are charged as answers of 100 tokens, and their text is one claim. The
model finds one of the four passages relevant; on the last server all four, which is the dearest that an accepted first
draft can be. Printed are medians over the questions: calls, the longest chain of calls each of which began after the
one before it had ended, wall-clock over plain, and input tokens not from a cache over plain. The server's cache holds
whole messages. `bench/latency.json` has the figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from app.libraries import SAMPLE, library_to_ask
from app.screen import Screen
from app.settings import load_settings
from benchmarks.harness import end_progress, option_parser, show_progress, write_figures
from benchmarks.latency.timed_server import Call, Pace, TimedServer
from benchmarks.latency.ways import PLAIN, Way, ways_at
from benchmarks.sample import Asked, CachedRetriever, answerable
from tests.integration.loopback import Remote, in_another_process

K = 4


@dataclass(frozen=True)
class Setting:
    """A server, and how many of the passages found its model calls relevant."""

    name: str
    pace: Pace
    relevant: int


SETTINGS = (
    Setting("300 ms a call, 20 ms a token", Pace(0.3, 0.02), 1),
    Setting("flat 300 ms a call", Pace(0.3), 1),
    Setting("flat 300 ms a call, all passages relevant", Pace(0.3), K),
)


@dataclass(frozen=True)
class Turn:
    """One question answered in one way."""

    seconds: float
    calls: int
    chain: int
    uncached: int


def main() -> None:
    """Measure, print, write."""
    parser = option_parser(__doc__)
    parser.add_argument("--most", type=int, default=8, help="questions on each server")
    options = parser.parse_args()
    measured = []
    for setting in SETTINGS:
        turns = asyncio.run(measure(setting, options.most))
        figures = summary(turns)
        show(setting, figures, len(turns))
        measured.append({"server": setting.name, "questions": len(turns), "ways": figures})
    write_figures("latency", {"servers": measured})


async def measure(setting: Setting, most: int) -> list[dict[str, Turn]]:
    """The turns of every way, for each question after the first; which way goes first changes."""
    turns = []
    with library_to_ask([SAMPLE], load_settings(), Screen(quiet=True)) as library:
        retriever = CachedRetriever(library.store.as_retriever())
        asked = (await answerable(retriever, K, setting.relevant))[: most + 1]
    with in_another_process(TimedServer, asked, setting.pace) as server:
        ways = ways_at(server, retriever, K)
        names = list(ways)
        for number, one in enumerate(asked):
            shift = number % len(names)
            turn = {name: await _turn(name, ways[name], one, server) for name in names[shift:] + names[:shift]}
            if number:
                turns.append({name: turn[name] for name in names})
            show_progress(f"{setting.name}: {number} of {len(asked) - 1}")
    end_progress()
    return turns


async def _turn(name: str, way: Way, one: Asked, server: Remote) -> Turn:
    seconds, answered = await way(one.question)
    calls = server.call("calls_of", name)
    if not answered:
        raise RuntimeError(f"{name} gave no answer at its first draft to: {one.question}")
    uncached = sum(call.input_tokens - call.cached_tokens for call in calls)
    return Turn(seconds, len(calls), longest_chain(calls), uncached)


def longest_chain(calls: Sequence[Call]) -> int:
    """Length of the longest chain of calls each of which began after the one before it had ended."""
    chain, end = 0, float("-inf")
    for call in sorted(calls, key=lambda one: one.ended):
        if call.asked >= end:
            chain, end = chain + 1, call.ended
    return chain


def summary(turns: Sequence[Mapping[str, Turn]]) -> dict[str, dict[str, Any]]:
    """The medians of each way, and its medians over plain, question by question."""
    return {
        name: {
            "calls": median(one[name].calls for one in turns),
            "chain": max(one[name].chain for one in turns),
            "seconds": median(one[name].seconds for one in turns),
            "times": median(one[name].seconds / one[PLAIN].seconds for one in turns),
            "uncached": median(one[name].uncached for one in turns),
            "uncached_times": median(one[name].uncached / one[PLAIN].uncached for one in turns),
        }
        for name in turns[0]
    }


def show(setting: Setting, figures: Mapping[str, Mapping[str, Any]], count: int) -> None:
    """Print one server's table."""
    print(f"\n{setting.name}; {count} questions, {setting.relevant} of {K} passages relevant")
    print(f"{'':12}{'calls':>6}{'chain':>7}{'seconds':>9}{'times plain':>13}{'uncached':>10}{'times plain':>13}")
    for name, one in figures.items():
        print(
            f"{name:12}{one['calls']:6.0f}{one['chain']:7}{one['seconds']:9.2f}{one['times']:13.2f}"
            f"{one['uncached']:10.0f}{one['uncached_times']:13.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
