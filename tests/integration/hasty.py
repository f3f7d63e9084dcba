"""A running server of the OpenAI protocol, and retries that do not wait: fixtures of several folders."""

from collections.abc import Iterator

import pytest

from models import failures
from tests.integration.openai_server import OpenAIServer, serving


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "BACKOFF_SECONDS", 0.01)
