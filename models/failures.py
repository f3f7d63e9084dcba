"""What can go wrong with a model call: every client library's error as ours, and when to try again."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from core.errors import ModelError
from models.redaction import Secrets

BACKOFF_SECONDS = 0.5
# What client libraries raise when they read a body that is not what it should be.
NO_COMPLETION = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
PERMANENT = frozenset({400, 401, 403, 404, 405, 413, 422})
NOT_CONNECTED = frozenset({"ConnectError", "ConnectionRefusedError", "gaierror", "ClientConnectorError"})
HUNG_UP = frozenset({"RemoteProtocolError", "ReadError", "WriteError"})


class UnusableRequestError(ModelError):
    """The server refused the request's form (HTTP 400 or 422), as one without log-probabilities does."""


class TransientModelError(ModelError):
    """The model failed this time, after its retries; another call may succeed."""


@dataclass(frozen=True)
class Remedies:
    """What a person sets: where the key, the address and the model are named; and what a reply should have been."""

    key: str = "OPENAI_API_KEY"
    address: str = "OPENAI_BASE_URL"
    model: str = "SELFRAG_CHAT_MODEL"
    reply: str = "chat completion"
    request: str = ""


def classify(
    error: Exception, name: str, attempt: int, secrets: Secrets | None = None, remedies: Remedies | None = None
) -> tuple[ModelError, float]:
    """The error as ours, without secrets, and the seconds to wait before another attempt where one makes sense.

    Those are infinite where the same request would be answered in the same way.
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
    said = said_by(error, secrets)
    if isinstance(error, TypeError) and "unexpected keyword" in said:  # a client library without this option
        return UnusableRequestError(f"{name} cannot be asked so ({said})."), 0.0
    if _is_no_header(error):
        return ModelError(f"A header for {name} would hold a character that none may: check {remedies.key}."), 0.0
    if status in (401, 403):
        return ModelError(f"The server of {name} refused the key: check {remedies.key} ({said})."), 0.0
    if status == 404:
        return ModelError(f"The server does not know {name}: check {remedies.model} ({said})."), 0.0
    if status in (400, 422):
        return UnusableRequestError(f"The server of {name} refused the request{remedies.request} ({said})."), 0.0
    if status in PERMANENT:
        return ModelError(f"The server of {name} refused the request with HTTP {status} ({said})."), 0.0
    if status is None and not _was_connected(error):
        return ModelError(f"Cannot reach the server of {name}: start it or check {remedies.address} ({said})."), 0.0
    if status is None and (kind in HUNG_UP or ("Connection" in kind and "Timeout" not in kind)):
        # A server that hangs up in the middle is worth another try; one that is not there is not.
        return TransientModelError(f"The server of {name} hung up ({said})."), wait
    if isinstance(error, TimeoutError) or "Timeout" in kind:
        return TransientModelError(f"{name} did not answer in time."), wait
    if kind == "ContentFilterFinishReasonError":
        return TransientModelError(f"A content filter stopped the answer of {name}."), math.inf
    if status is None and isinstance(error, NO_COMPLETION):
        return TransientModelError(f"The server of {name} sent what is no {remedies.reply} ({said})."), wait
    after = _retry_after(error)
    return TransientModelError(f"{name} failed: {kind} ({said})."), max(wait, after)


def status_of(error: BaseException) -> int | None:
    """The HTTP status of a reply that was refused, as each client library keeps it."""
    for one in _causes(error):
        response = getattr(one, "response", None)
        named = (getattr(one, "status_code", None), getattr(response, "status_code", None), getattr(one, "code", None))
        status = next((number for number in named if isinstance(number, int) and 400 <= number < 600), None)
        if status is not None:
            return status
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what led to it, the last first; some libraries make them lead to one another."""
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and not any(one is other for other in seen):
        yield one
        seen.append(one)
        one = one.__cause__ or one.__context__


def _was_connected(error: BaseException) -> bool:
    return not any(type(one).__name__ in NOT_CONNECTED for one in _causes(error))


def _is_no_header(error: BaseException) -> bool:
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


def said_by(error: Exception, secrets: Secrets) -> str:
    """The first line of what the error says, short, and without the secrets or anything that looks like a key."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return short(secrets.redacted(line))


def short(line: str) -> str:
    """What others said, at most so long as to be read."""
    return line if len(line) <= 200 else line[:200] + "…"
