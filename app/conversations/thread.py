"""Threads, which are conversations that are kept, their turns, and the errors of both."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from app.results.result import Result
from core.errors import RequestError, SelfRAGError

State = Literal["unfinished", "finished", "failed", "cancelled"]


class Thread(BaseModel, frozen=True):
    """A conversation that is kept; ``turns`` counts those that were not replaced."""

    id: str
    title: str
    created: datetime
    updated: datetime
    turns: int


class ThreadTurn(BaseModel, frozen=True):
    """A question of a thread, and its result once it is finished; ``run`` is its id, ``number`` counts from 1.

    ``given_standalone`` is a person's correction of what the question means. ``options`` are the fields of `Context`
    that were given, as JSON. ``docs`` are the files and folders that are asked instead of the library. ``replaces`` is
    the run of the turn that this one corrects; the corrected turn is ``replaced``: kept, but left out of the
    conversation. ``message`` says why a turn failed; ``numbered`` is the answer with the numbers of citations.
    """

    run: str
    thread: str
    number: int
    question: str
    given_standalone: str | None = None
    options: dict[str, Any] = {}
    docs: list[str] = []
    began: datetime
    state: State
    message: str | None = None
    replaces: str | None = None
    replaced: bool = False
    numbered: str = ""
    result: Result | None = None


class UnknownThreadError(RequestError):
    """There is no such thread or turn, or it is another owner's."""

    def __init__(self) -> None:
        super().__init__("There is no such thread, or it was deleted: list those that there are.")


class ThreadBusyError(RequestError):
    """A question of the thread is being answered, here or in another process."""

    def __init__(self) -> None:
        super().__init__("A question of this thread is being answered: wait for its end, or end it.")


class NotLastTurnError(RequestError):
    """A correction names a turn that is not the last one of its thread."""

    def __init__(self) -> None:
        super().__init__("Only the last question of a thread can be corrected: ask this one again instead.")


class ThreadStorageError(RequestError):
    """Threads cannot be read or written."""


class LeaseLostError(SelfRAGError):
    """Another process has taken over this process's lease; what this process still writes is not kept."""

    def __init__(self) -> None:
        super().__init__("Another server has gone on with this question, because this one was silent for too long.")
