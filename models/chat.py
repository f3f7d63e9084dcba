"""Call any chat model, with a budget, a timeout, a few counted retries, usage and plain errors."""

import asyncio
import logging
import re
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from core.types import Usage, no_usage
from models.failures import Remedies, TransientModelError, classify, status_of, truncated, was_sent
from models.redaction import KEY_LENGTH, Secrets
from models.telemetry import add_reply, model_call
from models.tracing import tracing
from models.usage import LimitReachedError, NodeBudget

log = logging.getLogger("selfrag.models")
CALL_SECONDS = 120.0
RETRIES = 2
CONCURRENCY = 32
FILTERED = frozenset({"content_filter", "safety", "refusal"})
MAX_CHARACTERS_PER_TOKEN = 64  # per token asked for; no tokenizer's tokens are that long on average
Arguments = Callable[[int, float | None], dict[str, Any]]
# The first alternative is for chat templates that open the block themselves, so that the reply begins inside it.
THOUGHT = re.compile(
    r"\A(?:(?!<think).)*?</think(?:ing)?>|<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE
)


def text_of(message: BaseMessage) -> str:
    """Return the reply without its reasoning, which models put in ``<think>`` blocks or in separate content blocks.

    A lone surrogate, left by a reply cut off inside a character, is replaced: it could be neither sent nor printed.
    """
    return THOUGHT.sub("", message.text).strip().encode("utf-8", "replace").decode()


def usable_text(reply: BaseMessage, name: str, max_tokens: int, secrets: Secrets | None = None) -> str:
    """Return the text of a usable reply, without secrets that the server may echo.

    Raises `TransientModelError` for a refusal, for a reply cut off by a content filter or the end of the stream, and
    for one far longer than asked for.
    """
    secrets = secrets or Secrets()
    refusal = reply.additional_kwargs.get("refusal")
    if refusal:
        explanation = secrets.redacted(" ".join(str(refusal).split()))
        raise TransientModelError(f"{name} refused to answer ({truncated(explanation)}).")
    reason = reply.response_metadata.get("finish_reason") or reply.response_metadata.get("stop_reason")
    if str(reason).casefold() in FILTERED:
        raise TransientModelError(f"A content filter stopped the answer of {name}.")
    if not reason and reply.response_metadata.get("model_provider") == "openai":
        raise TransientModelError(f"The answer of {name} is cut off.")
    if len(reply.text) > MAX_CHARACTERS_PER_TOKEN * max_tokens:
        raise TransientModelError(
            f"{name} wrote {len(reply.text):,} characters where {max_tokens} tokens were asked for."
        )
    return secrets.hidden(text_of(reply), KEY_LENGTH)


