"""Measure our own time in a question: all but the model, its client, and the search.

    python -m benchmarks.overhead [--rounds 5]

A model that has its reply ready and a retriever that has its passages ready stand in for the others, so that what is
left of the wall-clock of one run of the graph is ours: LangGraph, prompts, budgets, claims, quotes and facts. Each of
the sample library's questions that is grounded at its first draft is asked once to warm up, then in rounds, one at a
time. Printed is the median of the milliseconds. ``bench/overhead.json`` has the figures.
"""

import asyncio
import gc
import time
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from benchmarks.harness import counted, option_parser, write_figures
from benchmarks.latency.good_model import Model
from benchmarks.sample import asked_of_sample
from graph.builder import build_graph
from grounding.amounts import facts_of
from grounding.language import language_of, languages_in
from grounding.names import lexicon_of
from grounding.quotes import stemmed_spans
from grounding.stems import stemmed
from models.chat import Chat
from models.critic import Critic
from models.generator import Generator
from run.context import Context, Services

K = 4
ROLES = {"human": "user", "ai": "assistant", "system": "system"}


class Ready:
    """As much of a LangChain chat model as `Chat` calls; replies are cached."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._replies: dict[tuple[str, str], AIMessage] = {}

    async def ainvoke(self, messages: Sequence[BaseMessage], **_: Any) -> AIMessage:
        """Return the reply to the first and the last message, by which prompts differ."""
        key = (str(messages[0].content), str(messages[-1].content))
        if key not in self._replies:
            said = self._model.reply([{"role": ROLES[one.type], "content": one.text} for one in messages])
            read = sum(len(one.text) for one in messages) // 4
            self._replies[key] = AIMessage(
                said.text,
                response_metadata={"logprobs": {"content": [{"top_logprobs": said.candidates}]} if said.top else None},
                usage_metadata={"input_tokens": read, "output_tokens": said.tokens, "total_tokens": read + said.tokens},
            )
        return self._replies[key]


async def measure(rounds: int) -> list[float]:
    """Return the wall-clock seconds of each run of the graph."""
    asked, retriever = await asked_of_sample(K)
    model = cast(BaseChatModel, Ready(Model(asked, 100)))
    chat = Chat(lambda: model, "ready")
    graph = build_graph(Services(Generator(chat), Critic(chat), retriever))
    seconds = []
    for number in counted(range(rounds + 1), "round"):
        gc.collect()
        for one in asked:
            for kept in (stemmed, stemmed_spans, facts_of, lexicon_of, language_of, languages_in):
                kept.cache_clear()  # only other questions fill these in a service
            began = time.perf_counter()
            state = await graph.ainvoke({"question": one.question}, context=Context(k=K))
            took = time.perf_counter() - began
            if state["outcome"] != "grounded":
                raise RuntimeError(f"not grounded, but {state['outcome']} ({state['stop_reason']}): {one.question}")
            if number:
                seconds.append(took)
    return seconds


def main() -> None:
    """Measure, print, write."""
    options = option_parser(__doc__, rounds=5).parse_args()
    seconds = asyncio.run(measure(options.rounds))
    median = float(np.median(seconds)) * 1000
    print(f"median {median:.1f} ms of {len(seconds)} runs")
    write_figures("overhead", {"runs": len(seconds), "wall_ms": median})


if __name__ == "__main__":
    main()
