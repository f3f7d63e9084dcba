"""Runs, which are questions and checks that wait, run or have ended, with their numbered events, kept in memory."""

import asyncio
import logging
import secrets
import time
import traceback
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from app.checking.checked_text import CheckedText, ClaimChecked
from app.conversations.answering import NotKept
from app.results.events import DraftToken, Event, Finished, NodeFinished, NodeStarted
from app.results.result import Result
from app.terminal.show import numbered_answer
from core.errors import RequestError, SelfRAGError
from core.step_wording import summarise_step
from core.text import clean
from models.redaction import Secrets
from models.usage import Meter, metered

Kind = Literal["question", "check"]
State = Literal["queued", "running", "finished", "failed", "cancelled", "unfinished"]
Ask = Callable[[], AsyncGenerator["Event | NotKept | ClaimChecked | CheckedText", None]]

log = logging.getLogger("selfrag.server")
MOST_KEPT = 100  # ended runs of one owner
USUAL_SECONDS = 10.0  # assumed for a run, until one has ended
INTERNAL = "The server failed over this question: its log says more."


class QueueFullError(RequestError):
    """The queue is full; a place may be free in ``retry_after`` seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"The server has as many questions as it can queue: ask again in {retry_after} seconds.")
        self.retry_after = retry_after


class QuotaError(QueueFullError):
    """The person has used up the quota of today."""

    def __init__(self, what: str, most: int, retry_after: int) -> None:
        RequestError.__init__(
            self, f"Your quota of {what} for a day, {most:,}, is used up: ask again tomorrow, in UTC."
        )
        self.retry_after = retry_after


class ClosingError(RequestError):
    """The server is shutting down and starts no run."""

    retry_after = 1

    def __init__(self) -> None:
        super().__init__("The server is ending: ask again in a moment, which another may answer.")


class UnknownRunError(RequestError):
    """There is no such run, or it is another owner's."""

    def __init__(self) -> None:
        super().__init__("There is no such run, or it was so long ago that it is forgotten: ask again.")


@dataclass(frozen=True)
class RunEvent:
    """What happened to a run; ``number`` counts from 1."""

    number: int
    kind: str
    data: dict[str, Any]


# Stores events where other servers find them; returns False if another server has taken the run over.
Journal = Callable[["Run", Sequence[RunEvent]], Awaitable[bool]]


@dataclass(eq=False)
class Run:
    """A question that ``owner`` asked, or a check of a text; ``question`` then holds the name of the text.

    ``thread`` is the id of the run's thread, if any. An interrupted run is ``unfinished`` until it is continued or
    cancelled. ``numbered`` is the answer with the numbers of its citations, ``meter`` what this server spent. A
    ``journal`` stores each event for other servers before the event is published. If the run is ``elsewhere``, another
    server answers it, and this server only publishes the events that the other server has stored.
    """

    question: str
    owner: str = ""
    outlives: bool = False
    kind: Kind = "question"
    thread: str | None = None
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    state: State = "queued"
    events: list[RunEvent] = field(default_factory=list)
    result: Result | None = None
    checked: CheckedText | None = None
    numbered: str = ""
    meter: Meter = field(default_factory=Meter)
    error: Exception | None = None
    task: asyncio.Task[None] | None = None
    journal: Journal | None = None
    elsewhere: bool = False
    on_cancel: Callable[[], None] | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _unkept: list[RunEvent] = field(default_factory=list)
    _keeping: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        """True if no more events will come."""
        return self.state not in ("queued", "running") and not self._unkept

    def cancel(self) -> None:
        """End the run, if it has not ended."""
        if self.on_cancel:
            self.on_cancel()
        elif self.task:
            self.task.cancel()

    def fail(self, error: Exception) -> None:
        """End the run with an error; do nothing for a run that another server answers."""
        if not self.elsewhere:
            self.error, self.state = error, "failed"
            self.add("failed", message=str(error) if isinstance(error, SelfRAGError) else INTERNAL)

    def add(self, kind: str, **data: Any) -> None:
        """Append an event, which a journal, if any, stores first. Do nothing for a run that another server answers."""
        if self.elsewhere:
            return
        event = RunEvent(len(self.events) + len(self._unkept) + 1, kind, data)
        if self.journal is None:
            self.tell([event])
            return
        self._unkept.append(event)
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep(self.journal))

    def tell(self, events: Sequence[RunEvent]) -> None:
        """Publish stored events to all followers; events that were published before are skipped."""
        self.events += [event for event in events if event.number > len(self.events)]
        self._changed.set()
        self._changed = asyncio.Event()

    def leave(self, on_cancel: Callable[[], None]) -> None:
        """Leave the run to another server: this one only publishes its events, and `cancel` calls ``on_cancel``."""
        self.elsewhere, self.on_cancel = True, on_cancel
        self.state, self.result, self.checked, self.error = "running", None, None, None
        self._unkept.clear()
        if self.task:
            self.task.cancel()

    async def kept(self) -> None:
        """Wait until all events are stored."""
        if self._keeping:
            await asyncio.gather(self._keeping, return_exceptions=True)

    async def _keep(self, journal: Journal) -> None:
        while self._unkept:
            batch = list(self._unkept)
            if not await journal(self, batch):
                return
            del self._unkept[: len(batch)]
            self.tell(batch)

    async def follow(self, after: int = 0) -> AsyncGenerator[RunEvent, None]:
        """Yield the events after number ``after``, to the last."""
        while True:
            changed = self._changed
            while after < len(self.events):
                after += 1
                yield self.events[after - 1]
            if self.ended:
                return
            await changed.wait()

    async def wait(self) -> None:
        """Wait until the run has ended."""
        async for _ in self.follow(len(self.events)):
            pass


