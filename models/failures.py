"""Turn the errors of all client libraries into this project's own, and say when to retry."""

import math
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from core.errors import ModelError
from models.redaction import Secrets

BACKOFF_SECONDS = 0.5
# What client libraries raise when they parse a malformed body.
MALFORMED_BODY = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
PERMANENT = frozenset({400, 401, 403, 404, 405, 413, 422})
NOT_CONNECTED = frozenset({"ConnectError", "ConnectionRefusedError", "gaierror", "ClientConnectorError"})
HUNG_UP = frozenset({"RemoteProtocolError", "ReadError", "WriteError"})
# What client libraries raise before any part of a request is sent.
NOT_SENT = NOT_CONNECTED | {"ConnectTimeout", "ConnectTimeoutError", "ConnectionTimeoutError", "PoolTimeout"}
SENT = HUNG_UP | {"ReadTimeout", "WriteTimeout"}  # in an error's chain: an earlier try of the client's did send it


class UnusableRequestError(ModelError):
    """The server refused the request's form (HTTP 400 or 422), for example because it gives no log-probabilities."""


class TransientModelError(ModelError):
    """The model failed this time, after its retries; another call may succeed."""


@dataclass(frozen=True)
class Remedies:
    """What an error tells the user to check: key, address and model; and what kind of reply was expected."""

    key: str = "OPENAI_API_KEY"
    address: str = "OPENAI_BASE_URL"
    model: str = "SELFRAG_CHAT_MODEL"
    reply: str = "chat completion"
    request: str = ""


def classify(
    error: Exception, name: str, attempt: int, secrets: Secrets | None = None, remedies: Remedies | None = None
) -> tuple[ModelError, float]:
    """Return the error as a `ModelError` without secrets, and the seconds to wait before a retry.

    Only a `TransientModelError` is worth a retry. An infinite wait means that a retry would get the same answer.
    """
    secrets = secrets or Secrets()
    failure, wait = _classified(error, name, attempt, secrets, remedies or Remedies())
    failure.args = (secrets.hidden(str(failure)),)
    return failure, wait


def _classified(
    error: Exception, name: str, attempt: int, secrets: Secrets, remedies: Remedies
) -> tuple[ModelError, float]:
    ours = next((one for one in _causes(error) if isinstance(one, ModelError)), None)
    if ours is not None:
        return ours, math.inf
    wait = BACKOFF_SECONDS * 2**attempt
    status = status_of(error)
    kind = type(error).__name__
    message = redacted_message(error, secrets)
    if isinstance(error, TypeError) and "unexpected keyword" in message:  # the client library lacks this option
        return UnusableRequestError(f"{name} does not support this request ({message})."), 0.0
    if _is_invalid_header(error):
        return ModelError(f"The key for {name} is not valid in an HTTP header: check {remedies.key}."), 0.0
    if status in (401, 403):
        return ModelError(f"The server of {name} refused the key: check {remedies.key} ({message})."), 0.0
    if status == 404:
        return ModelError(f"The server does not know {name}: check {remedies.model} ({message})."), 0.0
    if status in (400, 422):
        return UnusableRequestError(f"The server of {name} refused the request{remedies.request} ({message})."), 0.0
    if status in PERMANENT:
        return ModelError(f"The server of {name} refused the request with HTTP {status} ({message})."), 0.0
    if status is None and _has_cause(error, NOT_CONNECTED):
        return ModelError(f"Cannot reach the server of {name}: start it or check {remedies.address} ({message})."), 0.0
    if status is None and (kind in HUNG_UP or ("Connection" in kind and "Timeout" not in kind)):
        # A server that hangs up midway is worth a retry; an unreachable one is not.
        return TransientModelError(f"The server of {name} hung up ({message})."), wait
    if isinstance(error, TimeoutError) or "Timeout" in kind:
        return TransientModelError(f"{name} did not answer in time."), wait
    if kind == "ContentFilterFinishReasonError":
        return TransientModelError(f"A content filter stopped the answer of {name}."), math.inf
    if status is None and isinstance(error, MALFORMED_BODY):
        return TransientModelError(f"The server of {name} sent no valid {remedies.reply} ({message})."), wait
    after = _retry_after(error)
    return TransientModelError(f"{name} failed: {kind} ({message})."), max(wait, after)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of a refused request, wherever the client library keeps it."""
    for one in _causes(error):
        response = getattr(one, "response", None)
        named = (getattr(one, "status_code", None), getattr(response, "status_code", None), getattr(one, "code", None))
        status = next((number for number in named if isinstance(number, int) and 400 <= number < 600), None)
        if status is not None:
            return status
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, the latest first; in some libraries the chain is circular."""
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and not any(one is other for other in seen):
        yield one
        seen.append(one)
        one = one.__cause__ or one.__context__


def was_sent(error: BaseException) -> bool:
    """Return False if nothing of the request reached the server, so that it cost nothing."""
    return not (_is_invalid_header(error) or _has_cause(error, NOT_SENT)) or _has_cause(error, SENT)


def _has_cause(error: BaseException, names: frozenset[str]) -> bool:
    return any(kind.__name__ in names for one in _causes(error) for kind in type(one).__mro__)


def _is_invalid_header(error: BaseException) -> bool:
    return any(
        type(one).__name__ == "LocalProtocolError" or (isinstance(one, UnicodeEncodeError) and one.encoding == "ascii")
        for one in _causes(error)
    )


def _retry_after(error: Exception) -> float:
    headers = getattr(getattr(error, "response", None), "headers", {}) or {}
    value = str(headers.get("retry-after", "")).strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def redacted_message(error: Exception, secrets: Secrets) -> str:
    """Return the first line of the error's message, short, without secrets or anything that looks like a key."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return truncated(secrets.redacted(line))


def truncated(line: str) -> str:
    return line if len(line) <= 200 else line[:200] + "…"
