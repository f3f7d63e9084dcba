"""One client path for every chat model: budget, time-outs, few counted retries, exact usage, plain errors."""

from __future__ import annotations

import asyncio
import logging
import re
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from core.types import Usage, no_usage
from models.failures import Remedies, TransientModelError, classify, short, status_of
from models.redaction import KEY_LENGTH, Secrets
from models.tracing import tracing
from models.usage import LimitReachedError, NodeBudget

log = logging.getLogger("selfrag.models")
CALL_SECONDS = 120.0
RETRIES = 2
CONCURRENCY = 32
FILTERED = frozenset({"content_filter", "safety", "refusal"})
MOST_CHARACTERS = 64  # a token asked for; no tokenizer's tokens are that long on average
THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def text_of(message: BaseMessage) -> str:
    """The reply without its thoughts; reasoning models put these in ``<think>`` blocks or in blocks apart.

    Half a character, as a reply cut off in the middle of one has it, could neither be sent nor printed.
    """
    return THOUGHT.sub("", message.text).strip().encode("utf-8", "replace").decode()


def answer_of(reply: BaseMessage, name: str, max_tokens: int, secrets: Secrets | None = None) -> str:
    """The text of a reply that is one, without the secrets that a server may repeat.

    Raises `TransientModelError` for a refusal, for what a filter or the end of a stream cut off, and for far more than
    was asked for.
    """
    secrets = secrets or Secrets()
    refusal = reply.additional_kwargs.get("refusal")
    if refusal:
        said = secrets.redacted(" ".join(str(refusal).split()))
        raise TransientModelError(f"{name} refused to answer ({short(said)}).")
    reason = reply.response_metadata.get("finish_reason") or reply.response_metadata.get("stop_reason")
    if str(reason).casefold() in FILTERED:
        raise TransientModelError(f"A content filter stopped the answer of {name}.")
    if not reason and reply.response_metadata.get("model_provider") == "openai":
        raise TransientModelError(f"The answer of {name} ends in the middle.")
    if len(reply.text) > MOST_CHARACTERS * max_tokens:
        raise TransientModelError(
            f"{name} wrote {len(reply.text):,} characters where {max_tokens} tokens were asked for."
        )
    return secrets.hidden(text_of(reply), KEY_LENGTH)