class Runs:
    """All runs. At most ``at_once`` run and ``queue`` wait; of an owner's ended runs the last `MOST_KEPT` are kept."""

    def __init__(
        self,
        *,
        at_once: int,
        queue: int,
        begin: Callable[[Run], None] = lambda run: None,
        on_end: Callable[[Run], None] = lambda run: None,
    ) -> None:
        self.at_once = at_once
        self.closing = False  # if True, no new run is taken
        self._queue = queue
        self.begin = begin  # is called with each new run, before it is queued, and may refuse it
        self._on_end = on_end
        self._places = asyncio.Semaphore(at_once)
        self._runs: dict[str, Run] = {}
        self._others = 0
        self._seconds = USUAL_SECONDS

    def start(self, run: Run, ask: Ask) -> Run:
        """Queue a run, which ``ask`` answers event by event. Raises `QueueFullError` and `ClosingError`."""
        with self.room():
            self.begin(run)
            return self.add(run, ask)

    def add(self, run: Run, ask: Ask) -> Run:
        """Queue a run, even if the queue is full. The events that another server published for it are not repeated."""
        self._runs[run.id] = run
        if run.events:
            ask = _without_finished(ask, run.events)
        else:
            run.add("queued")
        run.task = asyncio.create_task(self._answer(run, ask))
        run.task.add_done_callback(lambda _: self._end(run))
        return run

    def get(self, id_: str, owner: str = "") -> Run:
        """Return a run of the owner's. Raises `UnknownRunError`, also for somebody else's."""
        run = self._runs.get(id_)
        if run is None or run.owner != owner:
            raise UnknownRunError
        return run

    def answered_here(self, id_: str) -> Run | None:
        """Return a run of any owner that this server answers; None if it has no such run."""
        return self._runs.get(id_)

    def free_places(self) -> int:
        """Return how many more runs could be answered at once; none once the server is ending."""
        return 0 if self.closing else max(0, self.at_once - self.count("queued") - self.count("running"))

    def of(self, owner: str = "") -> list[Run]:
        """Return the owner's runs, the last one first."""
        return [run for run in reversed(self._runs.values()) if run.owner == owner]

    def count(self, state: State) -> int:
        """Return how many runs are in a state."""
        return sum(run.state == state for run in self._runs.values())

    def forget(self, before: datetime) -> None:
        """Forget the ended runs that began before a time."""
        self._runs = {id_: run for id_, run in self._runs.items() if not run.ended or run.began >= before}

    async def remove_thread(self, thread: str, owner: str = "") -> None:
        """End the runs of a thread, and forget them."""
        for run in [run for run in self.of(owner) if run.thread == thread]:
            run.cancel()
            await run.wait()
            self._runs.pop(run.id, None)

    @contextmanager
    def attended(self, run: Run) -> Iterator[None]:
        """Cancel the run at the end of the block, if it still runs and is not to outlive its client."""
        try:
            yield
        finally:
            if not run.outlives:
                run.cancel()

    @contextmanager
    def room(self) -> Iterator[None]:
        """Count as a waiting run while the block lasts. Raises `QueueFullError` and `ClosingError`."""
        if self.closing:
            raise ClosingError
        if self.count("queued") + self.count("running") + self._others >= self.at_once + self._queue:
            raise QueueFullError(max(1, round(self._seconds / self.at_once)))
        self._others += 1
        try:
            yield
        finally:
            self._others -= 1

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None, None]:
        """Wait for a place among running runs, and hold it for other work of the models. Raises what `room` raises."""
        with self.room():
            async with self._places:
                yield

    async def aclose(self) -> None:
        """End all runs, and wait until they have ended."""
        local = [run for run in self._runs.values() if run.task and not run.elsewhere]
        for run in local:
            run.cancel()
        await asyncio.gather(*(run.task for run in local if run.task), return_exceptions=True)
        for run in local:
            await run.kept()

    async def _answer(self, run: Run, ask: Ask) -> None:
        async with self._places:
            if not run.elsewhere:
                run.state = "running"
            if not any(event.kind == "running" for event in run.events):  # else another server began it
                run.add("running")
            began = time.monotonic()
            try:
                with metered(run.meter):
                    async with aclosing(ask()) as events:
                        async for event in events:
                            record(event, run)
            except Exception as error:  # noqa: BLE001 - whatever it is, the run's client is told
                if not isinstance(error, SelfRAGError):
                    log.error("%s", Secrets().redacted(clean(traceback.format_exc())))
                run.fail(error)
            self._seconds += (time.monotonic() - began - self._seconds) / 10

    def _end(self, run: Run) -> None:
        """Record that a run was cancelled, if it has no other end; forget the owner's oldest runs."""
        if run.elsewhere:
            self._runs.pop(run.id, None)
            return
        if run.state in ("queued", "running"):
            run.state = "cancelled"
            run.add("cancelled")
        ended = [one for one in self.of(run.owner) if one.ended]
        for one in ended[MOST_KEPT:]:
            del self._runs[one.id]
        self._on_end(run)


