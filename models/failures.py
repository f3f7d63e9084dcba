"""What can go wrong with a model call: every client library's error as ours, and when to try again."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from errors import ModelError

BACKOFF_SECONDS = 0.5
# What client libraries raise when they read a body that is not what it should be.
NO_COMPLETION = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
PERMANENT = frozenset({400, 401, 403, 404, 405, 413, 422})
KEY = re.compile(r"\b(?:\w*(?:sk|key)[-_]|Bearer\s)[\w*.\-]{6,}|(?<=provided: )\S{6,}", re.IGNORECASE)


class UnusableRequestError(ModelError):
    """The server refused the request's form (HTTP 400 or 422), as one without log-probabilities does."""


class TransientModelError(ModelError):
    """The model failed this time, after its retries; another call may succeed."""


def classify(error: Exception, name: str, attempt: int, secret: str | None = None) -> tuple[ModelError, float]:
    """The error as ours, without ``secret``, and the seconds to wait before another attempt where one makes sense.

    Those are infinite where the same request would be answered in the same way.
    """
    ours = next((one for one in _causes(error) if isinstance(one, ModelError)), None)
    if ours is not None:
        return ours, math.inf
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
        if _was_connected(error):
            return TransientModelError(f"The server of {name} hung up ({said})."), wait
        return ModelError(f"Cannot reach the server of {name}: start it or check OPENAI_BASE_URL ({said})."), 0.0
    if isinstance(error, TimeoutError) or "Timeout" in kind:
        return TransientModelError(f"{name} did not answer in time."), wait
    if kind == "ContentFilterFinishReasonError":
        return TransientModelError(f"A content filter stopped the answer of {name}."), math.inf
    if status is None and isinstance(error, NO_COMPLETION):
        return TransientModelError(f"The server of {name} sent what is no chat completion ({said})."), wait
    after = _retry_after(error)
    return TransientModelError(f"{name} failed: {kind} ({said})."), max(wait, after)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what led to it, the last first."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _was_connected(error: BaseException) -> bool:
    return not any(
        type(one).__name__ in ("ConnectError", "ConnectionRefusedError", "gaierror") for one in _causes(error)
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


def _first_line(error: Exception, secret: str | None = None) -> str:
    """The first line of what the error says, short, and without the secret or anything that looks like a key."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if secret:
        line = line.replace(secret, "[key]")
    line = KEY.sub("[key]", line)
    return short(line)


def short(line: str) -> str:
    """What others said, at most so long as to be read."""
    return line if len(line) <= 200 else line[:200] + "…"