def likely_tokens(messages: Sequence[BaseMessage], written: int) -> int:
    """An estimate of a call's tokens, input and output: three bytes a token, and eight a message."""
    return sum(_bytes(message) // 3 + 8 for message in messages) + written


def most_tokens(messages: Sequence[BaseMessage], max_tokens: int) -> int:
    """What a call can cost at most, input and output: no token is less than a byte; and what stands between turns."""
    return sum(_bytes(message) + 16 for message in messages) + 64 + max_tokens


def _bytes(message: BaseMessage) -> int:
    content = message.content  # ``text`` makes an object at each use
    return len((content if isinstance(content, str) else message.text).encode())


def max_tokens_of(tokens: int) -> dict[str, Any]:
    """How most clients are told how many tokens a reply may have."""
    return {"max_tokens": tokens}


class Chat:
    """A chat model as the generator and the critic call it.

    ``make`` builds the LangChain model; it is called once for each event loop, since an HTTP client's
    connections belong to the loop that opened them. ``name`` names the model in errors, which never show
    ``secrets`` and name ``remedies``; ``bounded`` tells its client how many tokens a reply may have.
    """

    def __init__(
        self,
        make: Callable[[], BaseChatModel],
        name: str,
        *,
        call_seconds: float = CALL_SECONDS,
        retries: int = RETRIES,
        concurrency: int = CONCURRENCY,
        secrets: Secrets | None = None,
        remedies: Remedies | None = None,
        bounded: Callable[[int], dict[str, Any]] = max_tokens_of,
        owned: bool = True,
    ) -> None:
        self.name = name
        self.call_seconds = call_seconds
        self.retries = retries
        self.secrets = secrets or Secrets()
        self.remedies = remedies or Remedies()
        self._make = make
        self._concurrency = concurrency
        self._bounded = bounded
        self._owned = owned
        self._lock = Lock()
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[BaseChatModel, asyncio.Semaphore]] = (
            WeakKeyDictionary()
        )

    async def ask(
        self,
        messages: Sequence[BaseMessage],
        budget: NodeBudget,
        *,
        max_tokens: int,
        tags: Sequence[str] = (),
        bind: Mapping[str, Any] | None = None,
    ) -> AIMessage:
        """One reply of at most ``max_tokens`` tokens, which LangSmith sees only within a graph that is traced.

        Raises `LimitReachedError` before a call that the budget does not allow, `UnusableRequestError` for
        a request that the server cannot serve in this form, `TransientModelError` after the retries, and
        `ModelError` for what no retry would mend.
        """
        model, turn = self._client()
        arguments = {**self._bounded(max_tokens), **(bind or {})}
        most = most_tokens(messages, max_tokens)
        for attempt in range(self.retries + 1):
            await budget.admit(most)
            cost = no_usage()
            try:
                async with in_turn(turn, budget):
                    cost = _estimated(messages, max_tokens)
                    async with asyncio.timeout(min(self.call_seconds, budget.seconds_left())):
                        with tracing():
                            reply = await model.ainvoke(list(messages), config={"tags": list(tags)}, **arguments)
                    cost = usage_of(reply, messages, max_tokens)
                    return reply if isinstance(reply, AIMessage) else AIMessage(reply.text)
            except LimitReachedError:
                raise
            except Exception as error:  # noqa: BLE001 - each client library raises its own; all are classified
                failure, wait = classify(error, self.name, attempt, self.secrets, self.remedies)
                log.debug(
                    "attempt %d of a call failed: %s %s", attempt + 1, type(error).__name__, status_of(error) or ""
                )
                if status_of(error):  # refused, and nothing written
                    cost = _estimated(messages, 0)
            finally:
                budget.charge(most, cost)
            if not isinstance(failure, TransientModelError):
                raise failure
            if budget.seconds_left() <= 0:
                raise budget.out_of_time()
            if attempt == self.retries or wait >= budget.seconds_left():
                raise failure
            await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def aclose(self) -> None:
        """Close the connections of the running event loop, unless they are a caller's; a later call opens new ones."""
        model, _ = self._clients.pop(asyncio.get_running_loop(), (None, None))
        client = getattr(model, "http_async_client", None)
        if client is not None and self._owned:
            await client.aclose()

    def _client(self) -> tuple[BaseChatModel, asyncio.Semaphore]:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._clients:
                # A client's connections hold on to their loop, so that the dictionary alone would never forget one.
                for ended in [one for one in list(self._clients) if one.is_closed()]:
                    self._clients.pop(ended, None)
                # Of a reply that is not as the protocol has it; what is used of it is looked at here.
                warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
                self._clients[loop] = (self._make(), asyncio.Semaphore(self._concurrency))
            return self._clients[loop]


@asynccontextmanager
async def in_turn(turn: asyncio.Semaphore, budget: NodeBudget) -> AsyncIterator[None]:
    """Wait for one of the client's places, no longer than the question has time. Raises `LimitReachedError`."""
    try:
        async with asyncio.timeout(max(0.0, budget.seconds_left())):
            await turn.acquire()
    except TimeoutError:
        raise budget.out_of_time() from None
    try:
        yield
    finally:
        turn.release()


def usage_of(reply: BaseMessage, messages: Sequence[BaseMessage], max_tokens: int) -> Usage:
    """What the server says the call cost; an estimate where it says nothing that can be true of such a call."""
    reported: Mapping[str, Any] = getattr(reply, "usage_metadata", None) or {}
    read, written = reported.get("input_tokens"), reported.get("output_tokens")
    if not isinstance(read, int) or not isinstance(written, int) or read <= 0 or written < 0:
        return _estimated(messages, _likely_written(reply, max_tokens))
    if read + written > most_tokens(messages, max_tokens):
        return _estimated(messages, _likely_written(reply, max_tokens))
    cached = (reported.get("input_token_details") or {}).get("cache_read")
    return Usage(
        model_calls=1,
        input_tokens=read,
        cached_input_tokens=min(max(cached, 0), read) if isinstance(cached, int) else 0,
        output_tokens=written,
        estimated=False,
    )


def _likely_written(reply: BaseMessage, max_tokens: int) -> int:
    return min(len(reply.text.encode("utf-8", "replace")) // 3, max_tokens)


def _estimated(messages: Sequence[BaseMessage], output: int) -> Usage:
    return Usage(
        model_calls=1,
        input_tokens=likely_tokens(messages, 0),
        cached_input_tokens=0,
        output_tokens=output,
        estimated=True,
    )