def record(event: Event | NotKept | ClaimChecked | CheckedText, run: Run) -> None:
    """Add an event to a run, and update the run's state by it."""
    if run.elsewhere:
        return
    match event:
        case NodeStarted():
            run.add("node_started", node=event.node)
        case NodeFinished():
            told = summarise_step(event.node, event.decided)
            run.add("node_finished", node=event.node, seconds=event.seconds, decided=event.decided, summary=told)
        case DraftToken():
            run.add("draft_token", text=event.text)
        case Finished():
            finish_run(run, event.result, numbered_answer(event.state))
        case NotKept():
            run.add("not_kept", message=event.message)
        case ClaimChecked():
            run.add("claim_checked", done=event.done, total=event.total)
        case CheckedText():
            run.checked, run.state = event, "finished"
            run.add("finished", result=event.model_dump(mode="json"))


def run_fields(run: Any, **now: Any) -> dict[str, Any]:
    """Return a `Run` or a `KeptRun` as JSON; ``now`` are its state, outcome, error and number of events."""
    same = {name: getattr(run, name) for name in ("id", "kind", "thread", "question")}
    return {**same, "began": run.began.isoformat(timespec="seconds"), **now}


def finish_run(run: Run, result: Result, numbered: str) -> None:
    """End a run with its answer."""
    run.result, run.numbered, run.state = result, numbered, "finished"
    run.add("finished", result=result.model_dump(mode="json"))


def _without_finished(ask: Ask, told: Sequence[RunEvent]) -> Ask:
    """Wrap ``ask`` to leave out the events of each node that has a ``node_finished`` event in ``told`` already."""
    finished = Counter(event.data["node"] for event in told if event.kind == "node_finished")
    starting, ending = finished.copy(), finished

    async def new() -> AsyncGenerator[Any, None]:
        async with aclosing(ask()) as events:
            async for event in events:
                if isinstance(event, NodeStarted) and starting[event.node] > 0:
                    starting[event.node] -= 1
                elif isinstance(event, NodeFinished) and ending[event.node] > 0:
                    ending[event.node] -= 1
                elif not (isinstance(event, DraftToken) and ending["generate"] + ending["direct_generate"] > 0):
                    yield event

    return new
