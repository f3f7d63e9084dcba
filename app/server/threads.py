"""Run the questions of threads on a server, also questions that the server has forgotten or that were interrupted."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from app.conversations.answering import ThreadAnswers
from app.conversations.thread import ThreadBusyError, ThreadStorageError, ThreadTurn, UnknownThreadError
from app.results.events import NodeFinished, NodeStarted
from app.results.result import SPENT
from app.server.asking import Asking
from app.server.runs import INTERNAL, Run, State, UnknownRunError, finish_run, record
from core.errors import RequestError, SelfRAGError
from nodes.concurrency import meanwhile
from run.context import Context

EXPIRE_SECONDS = 3_600.0  # from one look for old threads to the next
log = logging.getLogger("selfrag.server")


class Holder(Protocol):
    """Records which of several servers answers the run of a thread."""

    async def hold(self, run: Run) -> None: ...
    async def end_thread(self, thread: str) -> None: ...


class ThreadRuns:
    """Starts the questions of threads as runs. The thread keeps the run's id, so that the run outlives the server."""

    def __init__(self, asking: Asking, answers: ThreadAnswers) -> None:
        self.answers = answers
        self.threads = answers.threads
        self.shared: Holder | None = None
        self._asking = asking

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Continue interrupted questions, delete old threads; at the end, leave running questions to the next start."""
        if self.shared is None:
            await self._resume_all()
        try:
            async with meanwhile(repeated(self._expire, EXPIRE_SECONDS)):
                yield
        finally:
            self.answers.leave()

    async def start(
        self,
        thread: str,
        question: str,
        context: Context | None,
        owner: str,
        *,
        standalone: str | None = None,
        replaces: str | None = None,
    ) -> Run:
        """Start a question of a thread as a run. Raises what `ThreadAnswers.begin` and `Runs.room` raise."""
        self._asking.accounts.admit(owner)
        context = await self._asking.fitting(owner, context)
        with self._asking.runs.room():
            turn = await asyncio.to_thread(
                self.answers.begin, thread, question, context, owner=owner, standalone=standalone, replaces=replaces
            )
            run = _new_run(turn, owner)
            try:
                self._asking.runs.begin(run)
                if self.shared:
                    await self.shared.hold(run)
            except BaseException:
                self.answers.cancel(turn)
                raise
            return self._start(run, turn)

    async def _expire(self) -> None:
        if days := self.threads.keep_days:
            self._asking.runs.forget(datetime.now(UTC) - timedelta(days=days))
        await asyncio.to_thread(self.threads.expire)

    async def go_on(self, run: Run) -> bool:
        """Continue a question that another server began; return False if it has ended. Raises `ThreadBusyError`."""
        turn = await asyncio.to_thread(self.threads.turn, run.id, run.owner)
        if turn.state != "unfinished":
            return False
        await asyncio.to_thread(self.answers.claim, turn, run.owner)
        self._start(run, turn)
        return True

    async def tell_end(self, run: Run) -> None:
        """Publish how a run ended, as its turn in the thread says. An unfinished turn is cancelled first."""
        turn = await asyncio.to_thread(self.threads.turn, run.id, run.owner)
        if turn.state == "unfinished":
            await asyncio.to_thread(self.answers.claim, turn, run.owner)
            await asyncio.to_thread(self.answers.cancel, turn)
            turn = await asyncio.to_thread(self.threads.turn, run.id, run.owner)
        _tell_end(turn, run)

    async def run(self, id_: str, owner: str) -> Run:
        """Return the run of a turn that has ended, with events made from the turn. Raises `UnknownRunError`."""
        try:
            turn = await asyncio.to_thread(self.threads.turn, id_, owner)
        except UnknownThreadError:
            raise UnknownRunError from None
        run = _new_run(turn, owner)
        run.add("queued")
        run.state = turn.state
        if turn.result:
            run.add("running")
        _tell_end(turn, run)
        return run

    def described_turns(self, thread: str, owner: str) -> list[dict[str, Any]]:
        """Return a thread's turns as JSON, without whole results; a turn that runs here has the state of its run."""
        return [self._described(turn, owner) for turn in self.threads.each_turn(thread, owner)]

    async def delete(self, thread: str, owner: str) -> None:
        """Cancel the runs of a thread, then delete it for good. Raises `UnknownThreadError` and `ThreadBusyError`."""
        await asyncio.to_thread(self.threads.get, thread, owner)
        await self._asking.runs.remove_thread(thread, owner)
        if self.shared:
            await self.shared.end_thread(thread)
        await asyncio.to_thread(self.threads.delete, thread, owner)

    def _start(self, run: Run, turn: ThreadTurn) -> Run:
        rag, tokens = self._asking.rag_of(run.owner), self._asking.streams_drafts(turn.options.get("strategy"))
        self._asking.runs.add(run, lambda: self.answers.astream(rag, turn, run.owner, tokens=tokens))
        if run.task:  # which may be cancelled before it asks
            run.task.add_done_callback(lambda _: self.answers.cancel(turn))
        return run

    async def _resume_all(self) -> None:
        owners = {name for name, _ in self._asking.options.access.people().tokens} or {""}
        try:
            for owner, turn in await asyncio.to_thread(self.answers.unfinished):
                if owner in owners:
                    with suppress(ThreadBusyError):
                        self.answers.claim(turn, owner)
                        self._start(_new_run(turn, owner), turn)
        except ThreadStorageError as error:
            log.warning("%s", error)

    def _described(self, turn: ThreadTurn, owner: str) -> dict[str, Any]:
        state: State = turn.state
        result = turn.result
        if turn.state == "unfinished":
            if self.shared:  # the turn is answered by another server, or soon will be
                state = "running"
            with suppress(UnknownRunError):
                run = self._asking.runs.get(turn.run, owner)
                state, result = run.state, run.result
        return {
            "run": turn.run,
            "number": turn.number,
            "question": turn.question,
            "standalone": result.standalone if result else turn.given_standalone,
            "state": state,
            "outcome": result.outcome if result else None,
            "answer": result.answer if result else None,
            "message": turn.message,
            "replaced": turn.replaced,
            "began": turn.began.isoformat(timespec="seconds"),
        }


async def repeated(look: Callable[[], Awaitable[object]], seconds: float, level: int = logging.WARNING) -> None:
    """Call ``look`` every so many seconds until the task is cancelled; a call that fails is only logged."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await look()
        except RequestError as error:  # the disk is full, or the database away
            log.log(level, "%s", error)
        except Exception:
            log.exception("what is kept was not looked at")


def _new_run(turn: ThreadTurn, owner: str) -> Run:
    return Run(turn.question, owner, outlives=True, thread=turn.thread, id=turn.run, began=turn.began)


def _tell_end(turn: ThreadTurn, run: Run) -> None:
    """Publish the nodes of the turn's path that were not published yet, then how the turn ended."""
    if turn.result:
        told = Counter(event.data["node"] for event in run.events if event.kind == "node_finished")
        for step in turn.result.path:
            if told[step["node"]]:
                told[step["node"]] -= 1
                continue
            decided = {name: value for name, value in step.items() if name not in {"node", "seconds", *SPENT}}
            record(NodeStarted(step["node"]), run)
            record(NodeFinished(step["node"], step["seconds"], decided), run)
        finish_run(run, turn.result, turn.numbered)
    elif turn.state == "failed":
        run.fail(SelfRAGError(turn.message or INTERNAL))
    elif turn.state == "cancelled":
        run.state = "cancelled"
        run.add("cancelled")
