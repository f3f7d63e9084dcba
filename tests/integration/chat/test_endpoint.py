"""The real client against a real server: replies, usage, refusals, and every way to fail."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from core.errors import ModelError
from models.chat import Chat
from models.connect import openai_chat
from models.critic import Critic
from models.failures import TransientModelError
from models.generator import Generator
from prompts.decide import RETRIEVE
from prompts.direct_generate import DIRECT_GENERATE
from prompts.grade_documents import RELEVANCE
from tests.integration.openai_server import CUT, HANG, Fault, OpenAIServer, say, serving, status
from tests.scripted import roomy_budget

SKY: dict[str, Any] = {
    "question": "Why is the sky blue today?",
    "passage": "The sky is blue today as air scatters light.",
}


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


async def test_usage_that_is_not_reported_is_estimated() -> None:
    with serving(usage=False) as server:
        budget = roomy_budget()
        await write(chat(server), budget)
    assert budget.spent["estimated"]
    assert budget.spent["input_tokens"] > 0


@pytest.mark.parametrize(
    ("settings", "asked", "sure"),
    [
        ({}, 2, True),
        ({"logprobs": "ignore"}, 3, False),
        ({"logprobs": "refuse"}, 3, False),
        ({"logprobs": "refuse", "schema": "ignore"}, 3, False),
        ({"logprobs": "refuse", "schema": "refuse"}, 4, False),
        ({"logprobs": "ignore", "schema": "refuse"}, 4, False),
    ],
)
async def test_a_verdict_by_whatever_the_server_gives(settings: dict[str, Any], asked: int, sure: bool) -> None:
    with serving(**settings) as server:
        critic = Critic(chat(server)).with_budget(roomy_budget())
        found = await critic.choose(RELEVANCE, **SKY)
        other = await critic.choose(RELEVANCE, question=SKY["question"], passage="Salt melts ice.")
        assert len(server.asked) == asked
    assert (found["label"], other["label"]) == ("relevant", "irrelevant")
    if sure:
        assert found["probabilities"] == pytest.approx({"relevant": 0.9, "irrelevant": 0.1})
    else:
        assert found["probabilities"] is None


async def test_the_critic_asks_for_one_token_or_a_schema(server: OpenAIServer) -> None:
    await Critic(chat(server)).with_budget(roomy_budget()).choose(RETRIEVE, question="What is 2+2?")
    server.logprobs = "refuse"
    await Critic(chat(server)).with_budget(roomy_budget()).choose(RETRIEVE, question="What is 2+2?")
    first, _, last = (one.body for one in server.asked)
    assert first.get("max_tokens", first.get("max_completion_tokens")) == 1
    assert (first["logprobs"], first["top_logprobs"]) == (True, 20)
    assert last["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"] == list(RETRIEVE.replies)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I'm sorry, but I can't help with that.",
        '{"label": "yes',
        "<think>Hm",
        '{"label": "purple"}',
        "yes and no",
        "{}",
    ],
)
async def test_an_odd_written_verdict_is_unknown(server: OpenAIServer, said: str) -> None:
    server.logprobs = "refuse"
    server.always = lambda asked: None if asked.body.get("logprobs") else say(said)
    found = await Critic(chat(server)).with_budget(roomy_budget()).choose(RELEVANCE, **SKY)
    assert found["label"] == "unknown"


async def test_a_verdict_behind_a_thought_is_read(server: OpenAIServer) -> None:
    server.logprobs = "ignore"
    server.faults = [None, say('<think>The passage says so.</think>\n{"label": "yes"}')]
    found = await Critic(chat(server)).with_budget(roomy_budget()).choose(RELEVANCE, **SKY)
    assert found["label"] == "relevant"


@pytest.mark.parametrize("fault", [status(500), status(502), status(503), status(429), CUT])
async def test_what_may_pass_is_tried_again(server: OpenAIServer, fault: Fault) -> None:
    server.faults = [fault, fault]
    budget = roomy_budget()
    assert await write(chat(server), budget) == "The answer is 4."
    assert len(server.asked) == budget.spent["model_calls"] == 3


@pytest.mark.parametrize("fault", [status(500, "overloaded"), CUT])
async def test_retries_end(server: OpenAIServer, fault: Fault) -> None:
    server.always = lambda asked: fault
    with pytest.raises(TransientModelError):
        await write(chat(server))
    assert len(server.asked) == 3


async def test_retry_after_is_respected(server: OpenAIServer) -> None:
    server.faults = [status(429, "slow down", retry_after="0.2")]
    began = time.monotonic()
    await write(chat(server))
    assert time.monotonic() - began >= 0.2


async def test_a_server_that_hangs_is_given_up_in_time(server: OpenAIServer) -> None:
    server.always = lambda asked: HANG
    async with asyncio.timeout(20):
        with pytest.raises(TransientModelError, match="did not answer in time"):
            await write(chat(server, seconds=0.2))
    assert len(server.asked) == 3


@pytest.mark.parametrize("said", ["", "<think>It never ends"])
async def test_an_empty_answer_is_an_error(server: OpenAIServer, said: str) -> None:
    server.always = lambda asked: say(said)
    with pytest.raises(ModelError, match="gave an empty answer"):
        await write(chat(server))


async def test_a_wrong_key_is_named_and_not_shown() -> None:
    with serving(key="right") as server:
        with pytest.raises(ModelError, match="refused the key: check OPENAI_API_KEY") as error:
            await write(chat(server, key="sk-wrong-secret-123"))
        assert await write(chat(server)) == "The answer is 4."
    assert "secret" not in str(error.value)


async def test_an_unknown_model_is_named(server: OpenAIServer) -> None:
    with pytest.raises(ModelError, match=r"does not know gpt-9 at http://127.*: check SELFRAG_CHAT_MODEL"):
        await write(chat(server, model="gpt-9"))
    assert server.asked == []


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


async def test_calls_run_side_by_side(server: OpenAIServer) -> None:
    together = asyncio.gather(*(write(chat(server)) for _ in range(8)))
    assert await together == ["The answer is 4."] * 8


async def test_the_server_tells_our_prompts_apart(server: OpenAIServer) -> None:
    """The server itself: a request that is none of the program's prompts is refused."""
    with pytest.raises(ModelError, match="no prompt of ours"):
        await chat(server).ask([HumanMessage("hello")], roomy_budget(), max_tokens=1)
    assert json.dumps(server.kinds()) == "[]"
