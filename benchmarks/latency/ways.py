"""The ways to answer that are compared: plain retrieve-and-generate, ours, and the peers'."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from benchmarks.cost import ours, plain
from benchmarks.latency.server import Address
from benchmarks.peers import peers
from evaluation.records import Example
from graph.builder import build_graph
from graph.context import Context, RetrieverLike, Services, Thresholds
from models.calibration import MINILM
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator

PLAIN, OURS = "plain", "ours"
CALL_SECONDS = 600.0
Way = Callable[[str], Awaitable[tuple[float, bool]]]


def services_at(address: Address, model: str, retriever: RetrieverLike, **options: Any) -> Services:
    """Services over one model of a server. The model's name tells the ways apart, for whom the server keeps apart
    caches."""
    chat = openai_chat(model, base_url=address.base_url, api_key="none", call_seconds=CALL_SECONDS, **options)
    return Services(Generator(chat), Critic(chat), retriever)


def gated(services: Services) -> Services:
    """The services with the gate that comes with the embedding model, whatever the chat model."""
    return replace(services, thresholds=Thresholds(**MINILM.thresholds), fits=MINILM.fits)


def ways_at(address: Address, retriever: RetrieverLike, k: int) -> Mapping[str, Way]:
    """Each way by its name; it takes a question, and gives the seconds and whether an answer came of it."""
    basic = services_at(address, PLAIN, retriever)
    graph = build_graph(gated(services_at(address, OURS, retriever)))
    context = Context(k=k)

    async def answer_plainly(question: str) -> tuple[float, bool]:
        seconds, _ = await plain(question, basic, k)
        return seconds, True

    async def answer_by_graph(question: str) -> tuple[float, bool]:
        seconds, state = await ours(question, graph, context)
        drafts = sum(step["node"] == "generate" for step in state["path"])
        return seconds, state["outcome"] == "grounded" and drafts == 1

    def of_peer(name: str) -> Way:
        services = services_at(address, name, retriever)
        peer = next(one for one in peers(services, k) if one.name == name)

        async def answer(question: str) -> tuple[float, bool]:
            record = await peer.ask(Example(id=question, question=question))
            return record["cost"]["seconds"], record["outcome"] == "answered"

        return answer

    names = [one.name for one in peers(basic, k)]
    return {PLAIN: answer_plainly, OURS: answer_by_graph, **{name: of_peer(name) for name in names}}
