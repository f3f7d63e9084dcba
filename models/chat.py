"""One client path for every chat model: budget, time-outs, few counted retries, exact usage, plain errors."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from errors import ModelError
from models.usage import LimitReachedError, Tab, Usage

CALL_SECONDS = 120.0
RETRIES = 2
BACKOFF_SECONDS = 0.5
PERMANENT = frozenset({400, 401, 403, 404, 405, 413, 422})
KEY = re.compile(r"\b(?:\w*(?:sk|key)[-_]|Bearer\s)[\w*.\-]{6,}|(?<=provided: )\S{6,}", re.IGNORECASE)
THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


class UnusableRequestError(ModelError):
    """The server refused the request's form (HTTP 400 or 422), as one without log-probabilities does."""


class TransientModelError(ModelError):
    """The model failed this time, after its retries; another call may succeed."""


def text_of(message: BaseMessage) -> str:
    """The reply without its thoughts; reasoning models put these in ``<think>`` blocks or in blocks apart.

    Half a character, as a reply cut off in the middle of one has it, could neither be sent nor printed.
    """
    return THOUGHT.sub("", message.text).strip().encode("utf-8", "replace").decode()


def estimate_tokens(messages: Sequence[BaseMessage], max_tokens: int) -> int:
    """An upper estimate of a call's tokens, input and output: three bytes a token, and eight a message."""
    return sum(len(message.text.encode()) // 3 + 8 for message in messages) + max_tokens


def max_tokens_of(tokens: int) -> dict[str, Any]:
    """How most clients are told how many tokens a reply may have."""
    return {"max_tokens": tokens}


class Chat:
    """A chat model as the generator and the critic call it.

    ``make`` builds the LangChain model; it is called once for each event loop, since an HTTP client's
    connections belong to the loop that opened them. ``name`` names the model in errors, which never show
    ``secret``; ``bounded`` tells its client how many tokens a reply may have.
    """

    def __init__(
        self,
        make: Callable[[], BaseChatModel],
        name: str,
        *,
        call_seconds: float = CALL_SECONDS,
        retries: int = RETRIES,
        concurrency: int = 16,
        secret: str | None = None,
        bounded: Callable[[int], dict[str, Any]] = max_tokens_of,
    ) -> None:
        self.name = name
        self.call_seconds = call_seconds
        self.retries = retries
        self._make = make
        self._concurrency = concurrency
        self._secret = secret
        self._bounded = bounded
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[BaseChatModel, asyncio.Semaphore]] = (
            WeakKeyDictionary()
        )

    async def ask(
        self,
        messages: Sequence[BaseMessage],
        tab: Tab,
        *,
        max_tokens: int,
        tags: Sequence[str] = (),
        bind: Mapping[str, Any] | None = None,
    ) -> AIMessage:
        """One reply of at most ``max_tokens`` tokens.

        Raises `LimitReachedError` before a call that the budget does not allow, `UnusableRequestError` for
        a request that the server cannot serve in this form, `TransientModelError` after the retries, and
        `ModelError` for what no retry would mend.
        """
        model, turn = self._client()
        arguments = {**self._bounded(max_tokens), **(bind or {})}
        estimate = estimate_tokens(messages, max_tokens)
        for attempt in range(self.retries + 1):
            async with turn:
                tab.admit(estimate)
                cost = _estimated(messages, 0)
                try:
                    seconds = min(self.call_seconds, tab.meter.seconds_left())
                    async with asyncio.timeout(seconds):
                        reply = await model.ainvoke(list(messages), config={"tags": list(tags)}, **arguments)
                    cost = usage_of(reply, messages)
                    return reply if isinstance(reply, AIMessage) else AIMessage(reply.text)
                except Exception as error:  # noqa: BLE001 - each client library raises its own; all are classified
                    failure, wait = classify(error, self.name, attempt, self._secret)
                finally:
                    tab.settle(estimate, cost)
            if not isinstance(failure, TransientModelError):
                raise failure
            if tab.meter.seconds_left() <= 0:
                tab.limit = "limit_seconds"
                raise LimitReachedError("limit_seconds")
            if attempt == self.retries or wait >= tab.meter.seconds_left():
                raise failure
            await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def aclose(self) -> None:
        """Close the connections of the running event loop; a later call opens new ones."""
        model, _ = self._clients.pop(asyncio.get_running_loop(), (None, None))
        client = getattr(model, "http_async_client", None)
        if client is not None:
            await client.aclose()

    def _client(self) -> tuple[BaseChatModel, asyncio.Semaphore]:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            # A client's connections hold on to their loop, so that the dictionary alone would never forget one.
            for ended in [one for one in list(self._clients) if one.is_closed()]:
                self._clients.pop(ended, None)
            self._clients[loop] = (self._make(), asyncio.Semaphore(self._concurrency))
        return self._clients[loop]


