"""The real client against a real server: replies, usage, refusals, and every way to fail."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.errors import ModelError
from models.chat import Chat
from models.connect import openai_chat
from models.failures import TransientModelError
from models.generator import Generator
from prompts.direct_generate import DIRECT_GENERATE
from tests.integration.openai_server import OpenAIServer
from tests.scripted import roomy_budget

made: list[Chat] = []


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    yield
    while made:
        await made.pop().aclose()


def chat(server: OpenAIServer, *, model: str = "gpt-4o-mini", key: str = "right", seconds: float = 10) -> Chat:
    made.append(openai_chat(model, base_url=server.base_url, api_key=key, call_seconds=seconds))
    return made[-1]


async def write(one: Chat, budget: Any = None, temperature: float | None = None) -> str:
    generator = Generator(one).with_budget(budget or roomy_budget())
    return await generator.write(DIRECT_GENERATE, max_tokens=20, temperature=temperature, question="What is 2+2?")


async def test_a_text_is_written_and_paid_for_as_reported(server: OpenAIServer) -> None:
    budget = roomy_budget()
    assert await write(chat(server), budget) == "The answer is 4."
    body = server.asked[0].body
    assert (body["temperature"], body["model"]) == (0, "gpt-4o-mini")
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 20
    assert budget.spent["output_tokens"] == 4
    assert not budget.spent["estimated"]
    assert budget.spent["cached_input_tokens"] == budget.spent["input_tokens"] // 2


async def test_a_text_is_written_at_the_temperature_given(server: OpenAIServer) -> None:
    await write(chat(server), temperature=0.7)
    assert server.asked[0].body["temperature"] == 0.7


async def test_a_server_that_is_not_there_is_an_error_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    one = openai_chat("gpt-4o-mini", base_url=f"http://127.0.0.1:{port}/v1", api_key="x", call_seconds=5)
    made.append(one)
    budget = roomy_budget()
    with pytest.raises(ModelError, match=r"Cannot reach the server of gpt-4o-mini.*check OPENAI_BASE_URL") as error:
        await write(one, budget)
    assert not isinstance(error.value, TransientModelError)
    assert budget.spent["model_calls"] == budget.spent["input_tokens"] == 0
