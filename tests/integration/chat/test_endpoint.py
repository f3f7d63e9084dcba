"""The real client against a real server."""

import socket

import pytest

from core.errors import ModelError
from models.connect import openai_chat
from models.failures import TransientModelError
from tests.integration.hasty import chat, write
from tests.integration.openai_server import OpenAIServer
from tests.scripted import roomy_budget


async def test_a_text_is_written_and_paid_for_as_reported(server: OpenAIServer) -> None:
    budget = roomy_budget()
    assert await write(chat(server), budget) == "The answer is 4."
    body = server.asked[0].body
    assert (body["temperature"], body["model"]) == (0, "gpt-4o-mini")
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 20
    assert budget.spent["output_tokens"] == 4
    assert not budget.spent["estimated"]
    assert budget.spent["cached_input_tokens"] == budget.spent["input_tokens"] // 2
    await write(chat(server), budget, temperature=0.7)
    assert server.asked[1].body["temperature"] == 0.7


async def test_a_server_that_is_not_there_is_an_error_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    one = openai_chat("gpt-4o-mini", base_url=f"http://127.0.0.1:{port}/v1", api_key="x", call_seconds=5)
    budget = roomy_budget()
    with pytest.raises(ModelError, match=r"Cannot reach the server of gpt-4o-mini.*check OPENAI_BASE_URL") as error:
        await write(one, budget)
    await one.aclose()
    assert not isinstance(error.value, TransientModelError)
    assert budget.spent["model_calls"] == budget.spent["input_tokens"] == 0
