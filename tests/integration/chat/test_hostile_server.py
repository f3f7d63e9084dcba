"""A server that would fill the memory, lead elsewhere, or give the key away: by the endpoint and by providers."""

import gzip
import json
import tracemalloc
from collections.abc import Callable

import pytest
from langchain_core.messages import HumanMessage

from app.compose import chat_of
from app.settings import Settings
from core.errors import ModelError, RequestError
from models.chat import Chat, usable_text
from models.connect import openai_chat, provider_chat
from models.failures import TransientModelError
from tests.integration.loopback import json_reply, loopback
from tests.integration.misbehaviour import Wire, whole
from tests.scripted import roomy_budget

KEY = "swordfish-in-the-lake"
ZEROS = 50_000_000
ONCE = gzip.compress(b"\0" * ZEROS, 1)
Make = Callable[[str], Chat]


def endpoint(url: str) -> Chat:
    return openai_chat("small", base_url=f"{url}/v1", api_key=KEY, call_seconds=20)


@pytest.fixture(params=["endpoint", "openai", "azure_openai", "ollama"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Make:
    """The chat model of a server at an address, in each of the ways to name it."""
    if request.param == "endpoint":
        return endpoint

    def named(url: str) -> Chat:
        monkeypatch.setenv("OPENAI_API_BASE", f"{url}/v1")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", url)
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
        monkeypatch.setenv("OLLAMA_HOST", url)
        for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "OLLAMA_API_KEY"):
            monkeypatch.setenv(name, KEY)
        return chat_of(f"{request.param}:small", Settings(selfrag_call_seconds=20))

    return named


async def failure(chat: Chat) -> ModelError:
    with pytest.raises(ModelError) as error:
        await chat.ask([HumanMessage("Why?")], roomy_budget(), max_tokens=5)
    await chat.aclose()
    return error.value


@pytest.mark.parametrize(
    ("status", "encoding", "bomb"),
    [(200, "gzip", ONCE), (200, "gzip, gzip", gzip.compress(ONCE, 1)), (500, "gzip", ONCE)],
)
async def test_a_compressed_reply_is_refused_before_it_grows(
    make: Make, status: int, encoding: str, bomb: bytes
) -> None:
    wire = Wire((bomb,), status, {"Content-Type": "application/json", "Content-Encoding": encoding})
    with loopback(lambda sent: wire) as server:
        chat = make(server.url)
        chat._client()  # what is imported for it is no part of the reply
        tracemalloc.start()
        try:
            error = await failure(chat)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert "compresses its replies" in str(error)
    assert most < ZEROS / 5
    assert {name.lower(): value for name, value in server.sent[0].headers.items()}["accept-encoding"] == "identity"
    assert len(server.sent) == 1


@pytest.mark.parametrize("status", [307, 308])
async def test_nothing_is_sent_where_a_redirect_leads(make: Make, status: int) -> None:
    with loopback(lambda sent: json_reply({})) as other:
        moved = whole(b"", status, location=f"{other.url}/v1/chat/completions?echo={KEY}")
        with loopback(lambda sent: moved) as server:
            error = await failure(make(server.url))
        assert other.sent == []
    assert f"redirects to {other.url}/v1/chat/completions, and redirects are not followed" in str(error)
    assert not isinstance(error, TransientModelError)
    assert len(server.sent) == 1


async def test_a_key_that_is_sent_back_is_not_shown(make: Make) -> None:
    with loopback(lambda sent: json_reply({"error": {"message": f"The key {KEY} is wrong", "code": 1}}, 401)) as server:
        error = await failure(make(server.url))
    assert "refused the key: check" in str(error)
    assert KEY not in str(error)


async def test_a_password_of_the_address_that_is_sent_back_is_not_shown() -> None:
    def echo(sent: object) -> Wire:
        head = server.sent[-1].headers
        return json_reply({"error": {"message": f"us@er, secret: {head.get('Authorization')}"}}, 400)

    with loopback(echo) as server:
        chat = endpoint(server.url.replace("//", "//us@er:secret@"))
        error = await failure(chat)
    for part in ("us@er", "er:", "secret", "dXNA"):
        assert part not in str(error)
    assert f"small at {server.url}/v1" in str(error)


@pytest.mark.parametrize("message", [{"refusal": f"Not with {KEY}"}, {"content": f"The key is {KEY}."}])
async def test_a_key_within_a_reply_is_not_shown(message: dict[str, str]) -> None:
    completion = {
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}],
        "usage": None,
    }
    with loopback(lambda sent: whole(json.dumps(completion).encode())) as server:
        chat = endpoint(server.url)
        reply = await chat.ask([HumanMessage("Why?")], roomy_budget(), max_tokens=50)
        await chat.aclose()
    try:
        shown = usable_text(reply, chat.name, 50, chat.secrets)
    except TransientModelError as refused:
        shown = str(refused)
    assert KEY not in shown
    assert "[key]" in shown


async def test_a_provider_that_cannot_be_guarded_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda spec, **settings: object())
    with pytest.raises(RequestError, match=r"bedrock:small cannot be used: its package has no HTTP client"):
        await provider_chat("bedrock:small", call_seconds=5).ask([HumanMessage("Why?")], roomy_budget(), max_tokens=5)
