import builtins
from typing import Any

import pytest

from errors import ModelError
from models.connect import REASONING, openai_chat, provider_chat


def client(chat: Any) -> Any:
    return chat._make()


async def test_an_endpoint_is_asked_without_the_clients_own_retries() -> None:
    chat = openai_chat("small", base_url="http://127.0.0.1:9/v1", api_key="secret", call_seconds=5)
    assert chat.name == "small at http://127.0.0.1:9/v1"
    model = client(chat)
    assert (model.max_retries, model.temperature, model.model_name) == (0, 0, "small")
    await model.http_async_client.aclose()


@pytest.mark.parametrize(
    ("name", "reasons"), [("o3-mini", True), ("gpt-5-nano", True), ("gpt-4o-mini", False), ("olmo", False)]
)
def test_a_reasoning_model_is_given_no_temperature(name: str, reasons: bool) -> None:
    assert bool(REASONING.match(name)) == reasons


def test_an_unknown_provider_is_a_clear_error() -> None:
    with pytest.raises(ModelError, match="nowhere:model cannot be used"):
        client(provider_chat("nowhere:model", call_seconds=5))


def test_a_provider_whose_package_is_missing_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("langchain_anthropic"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return really(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModelError, match=r"anthropic:claude needs a package that is not installed: pip install"):
        client(provider_chat("anthropic:claude", call_seconds=5))
