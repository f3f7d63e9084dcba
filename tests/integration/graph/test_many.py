"""One process, one graph, many questions at once: from one loop, from many, and from threads without any."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from core.background import in_background
from graph.builder import build_graph
from graph.context import Services
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from tests.integration.graph.sky import AIR, SALT
from tests.integration.openai_server import serving
from tests.scripted import ScriptedRetriever

THREADS, EACH = 6, 4


def test_loops_and_threads_share_one_graph() -> None:
    with serving() as server:
        chat = openai_chat("gpt-4o-mini", base_url=server.base_url, api_key="key", call_seconds=30)
        retriever = ScriptedRetriever(always=[AIR, SALT])
        graph = build_graph(Services(Generator(chat), Critic(chat), retriever))

        async def ask_some(number: int) -> list[Any]:
            try:
                return await asyncio.gather(
                    *(graph.ainvoke({"question": question(number, one)}) for one in range(EACH))  # type: ignore[arg-type]
                )
            finally:
                await chat.aclose()

        def in_a_loop(number: int) -> list[Any]:
            return asyncio.run(ask_some(number))

        def without(number: int) -> list[Any]:
            return [graph.invoke({"question": question(number, one)}) for one in range(EACH)]  # type: ignore[arg-type]

        with ThreadPoolExecutor(THREADS) as pool:
            done = [pool.submit((in_a_loop, without)[number % 2], number) for number in range(THREADS)]
            finals = [final for one in done for final in one.result(60)]
        in_background(chat.aclose())
        assert sorted(final["question"] for final in finals) == sorted(
            question(number, one) for number in range(THREADS) for one in range(EACH)
        )
        assert {(final["outcome"], final["answer"]) for final in finals} == {("grounded", AIR)}
        assert sum(final["usage"]["model_calls"] for final in finals) == len(server.asked)
        for final in finals:
            own = [one for one in server.asked if one.inputs.get("question") == final["question"]]
            assert len(own) == final["usage"]["model_calls"]


def question(number: int, one: int) -> str:
    return f"Why does air scatter blue light, number {number} of {one}?"
