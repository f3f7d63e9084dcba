"""Turn errors into responses: one sentence each, in the shape that OpenAI's clients read."""

from collections.abc import Mapping

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import Response

from app.conversations.thread import NotLastTurnError, ThreadBusyError, ThreadStorageError, UnknownThreadError
from app.server.names import without_paths
from app.server.runs import INTERNAL, ClosingError, QueueFullError, UnknownRunError
from core.errors import IndexBusy, IndexDamaged, ModelError, RequestError, SelfRAGError, StoreUnavailable
from core.text import one_line, shortened

LONGEST = 500  # characters of a message
SENTENCES = {
    400: "The body cannot be read as JSON in UTF-8: send an object.",
    404: "There is nothing at this address: /docs lists what there is.",
    405: "This address takes another method: /docs lists them.",
}


class StorageError(RequestError):
    """What was sent cannot be stored."""


class NotFoundError(RequestError):
    """What was asked for is not there."""


class ConflictError(RequestError):
    """The request conflicts with the present state, such as a thread that is being answered (status 409)."""


STATUSES: dict[int, tuple[type[Exception], ...]] = {
    404: (UnknownRunError, UnknownThreadError, NotFoundError),
    409: (ThreadBusyError, NotLastTurnError, ConflictError),
    429: (QueueFullError,),
    502: (ModelError,),
    # A damaged index is built again at the next request.
    503: (ClosingError, IndexBusy, StoreUnavailable, IndexDamaged),
    507: (StorageError, ThreadStorageError),
    400: (RequestError,),  # the last, as most of the others are of it
}
KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def said_by(error: Exception) -> str:
    """Return the sentence of an error for a client; a fixed one if it is no `SelfRAGError`."""
    return one_line(str(error)) if isinstance(error, SelfRAGError) else INTERNAL


def refusal(
    message: str,
    status: int,
    *,
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return the response that reports an error, in the shape of OpenAI's API."""
    kind = KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    told = shortened(without_paths(message, "message"), LONGEST)
    return JSONResponse({"error": {"message": told, "type": kind, "param": param, "code": code}}, status, headers)


def answer_to(error: Exception) -> JSONResponse:
    """Return the response that reports an exception."""
    seconds = error.retry_after if isinstance(error, QueueFullError | ClosingError | StoreUnavailable) else None
    headers = {"Retry-After": str(seconds)} if seconds else None
    status = next((status for status, kinds in STATUSES.items() if isinstance(error, kinds)), 500)
    return refusal(said_by(error), status, headers=headers)


def handle_errors(app: FastAPI) -> None:
    """Register handlers on the application that report every error in one shape."""

    async def of_ours(_: Request, error: Exception) -> Response:
        return answer_to(error)

    async def of_the_request(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            where = f"at character {first['loc'][1] + 1} ({first['ctx']['error']})"
            return refusal(f"The body is not JSON {where}: send an object.", 400)
        if first["loc"] == ("body",) and isinstance(error.body, bytes | None):
            return refusal("There is no body in JSON: send an object with Content-Type: application/json.", 400)
        # What was given is not repeated: it may be of any length and depth.
        place = ".".join(str(part) for part in first["loc"][1:]) or "the body"
        return refusal(f"{place} is wrong: {first['msg']}; see /docs.", 400, param=place)

    async def of_http(_: Request, error: StarletteHTTPException) -> Response:
        told = error.detail if isinstance(error, Refused) else SENTENCES.get(error.status_code, error.detail)
        return refusal(told, error.status_code, headers=error.headers)

    app.add_exception_handler(SelfRAGError, of_ours)
    app.add_exception_handler(RequestValidationError, of_the_request)  # type: ignore[arg-type]
    app.add_exception_handler(StarletteHTTPException, of_http)  # type: ignore[arg-type]


class Refused(HTTPException):
    """A refusal in a sentence. FastAPI replaces any error while it reads a body, except an ``HTTPException``."""
