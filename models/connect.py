"""Build the LangChain client of a chat model: an OpenAI-compatible endpoint or ``provider:model``."""

import re
import ssl
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from core.errors import ModelError, RequestError
from models.chat import CONCURRENCY, Arguments, Chat, call_arguments
from models.failures import Remedies, redacted_message
from models.http_limits import ExchangeLimits, clients_of
from models.redaction import Secrets, without_password

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

CONNECT_SECONDS = 10.0
REASONING = re.compile(r"^(o\d|gpt-5)")
LOOPBACK = re.compile(r"localhost|127(?:\.\d+){3}|::1")
LOCAL = frozenset({"huggingface"})  # runs in this process, without a server or an HTTP client
# Providers whose clients do not accept ``max_tokens`` as an argument of a call.
BOUNDED: dict[str, Arguments] = {
    "ollama": lambda tokens, temperature: {"options": {"temperature": temperature or 0, "num_predict": tokens}},
    "google_genai": lambda tokens, temperature: {
        "max_output_tokens": tokens,
        **({} if temperature is None else {"temperature": temperature}),
    },
}


def openai_chat(
    model: str,
    *,
    base_url: str | None,
    api_key: str | None,
    call_seconds: float,
    name: str | None = None,
    concurrency: int = CONCURRENCY,
) -> Chat:
    """Return a chat model behind the OpenAI protocol; ``base_url`` None means OpenAI itself; ``name`` is for errors.

    At most ``concurrency`` calls of one event loop run at a time; the others wait.
    """

    def make() -> BaseChatModel:
        settings: dict[str, Any] = {} if REASONING.match(model) else {"temperature": 0}
        return _client_class()(
            model=model,
            base_url=base_url,
            api_key=SecretStr(api_key or "none"),
            max_retries=0,
            stream_usage=True,
            stream_chunk_timeout=None,  # in Python 3.11 its wait_for can swallow our own cancellation
            http_socket_options=(),  # the defaults make the unused synchronous client warn
            http_client=httpx2.Client(verify=ssl_context(trust_env=False)),  # never used; by default made anew
            http_async_client=openai_http(base_url, ExchangeLimits(call_seconds)),
            **settings,
        )

    where = f" at {without_password(base_url)}" if base_url else ""
    return Chat(
        make,
        name or f"{model}{where}",
        call_seconds=call_seconds,
        concurrency=concurrency,
        secrets=Secrets(api_key, base_url),
    )


def openai_http(base_url: str | None, guard: ExchangeLimits) -> httpx2.AsyncClient:
    """Return a guarded HTTP client for a server that speaks the OpenAI protocol."""
    from openai import DefaultAsyncHttpxClient

    trust_env = not is_local(base_url)
    client = DefaultAsyncHttpxClient(
        timeout=httpx2.Timeout(guard.seconds, connect=min(CONNECT_SECONDS, guard.seconds)),
        trust_env=trust_env,
        verify=ssl_context(trust_env=trust_env),
    )
    guard.attach(client)
    return client


@cache
def ssl_context(*, trust_env: bool) -> ssl.SSLContext:
    """Return the SSL context that all clients share: reading the certificates takes 40 ms, as long as a short call."""
    return httpx2.create_ssl_context(trust_env=trust_env)


@cache
def _client_class() -> "type[ChatOpenAI]":
    """Return a client class that sends the messages unchanged, in ``extra_body``.

    The client library searches each part of what it gets as ``messages`` for keys to rename. These messages have none,
    and for a prompt of many examples the search is three quarters of the client's time for a call.
    """
    from langchain_openai import ChatOpenAI

    class PassThroughChatOpenAI(ChatOpenAI):
        def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
            payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
            if "messages" in payload:  # absent in the Responses API, which it may choose for some models
                payload["extra_body"] = {**(payload.get("extra_body") or {}), "messages": payload["messages"]}
                payload["messages"] = []
            return payload

    return PassThroughChatOpenAI


def is_local(url: str | None) -> bool:
    """Return True if the server runs on this machine, which no proxy can reach."""
    return url is not None and LOOPBACK.fullmatch(urlsplit(url).hostname or "") is not None


def provider_chat(spec: str, *, call_seconds: float, concurrency: int = CONCURRENCY) -> Chat:
    """Return a chat model by LangChain's ``provider:model``, configured by the provider's own environment variables.

    The model's first call raises `RequestError` if the size of the provider's replies cannot be limited.
    """
    remedies = remedies_of(spec)

    def make() -> BaseChatModel:
        from langchain.chat_models import init_chat_model

        try:
            model = init_chat_model(spec, temperature=0, max_retries=0)
        except ImportError as error:
            package = getattr(error, "name", None) or "its integration package"
            raise ModelError(f"{spec} needs a package that is not installed: pip install {package}.") from error
        except Exception as error:  # noqa: BLE001 - each provider's package raises its own
            raise ModelError(f"{spec} cannot be used ({redacted_message(error, Secrets())}).") from None
        guard_provider(model, spec, ExchangeLimits(call_seconds, address=remedies.address))
        return model

    return Chat(
        make,
        spec,
        call_seconds=call_seconds,
        concurrency=concurrency,
        arguments=BOUNDED.get(spec.partition(":")[0], call_arguments),
        remedies=remedies,
    )


def arguments_of(model: BaseChatModel) -> Arguments:
    """Return the function that makes the arguments of this model's calls, chosen by the model's package."""
    provider = type(model).__module__.partition(".")[0].removeprefix("langchain_")
    return BOUNDED.get(provider, call_arguments)


def remedies_of(spec: str, **more: str) -> Remedies:
    """Return the remedies for a LangChain provider, for example "check the key of anthropic"."""
    provider = spec.partition(":")[0]
    return Remedies(key=f"the key of {provider}", address=f"the address of {provider}", **more)


def guard_provider(model: object, spec: str, guard: ExchangeLimits) -> None:
    """Attach the guard to each HTTP client of a provider's model. Raises `RequestError` if it has no such client."""
    api: Any = getattr(getattr(model, "client", None), "_api_client", None)
    if hasattr(api, "_aiohttp_sessions"):  # Google's client prefers aiohttp, which has no event hooks
        api._http_options.httpx_async_client = api._async_httpx_client
    clients = clients_of(model)
    if not clients and spec.partition(":")[0] not in LOCAL:
        raise RequestError(
            f"{spec} cannot be used: its package has no HTTP client whose replies can be kept within bounds. "
            "Name another provider, or a gateway of the OpenAI protocol by OPENAI_BASE_URL."
        )
    for client in clients:
        guard.attach(client)
