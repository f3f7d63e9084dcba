"""Answer the questions of threads, one at a time in each thread, and continue interrupted ones from checkpoints."""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass

from app.conversations.checkpoints import answered, can_resume
from app.conversations.tables import Lock, ThreadTables
from app.conversations.thread import LeaseLostError, State, ThreadBusyError, ThreadTurn
from app.front_door import SelfRAG, question_after
from app.results.events import Event, Finished
from app.results.result import Result
from app.terminal.show import numbered_answer
from core.background import stream_in_background
from core.errors import RequestError, SelfRAGError
from core.text import clean
from models.redaction import Secrets
from run.context import Context
from run.initial_state import require_question, require_standalone
from run.state import SelfRAGState

log = logging.getLogger("selfrag.threads")
INTERNAL = "This version failed over the question: ask it again."


@dataclass(frozen=True)
class NotKept:
    """An event: the result that follows could not be kept, and why."""

    message: str


class ThreadAnswers:
    """Answers the questions of threads. After `leave`, another process can continue the questions that are interrupted.

    ``docs`` are the files and folders that are asked instead of the library. An interrupted question is continued only
    with the same ``docs``.
    """

    def __init__(self, threads: ThreadTables, docs: Sequence[str] = ()) -> None:
        self.threads = threads
        self._docs = list(docs)
        self._locks: dict[str, Lock] = {}
        self._not_kept: dict[str, tuple[ThreadTurn, Result, str]] = {}  # by thread
        self._leaving = False
        self._left: set[str] = set()

    def begin(
        self,
        thread: str,
        question: str,
        context: Context | None = None,
        *,
        owner: str = "",
        standalone: str | None = None,
        replaces: str | None = None,
    ) -> ThreadTurn:
        """Add a question to a thread and take the thread's lock; pass the turn to `astream` or `cancel` next.

        ``standalone`` is what the question means, as a person says. If the question corrects the last turn,
        ``replaces`` is that turn's run. A last turn that was interrupted is cancelled. Raises `RequestError` for an
        invalid question, `UnknownThreadError`, `ThreadBusyError`, `NotLastTurnError` and `ThreadStorageError`.
        """
        require_question(question)
        standalone = require_standalone(standalone)
        self.threads.get(thread, owner)
        lock = self.threads.lock(thread)
        try:
            if not_kept := self._not_kept.get(thread):
                self.threads.finish(*not_kept)
                del self._not_kept[thread]
            options = context.model_dump(mode="json", exclude_unset=True) if context else {}
            turn = self.threads.begin(
                thread, question, owner, standalone=standalone, options=options, docs=self._docs, replaces=replaces
            )
        except BaseException:
            lock.release()
            raise
        self._locks[turn.run] = lock
        return turn

    def unfinished(self, thread: str | None = None) -> list[tuple[str, ThreadTurn]]:
        """Return the owner and the turn of each interrupted question, of all threads if ``thread`` is None."""
        found = []
        for owner, turn in self.threads.unfinished():
            if thread in (None, turn.thread) and turn.docs == self._docs:
                with suppress(ThreadBusyError), self.threads.lock(turn.thread):
                    found.append((owner, turn))
        return found

    def claim(self, turn: ThreadTurn, owner: str = "") -> None:
        """Take the lock of the thread of an interrupted question, to answer it in this process.

        Raises `ThreadBusyError` if another process answers it, or has answered it meanwhile.
        """
        if turn.run in self._locks:
            return
        lock = self.threads.lock(turn.thread)
        try:
            if self.threads.turn(turn.run, owner).state != "unfinished":
                raise ThreadBusyError
        except BaseException:
            lock.release()
            raise
        self._locks[turn.run] = lock

    def stream(
        self, rag: SelfRAG, turn: ThreadTurn, owner: str = "", *, tokens: bool = True
    ) -> Generator[Event | NotKept, None, None]:
        """Answer as `astream`, for synchronous callers. Closing the iterator cancels the question."""
        return stream_in_background(self.astream(rag, turn, owner, tokens=tokens))

    async def astream(
        self, rag: SelfRAG, turn: ThreadTurn, owner: str = "", *, tokens: bool = True
    ) -> AsyncGenerator[Event | NotKept, None]:
        """Answer a question that was begun, or continue an interrupted one, event by event.

        The result is kept before `Finished` is yielded; if it cannot be kept, `NotKept` comes first. Closing the
        generator cancels the question, unless `leave` was called for it. Raises `ThreadBusyError`, `LeaseLostError` if
        another process has taken the question over, and the errors of `SelfRAG`, which make the turn a failed one.
        """
        self.claim(turn, owner)
        end: tuple[State, str | None] = ("unfinished", None)
        try:
            finished: Finished | None = None
            async with aclosing(self._answer(rag, turn, owner, tokens=tokens)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        finished = event
                    else:
                        yield event
            if finished is None:
                raise RuntimeError("the graph ended without a result")
            not_kept = await self._keep(turn, finished)
        except LeaseLostError:
            raise
        except Exception as error:
            if not isinstance(error, SelfRAGError):
                log.error("%s", Secrets().redacted(clean(traceback.format_exc())))
            end = "failed", str(error) if isinstance(error, SelfRAGError) else INTERNAL
            raise
        except BaseException:  # it was closed, or its task cancelled
            end = "cancelled", None
            raise
        finally:
            await asyncio.to_thread(self._end, turn, *end)
        if not_kept:
            yield not_kept
        yield finished

    def cancel(self, turn: ThreadTurn) -> None:
        """Cancel a question that was begun and is not being answered, unless `leave` was called for it."""
        if turn.run in self._locks:
            self._end(turn, "cancelled")

    def leave(self, run: str | None = None) -> None:
        """Let ``run``, or every run if None, stay unfinished when it is closed, for another process to continue."""
        if run is None:
            self._leaving = True
        elif run in self._locks:
            self._left.add(run)

    def leaves(self, run: str) -> bool:
        """True if `leave` was called for this run or for every run."""
        return self._leaving or run in self._left

    async def _answer(self, rag: SelfRAG, turn: ThreadTurn, owner: str, *, tokens: bool) -> AsyncGenerator[Event, None]:
        context = Context.model_validate(turn.options) if turn.options else None
        conversation = await asyncio.to_thread(self.threads.conversation, turn.thread, owner, before=turn.number)
        asked: SelfRAGState | None = question_after(turn.question, conversation, turn.given_standalone)
        if await asyncio.to_thread(self.threads.has_checkpoints, turn.run):
            async with self.threads.checkpointer(turn) as saver:
                if saver and await can_resume(rag, saver, turn.run):
                    asked = None
            if asked:
                await asyncio.to_thread(self.threads.remove_checkpoints, turn.run)
        async with (
            self.threads.checkpointer(turn) as saver,
            aclosing(answered(rag, saver, turn.run, asked, context, tokens=tokens)) as events,
        ):
            async for event in events:
                yield event

    async def _keep(self, turn: ThreadTurn, finished: Finished) -> NotKept | None:
        """Keep the result. If that fails, return why; `begin` tries again before the thread's next question."""
        answered = (turn, finished.result, numbered_answer(finished.state))
        try:
            await asyncio.to_thread(self.threads.finish, *answered)
        except RequestError as error:
            log.warning("%s", error)
            self._not_kept[turn.thread] = answered
            return NotKept(str(error))
        return None

    def _end(self, turn: ThreadTurn, state: State, message: str | None = None) -> None:
        """Record that a question failed, or was cancelled and not left to another process; unlock the thread."""
        if state == "failed" or (state == "cancelled" and not self.leaves(turn.run)):
            try:
                self.threads.end(turn, state, message)
            except (RequestError, LeaseLostError) as error:
                log.warning("%s", error)
        self._left.discard(turn.run)
        if lock := self._locks.pop(turn.run, None):
            lock.release()
