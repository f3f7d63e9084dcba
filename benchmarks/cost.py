"""What Self-RAG costs against plain retrieve-and-generate: same model, k and questions, in one run.

    python -m benchmarks.cost [--questions data/questions.jsonl] [--docs PATH] [--most 12]

Each question is asked both ways, in turns, after one warm-up of each; only questions that are grounded at the first
draft count. Printed are the medians and the median ratio, in wall-clock and in tokens not served from a cache.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from statistics import median
from typing import Any

from langchain_core.prompts import ChatPromptTemplate

from benchmarks.common import bound, questions_in
from evidence.passages import as_data, numbered
from graph.builder import build_graph
from graph.context import Context, Limits, Services
from models.usage import Meter, Tab, Usage
from nodes.retrieve import as_passage
from prompts.generate import GENERATE, MAX_TOKENS

# The same prompt behind another first word, so that neither way reads the other's passages from the server's cache.
PLAIN = ChatPromptTemplate.from_messages([("system", "Assistant.")]) + GENERATE
DEFAULT = Path(__file__).resolve().parent.parent / "data" / "questions.jsonl"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--questions", type=Path, default=DEFAULT)
    parser.add_argument("--docs", type=Path, action="append")
    parser.add_argument("--most", type=int, default=12)
    options = parser.parse_args()
    rows = [row for row in questions_in(options.questions) if row.answerable]
    asyncio.run(measure([row.question for row in rows[: options.most + 1]], options.docs))


async def plain(question: str, services: Services, k: int) -> tuple[float, Usage]:
    """Search, put all that was found into the prompt, answer. No decision, no check."""
    tab = Tab(Meter(calls=1, tokens=10**6, deadline=time.time() + Limits().seconds * 10))
    began = time.perf_counter()
    found = await services.retriever.ainvoke(question, k=k)
    passages = numbered([as_passage(document) for document in found])
    await services.metered(tab).generator.write(
        PLAIN, max_tokens=MAX_TOKENS, passages=passages, question=as_data(question)
    )
    return time.perf_counter() - began, tab.spent


async def ours(question: str, graph: Any, context: Context) -> tuple[float, Any]:
    """The whole graph."""
    began = time.perf_counter()
    state = await graph.ainvoke({"question": question}, context=context)
    return time.perf_counter() - began, state


async def measure(questions: list[str], docs: list[Path] | None) -> None:
    """Ask in turns, the first question to warm up; print a row for each and the medians."""
    rows = []
    with bound(docs) as (services, context):
        graph = build_graph(services)
        for number, question in enumerate(questions):
            # Which goes first alternates: the machine may slow down or speed up meanwhile.
            if number % 2:
                slow, state = await ours(question, graph, context)
                fast, usage = await plain(question, services, context.k)
            else:
                fast, usage = await plain(question, services, context.k)
                slow, state = await ours(question, graph, context)
            drafts = sum(step["node"] == "generate" for step in state["path"])
            counts = number > 0 and state["outcome"] == "grounded" and drafts == 1
            if counts:
                rows.append((fast, slow, uncached(usage), uncached(state["usage"]), state["usage"]["model_calls"]))
            print(
                f"{'' if counts else 'not counted: '}{fast:6.1f} s plain {slow:6.1f} s ours ({slow / fast:4.2f}) "
                f"{state['usage']['model_calls']:3} calls  {state['outcome']}  {question}",
                flush=True,
            )
    if not rows:
        print("No question was grounded at its first draft: nothing to compare.")
        return
    ratios = sorted(slow / fast for fast, slow, *_ in rows)
    print(
        f"\n{len(rows)} questions grounded at the first draft\n"
        f"wall-clock: plain {median(row[0] for row in rows):.1f} s, ours {median(row[1] for row in rows):.1f} s; "
        f"ratio: median {median(ratios):.2f}, from {ratios[0]:.2f} to {ratios[-1]:.2f}\n"
        f"input tokens not from a cache: plain {median(row[2] for row in rows):.0f}, "
        f"ours {median(row[3] for row in rows):.0f}; "
        f"ratio: median {median(row[3] / row[2] for row in rows):.2f}\n"
        f"model calls: ours median {median(row[4] for row in rows):.0f}"
    )


def uncached(usage: Usage) -> int:
    """Input tokens that the server had to read."""
    return max(1, usage["input_tokens"] - usage["cached_input_tokens"])


if __name__ == "__main__":
    main()
