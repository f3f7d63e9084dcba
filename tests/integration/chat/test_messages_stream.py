"""With the stream mode ``messages`` only the answer's tokens are shown, and nothing else changes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from core.background import in_background
from graph.builder import build_graph
from models.chat import Chat
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from run.context import Services
from run.state import SelfRAGState
from tests.integration.openai_server import OpenAIServer
from tests.scripted import ScriptedRetriever

QUESTION = "Why does the sky look blue today?"
AIR = "The sky does look blue today. Air scatters it."
ASKING = cast("SelfRAGState", {"question": QUESTION})


@pytest.fixture
async def chat(server: OpenAIServer) -> AsyncIterator[Chat]:
    made = openai_chat("gpt-4o-mini", base_url=server.base_url, api_key="x", call_seconds=10)
    yield made
    await made.aclose()


def graph(chat: Chat, found: dict[str, list[str]]) -> Any:
    return build_graph(Services(Generator(chat), Critic(chat), ScriptedRetriever(found, always=[])))


async def test_only_the_answers_tokens_are_shown_and_nothing_else_changes(server: OpenAIServer, chat: Chat) -> None:
    made = graph(chat, {QUESTION: ["Salt melts ice."], "other words 0": [AIR]})
    tokens: list[str] = []
    nodes: set[str] = set()
    final: Any = None
    async for mode, chunk in made.astream(ASKING, stream_mode=["messages", "values"]):
        if mode == "values":
            final = chunk
        else:
            message, metadata = chunk
            tokens.append(message.text)
            nodes.add(metadata["langgraph_node"])
    assert "".join(tokens) == final["answer"] == "The sky does look blue today."
    assert len([token for token in tokens if token]) > 3, "it streams"
    assert nodes == {"generate"}
    assert {"query", "relevance", "support", "usefulness"} <= set(server.kinds())
    plain = await made.ainvoke(ASKING)
    assert final["decision"] == plain["decision"]
    assert final["decision"]["probabilities"] is not None
    assert final["verdicts"] == plain["verdicts"]
    assert final["usage"] == plain["usage"]
    assert not final["usage"]["estimated"]


async def test_the_answer_streams_synchronously_too(server: OpenAIServer, chat: Chat) -> None:
    made = graph(chat, {QUESTION: [AIR]})

    def tokens() -> list[str]:
        return [message.text for message, _ in made.stream(ASKING, stream_mode="messages")]

    shown = await asyncio.to_thread(tokens)
    await asyncio.to_thread(in_background, chat.aclose())
    assert "".join(shown) == "The sky does look blue today."


@pytest.mark.parametrize("logprobs", ["serve", "ignore", "refuse"])
async def test_the_whole_graph_against_a_real_server(server: OpenAIServer, chat: Chat, logprobs: Any) -> None:
    server.logprobs = logprobs
    final = await graph(chat, {QUESTION: [AIR, "Salt melts ice."]}).ainvoke(ASKING)
    assert (final["outcome"], final["answer"]) == ("grounded", "The sky does look blue today.")
    assert final["usage"]["model_calls"] == len(server.asked)
    assert (final["decision"]["probabilities"] is not None) == (logprobs == "serve")