def usage_of(reply: BaseMessage, messages: Sequence[BaseMessage]) -> Usage:
    """What the server says the call cost; an estimate where it says nothing that can be true."""
    reported = getattr(reply, "usage_metadata", None) or {}
    read, written = reported.get("input_tokens"), reported.get("output_tokens")
    length = len(reply.text.encode("utf-8", "replace"))
    size = sum(len(message.text.encode()) for message in messages) + length
    if not isinstance(read, int) or not isinstance(written, int) or read <= 0 or written < 0:
        return _estimated(messages, length // 3)
    if read + written > 100 * (size + 1000):
        return _estimated(messages, length // 3)
    cached = (reported.get("input_token_details") or {}).get("cache_read") or 0
    return Usage(
        model_calls=1,
        input_tokens=read,
        cached_input_tokens=min(max(int(cached), 0), read),
        output_tokens=written,
        estimated=False,
    )


def _estimated(messages: Sequence[BaseMessage], output: int) -> Usage:
    return Usage(
        model_calls=1,
        input_tokens=estimate_tokens(messages, 0),
        cached_input_tokens=0,
        output_tokens=output,
        estimated=True,
    )


def classify(error: Exception, name: str, attempt: int, secret: str | None = None) -> tuple[ModelError, float]:
    """The error as ours, without ``secret``, and the seconds to wait before another attempt where one makes sense."""
    if isinstance(error, ModelError):
        return error, 0.0
    wait = BACKOFF_SECONDS * 2**attempt
    status = getattr(error, "status_code", None)
    kind = type(error).__name__
    said = _first_line(error, secret)
    if isinstance(error, TypeError) and "unexpected keyword" in said:  # a client library without this option
        return UnusableRequestError(f"{name} cannot be asked so ({said})."), 0.0
    if status in (401, 403):
        return ModelError(f"The server of {name} refused the key: check OPENAI_API_KEY ({said})."), 0.0
    if status == 404:
        return ModelError(f"The server does not know {name}: check SELFRAG_CHAT_MODEL ({said})."), 0.0
    if status in (400, 422):
        return UnusableRequestError(f"The server of {name} refused the request ({said})."), 0.0
    if status in PERMANENT:
        return ModelError(f"The server of {name} refused the request with HTTP {status} ({said})."), 0.0
    if "Connection" in kind and "Timeout" not in kind and status is None:
        # A server that hangs up in the middle is worth another try; one that is not there is not.
        failure = TransientModelError if _was_connected(error) else ModelError
        return failure(f"Cannot reach the server of {name}: start it or check OPENAI_BASE_URL ({said})."), wait
    if isinstance(error, TimeoutError) or "Timeout" in kind:
        return TransientModelError(f"{name} did not answer in time."), wait
    after = _retry_after(error)
    return TransientModelError(f"{name} failed: {kind} ({said})."), max(wait, after)


def _was_connected(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if type(seen).__name__ in ("ConnectError", "ConnectionRefusedError", "gaierror"):
            return False
        seen = seen.__cause__ or seen.__context__
    return True


def _retry_after(error: Exception) -> float:
    headers = getattr(getattr(error, "response", None), "headers", {}) or {}
    value = str(headers.get("retry-after", ""))
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    if value:
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except ValueError:
            return 0.0
    return 0.0


def _first_line(error: Exception, secret: str | None = None) -> str:
    """The first line of what the error says, short, and without the secret or anything that looks like a key."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if secret:
        line = line.replace(secret, "[key]")
    line = KEY.sub("[key]", line)
    return line if len(line) <= 200 else line[:200] + "…"
