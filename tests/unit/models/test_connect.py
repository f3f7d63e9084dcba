import sys
from typing import Any

import pytest

from core.errors import ModelError
from models.connect import BOUNDED, REASONING, is_local, openai_chat, provider_chat


async def test_an_endpoint_is_asked_without_the_clients_own_retries_or_redirects_and_its_password_not_shown() -> None:
    url = "http://me:swordfish@127.0.0.1:9/v1?key=tuna"
    chat = openai_chat("small", base_url=url, api_key="secret", call_seconds=5)
    assert chat.name == "small at http://127.0.0.1:9/v1"
    model: Any = chat.make()
    assert (model.max_retries, model.temperature, model.model_name) == (0, 0, "small")
    assert not model.http_async_client.follow_redirects
    await model.http_async_client.aclose()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:8080/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://localhost.example.com/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
        (None, False),
    ],
)
async def test_a_server_on_this_machine_is_not_asked_through_a_proxy(
    url: str | None, local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    model: Any = openai_chat("small", base_url=url, api_key="secret", call_seconds=5).make()
    assert is_local(url) == local
    assert model.http_async_client.trust_env == (not local)
    await model.http_async_client.aclose()


def test_a_client_that_does_not_know_max_tokens_is_told_in_its_own_words() -> None:
    assert BOUNDED["ollama"](7, None) == {"options": {"temperature": 0, "num_predict": 7}}
    assert provider_chat("ollama:small", call_seconds=5).arguments(7, 0.5) == BOUNDED["ollama"](7, 0.5)
    assert provider_chat("anthropic:claude", call_seconds=5).arguments(7, None) == {"max_tokens": 7}


@pytest.mark.parametrize(
    ("name", "reasons"), [("o3-mini", True), ("gpt-5-nano", True), ("gpt-4o-mini", False), ("olmo", False)]
)
def test_a_reasoning_model_is_given_no_temperature(name: str, reasons: bool) -> None:
    assert bool(REASONING.match(name)) == reasons


def test_an_unknown_provider_is_a_clear_error() -> None:
    with pytest.raises(ModelError, match="nowhere:model cannot be used"):
        provider_chat("nowhere:model", call_seconds=5).make()


def test_a_provider_whose_package_is_missing_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_anthropic", None)
    with pytest.raises(ModelError, match=r"anthropic:claude needs a package that is not installed: pip install"):
        provider_chat("anthropic:claude", call_seconds=5).make()