def estimated_tokens(messages: Sequence[BaseMessage]) -> int:
    """Estimate the tokens of a prompt: three bytes per token, and eight tokens per message."""
    return sum(_bytes(message) // 3 + 8 for message in messages)


def max_call_tokens(messages: Sequence[BaseMessage], max_tokens: int) -> int:
    """Return an upper bound on a call's tokens, input and output: one per byte, plus those of the chat template."""
    return sum(_bytes(message) + 16 for message in messages) + 64 + max_tokens


def _bytes(message: BaseMessage) -> int:
    content = message.content  # ``text`` builds an object at each access
    return len((content if isinstance(content, str) else message.text).encode())


def call_arguments(tokens: int, temperature: float | None) -> dict[str, Any]:
    """Return the arguments that limit a reply's tokens and, if given, set its temperature in most clients."""
    return {"max_tokens": tokens, **({} if temperature is None else {"temperature": temperature})}


@dataclass(eq=False, repr=False)
class Chat:
    """A chat model as the generator and the critic call it.

    ``make`` builds the LangChain model, once per event loop, since an HTTP client's connections belong to the loop that
    opened them. ``name`` stands for the model in errors, which never show ``secrets`` and suggest ``remedies``.
    ``arguments`` makes a call's arguments from its token limit and temperature. ``prepare`` may change a call's
    messages; ``on_ask`` gets the messages that are sent. ``adapters`` maps a critic's choice to the server's id of its
    LoRA adapter. With ``owned`` False, `aclose` leaves the model's connections open.
    """

    make: Callable[[], BaseChatModel]
    name: str
    _: KW_ONLY
    call_seconds: float = CALL_SECONDS
    retries: int = RETRIES
    concurrency: int = CONCURRENCY
    secrets: Secrets = field(default_factory=Secrets)
    remedies: Remedies = field(default_factory=Remedies)
    arguments: Arguments = call_arguments
    owned: bool = True
    on_ask: Callable[[Sequence[BaseMessage]], None] | None = None
    prepare: Callable[[Sequence[BaseMessage]], Sequence[BaseMessage]] = lambda messages: messages
    adapters: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
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
        temperature: float | None = None,
        tags: Sequence[str] = (),
        bind: Mapping[str, Any] | None = None,
    ) -> AIMessage:
        """Return one reply of at most ``max_tokens`` tokens; LangSmith traces the call only inside a traced graph.

        Raises `LimitReachedError` before a call that the budget does not allow, `UnusableRequestError` for a request
        that the server cannot serve in this form, `TransientModelError` if the retries fail too, and `ModelError` for a
        failure that no retry can mend.
        """
        model, slots = self._client()
        messages = self.prepare(messages)
        if self.on_ask:
            self.on_ask(messages)
        arguments = {**self.arguments(max_tokens, temperature), **(bind or {})}
        bound = max_call_tokens(messages, max_tokens)
        for attempt in range(self.retries + 1):
            await budget.admit(bound)
            cost = no_usage()
            try:
                async with concurrency_slot(slots, budget):
                    cost = _estimated(messages, max_tokens)
                    async with asyncio.timeout(min(self.call_seconds, budget.seconds_left())):
                        with tracing(), model_call(self.name, max_tokens, messages) as call:
                            reply = await model.ainvoke(list(messages), config={"tags": list(tags)}, **arguments)
                            cost = usage_of(reply, messages, max_tokens)
                            add_reply(call, reply, cost)
                    return reply if isinstance(reply, AIMessage) else AIMessage(reply.text)
            except LimitReachedError:
                raise
            except Exception as error:  # noqa: BLE001 - each client library raises its own; all are classified
                failure, wait = classify(error, self.name, attempt, self.secrets, self.remedies)
                log.debug(
                    "attempt %d of a call failed: %s %s", attempt + 1, type(error).__name__, status_of(error) or ""
                )
                if not was_sent(error):
                    cost = no_usage()
                elif status_of(error):  # refused, so no output
                    cost = _estimated(messages, 0)
            finally:
                budget.charge(bound, cost)
            if not isinstance(failure, TransientModelError):
                raise failure
            if budget.seconds_left() <= 0:
                raise budget.out_of_time()
            if attempt == self.retries or wait >= budget.seconds_left():
                raise failure
            await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def aclose(self) -> None:
        """Close the running event loop's connections if they are ``owned``; a later call opens new ones."""
        model, _ = self._clients.pop(asyncio.get_running_loop(), (None, None))
        client = getattr(model, "http_async_client", None)
        if client is not None and self.owned:
            await client.aclose()

    def _client(self) -> tuple[BaseChatModel, asyncio.Semaphore]:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._clients:
                # A client's connections reference their loop, so the weak dictionary alone would never drop one.
                for closed in [one for one in list(self._clients) if one.is_closed()]:
                    self._clients.pop(closed, None)
                # Pydantic warns of a reply that breaks the protocol; this module checks the parts that it uses.
                warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
                self._clients[loop] = (self.make(), asyncio.Semaphore(self.concurrency))
            return self._clients[loop]


@asynccontextmanager
async def concurrency_slot(slots: asyncio.Semaphore, budget: NodeBudget) -> AsyncIterator[None]:
    """Hold one of the client's concurrency slots, waiting at most as long as the question has time.

    Raises `LimitReachedError` when that time is up.
    """
    try:
        async with asyncio.timeout(max(0.0, budget.seconds_left())):
            await slots.acquire()
    except TimeoutError:
        raise budget.out_of_time() from None
    try:
        yield
    finally:
        slots.release()


def usage_of(reply: BaseMessage, messages: Sequence[BaseMessage], max_tokens: int) -> Usage:
    """Return the usage that the server reports, or an estimate if it reports none or an impossible one."""
    reported: Mapping[str, Any] = getattr(reply, "usage_metadata", None) or {}
    read, written = reported.get("input_tokens"), reported.get("output_tokens")
    most = max_call_tokens(messages, max_tokens)
    if not (isinstance(read, int) and isinstance(written, int) and read > 0 and 0 <= written <= most - read):
        return _estimated(messages, min(len(reply.text.encode("utf-8", "replace")) // 3, max_tokens))
    cached = (reported.get("input_token_details") or {}).get("cache_read")
    return Usage(
        model_calls=1,
        input_tokens=read,
        cached_input_tokens=min(max(cached, 0), read) if isinstance(cached, int) else 0,
        output_tokens=written,
        estimated=False,
    )


def _estimated(messages: Sequence[BaseMessage], output: int) -> Usage:
    return Usage(
        model_calls=1,
        input_tokens=estimated_tokens(messages),
        cached_input_tokens=0,
        output_tokens=output,
        estimated=True,
    )
