"""A running server of the OpenAI protocol, what is written by it, and retries that do not wait: of several folders."""

from collections.abc import AsyncIterator, Iterator

import pytest

from models import failures
from models.chat import Chat
from models.connect import openai_chat
from models.generator import Generator
from models.usage import NodeBudget
from prompts.direct_generate import DIRECT_GENERATE
from tests.integration.openai_server import OpenAIServer, serving

PATIENT = 30.0
made: list[Chat] = []


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "BACKOFF_SECONDS", 0.01)


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """Close the chat models that `chat` has made."""
    yield
    while made:
        await made.pop().aclose()


def chat(server: OpenAIServer, *, seconds: float = PATIENT) -> Chat:
    made.append(openai_chat("gpt-4o-mini", base_url=server.base_url, api_key="right", call_seconds=PATIENT))
    made[-1].call_seconds = seconds
    return made[-1]


async def write(one: Chat, budget: NodeBudget, temperature: float | None = None) -> str:
    generator = Generator(one).with_budget(budget)
    return await generator.write(DIRECT_GENERATE, max_tokens=20, temperature=temperature, question="What is 2+2?")
