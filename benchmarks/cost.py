"""What Self-RAG costs against plain retrieve-and-generate: same model, k and questions, in one run.

    python -m benchmarks.cost [--questions data/questions.jsonl] [--docs PATH] [--most 12] [--peers]

Each question is asked both ways, in turns, after one warm-up of each; only questions that are grounded at the first
draft count. Printed are the medians and the median ratio, in wall-clock and in tokens not served from a cache. With
``--peers`` the same questions are asked in the peers' ways too, and count whatever a peer makes of them; they come last
and write with the prompt of plain, so that what the server's cache has of it is in their favour.
`bench/cost.json` has the figures.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import option_parser, write_figures
from benchmarks.peers import peers
from benchmarks.sample import open_docs, questions_in
from core.types import Usage
from evaluation.records import Cost, Example
from graph.context import Context, Limits, Services
from models.usage import Budget, NodeBudget
from nodes.retrieve import as_passage
from prompts.delimiters import as_data, numbered
from prompts.generate import MAX_TOKENS, PLAIN

DEFAULT = Path(__file__).resolve().parent.parent / "data" / "questions.jsonl"


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__, questions=DEFAULT, most=12, peers=False)
    parser.add_argument("--docs", type=Path, action="append")
    options = parser.parse_args()
    rows = [row for row in questions_in(options.questions) if row.answerable]
    asyncio.run(measure([row.question for row in rows[: options.most + 1]], options.docs, options.peers))


async def plain(question: str, services: Services, k: int) -> tuple[float, Usage]:
    """Search, put all that was found into the prompt, answer. No decision, no check."""
    budget = NodeBudget(Budget(calls=1, tokens=10**6, seconds=Limits().seconds * 10))
    began = time.perf_counter()
    found = await services.retriever.ainvoke(question, k=k)
    passages = numbered([as_passage(document) for document in found])
    await services.with_budget(budget).generator.write(
        PLAIN, max_tokens=MAX_TOKENS, passages=passages, question=as_data(question)
    )
    return time.perf_counter() - began, budget.spent


async def ours(question: str, graph: Any, context: Context) -> tuple[float, Any]:
    """The whole graph."""
    began = time.perf_counter()
    state = await graph.ainvoke({"question": question}, context=context)
    return time.perf_counter() - began, state


@dataclass(frozen=True)
class Turn:
    """One question answered in one way."""

    seconds: float
    uncached: int
    calls: int


Row = dict[str, Turn]


async def measure(questions: list[str], docs: list[Path] | None, with_peers: bool) -> None:
    """Ask in turns, the first question to warm up; print a row for each, and the medians."""
    rows: list[Row] = []
    async with open_docs(docs) as rag:
        services, context = rag.services, rag.context
        others = peers(services, context.k) if with_peers else []
        for number, question in enumerate(questions):
            # Which goes first alternates: the machine may slow down or speed up meanwhile.
            if number % 2:
                slow, state = await ours(question, rag.graph, context)
                fast, usage = await plain(question, services, context.k)
            else:
                fast, usage = await plain(question, services, context.k)
                slow, state = await ours(question, rag.graph, context)
            row = {"plain": _turn(fast, usage), "ours": _turn(slow, state["usage"])}
            for peer in others:
                record = await peer.ask(Example(id=str(number), question=question))
                row[peer.name] = _turn(record["cost"]["seconds"], record["cost"])
            drafts = sum(step["node"] == "generate" for step in state["path"])
            counts = number > 0 and state["outcome"] == "grounded" and drafts == 1
            if counts:
                rows.append(row)
            beside = "".join(f" {name} {turn.seconds / fast:4.2f}" for name, turn in list(row.items())[2:])
            print(
                f"{'' if counts else 'not counted: '}{fast:6.1f} s plain {slow:6.1f} s ours ({slow / fast:4.2f})"
                f"{beside} {state['usage']['model_calls']:3} calls  {state['outcome']}  {question}",
                flush=True,
            )
    if not rows:
        print("No question was grounded at its first draft: nothing to compare.")
        return
    report(rows)


def report(rows: Sequence[Row]) -> None:
    """Print the medians, and write them."""
    ways = {name: _medians(rows, name) for name in rows[0]}
    ratios = sorted(row["ours"].seconds / row["plain"].seconds for row in rows)
    basic, own = ways["plain"], ways["ours"]
    print(
        f"\n{len(rows)} questions grounded at the first draft\n"
        f"wall-clock: plain {basic['seconds']:.1f} s, ours {own['seconds']:.1f} s; "
        f"ratio: median {own['times']:.2f}, from {ratios[0]:.2f} to {ratios[-1]:.2f}\n"
        f"input tokens not from a cache: plain {basic['uncached']:.0f}, ours {own['uncached']:.0f}; "
        f"ratio: median {own['uncached_times']:.2f}\n"
        f"model calls: ours median {own['calls']:.0f}"
    )
    for name in list(ways)[2:]:
        one = ways[name]
        print(
            f"{name}: wall-clock {one['times']:.2f} times plain, input tokens not from a cache "
            f"{one['uncached_times']:.2f} times, {one['calls']:.0f} calls"
        )
    write_figures("cost", {"questions": len(rows), "ways": ways})


def _medians(rows: Sequence[Row], name: str) -> dict[str, float]:
    """Of one way, and over plain, question by question."""
    return {
        "calls": median(row[name].calls for row in rows),
        "seconds": median(row[name].seconds for row in rows),
        "times": median(row[name].seconds / row["plain"].seconds for row in rows),
        "uncached": median(row[name].uncached for row in rows),
        "uncached_times": median(row[name].uncached / row["plain"].uncached for row in rows),
    }


def _turn(seconds: float, usage: Usage | Cost) -> Turn:
    return Turn(seconds, uncached(usage), usage["model_calls"])


def uncached(usage: Usage | Cost) -> int:
    """Input tokens that the server had to read."""
    return max(1, usage["input_tokens"] - usage["cached_input_tokens"])


if __name__ == "__main__":
    main()
