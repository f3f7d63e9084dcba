"""Runs that several servers share in a database: each shows all of them, and resumes those of a server that died."""

import asyncio
import logging
import weakref
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError

from app.checking.checked_text import CheckedText
from app.conversations.postgres.leases import Lease
from app.conversations.postgres.runs import ENDS, KeptEvent, KeptRun, RunTable
from app.conversations.thread import LeaseLostError, ThreadBusyError
from app.results.result import Result
from app.server.asking import Asking, RunRequest
from app.server.runs import Kind, Run, RunEvent, UnknownRunError, run_fields
from app.server.threads import EXPIRE_SECONDS, ThreadRuns, repeated
from core.errors import RequestError, SelfRAGError
from core.text import as_json
from nodes.concurrency import meanwhile

POLL_SECONDS = 0.2  # between two looks for events that other servers keep
TAKE_SECONDS = 1.0  # between two looks for runs that nobody answers any more
SPEND_SECONDS = 1.0  # between two looks at what people spent elsewhere
END_SECONDS = 10.0  # to wait for another server that is to end a run
DRAIN_SECONDS = 20.0  # in which what is being answered may end when the server does
RETRY_SECONDS = 1.0  # before another try to store events
CALLS_AT_ONCE = 8  # to the database
T = TypeVar("T")
log = logging.getLogger("selfrag.server")


class SharedRuns:
    """Keeps the runs of this server in a table, shows those of others, and takes over those that nobody answers.

    The table is polled, as a connection pooler in transaction mode does not support PostgreSQL's LISTEN.
    """

    def __init__(self, asking: Asking, table: RunTable, thread_runs: ThreadRuns) -> None:
        self._asking = asking
        self._table = table
        self._thread_runs = thread_runs
        thread_runs.shared = self
        self._leases: dict[str, Lease] = {}
        self._watched: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()
        self._ending: set[asyncio.Future[Any]] = set()
        self._threads = ThreadPoolExecutor(CALLS_AT_ONCE, "runs")

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Poll the table within the block; then wait a while for running runs, and leave the rest to other servers."""
        expire = partial(self._call, self._table.expire)
        often = ((self._poll, POLL_SECONDS), (self._take_over, TAKE_SECONDS), (self._settle, SPEND_SECONDS))
        loops = (*often, (expire, EXPIRE_SECONDS))
        with self._threads:
            await self._settle()
            async with meanwhile(*(repeated(look, seconds, logging.DEBUG) for look, seconds in loops)):
                try:
                    yield
                finally:
                    self._asking.runs.closing = True
                    await self._drain()
                    await self._settle()

    async def start(self, run: Run, asked: RunRequest) -> Run:
        """Keep a new run, and queue it here. Raises `QueueFullError`, `ClosingError` and `StoreUnavailable`."""
        with self._asking.runs.room():
            self._asking.runs.begin(run)
            given = as_json(asked.model_dump(mode="json", exclude_unset=True))
            kept = KeptRun(run.id, run.owner, run.kind, run.thread, run.question, given, run.began, run.outlives)
            lease = await self._call(partial(self._table.begin, kept))
            self._hold(run, lease)
            return self._asking.runs.add(run, self._asking.ask_of(run, asked, self._table.saver(lease)))

    async def hold(self, run: Run) -> None:
        """Take the lease of a thread's run, so that no other server answers it. The run is in the table already."""
        self._hold(run, await self._call(partial(self._table.take, run.id)))

    async def get(self, id_: str, owner: str) -> Run:
        """Return a run of another server. Raises `UnknownRunError`."""
        if (watched := self._watched.get(id_)) and watched.owner == owner:
            return watched
        kept = await self._call(partial(self._table.get, id_, owner))
        if kept is None:
            raise UnknownRunError
        run = self._watched[id_] = await self._loaded(kept)
        run.elsewhere, run.on_cancel = True, partial(self._ask_to_end, id_)
        return run

    async def last(self, owner: str) -> list[dict[str, Any]]:
        """Return the owner's last runs as JSON, those of threads too, the newest first."""
        return [_listed(one) for one in await self._call(partial(self._table.last, owner))]

    async def end_thread(self, thread: str) -> None:
        """Ask the servers to end what runs in a thread, and wait for that, at most `END_SECONDS`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                while await self._call(partial(self._table.cancel_thread, thread)):  # noqa: ASYNC110 - elsewhere
                    await asyncio.sleep(POLL_SECONDS)

    async def require_reachable(self) -> None:
        """Raise `RequestError` if the database cannot be reached."""
        await self._call(self._table.reachable)

    async def keep(self, run: Run, events: Sequence[RunEvent]) -> bool:
        """Store events of a run; retry while the database is away. Return False if another server has the run."""
        kept = [KeptEvent(run.id, one.number, one.kind, _with_numbers(one, run)) for one in events]
        told = False
        while lease := self._leases.get(run.id):
            try:
                await self._call(partial(self._table.append, run.id, lease, kept))
            except LeaseLostError:
                self._lose(run)
            except RequestError as error:
                log.log(logging.DEBUG if told else logging.WARNING, "%s", error)
                told = True
                await asyncio.sleep(RETRY_SECONDS)
            else:
                if kept[-1].kind in ENDS:
                    self._leases.pop(run.id, None)
                return True
        return False

    def _hold(self, run: Run, lease: Lease) -> None:
        self._leases[run.id] = lease
        run.journal = self.keep

    def _lose(self, run: Run) -> None:
        if lease := self._leases.pop(run.id, None):
            lease.forget()
        self._watched[run.id] = run
        self._thread_runs.answers.leave(run.id)
        run.leave(partial(self._ask_to_end, run.id))

    def _ask_to_end(self, id_: str) -> None:
        asking = asyncio.ensure_future(self._call(partial(self._table.cancel, id_)))
        self._ending.add(asking)
        asking.add_done_callback(self._ending.discard)

    async def _poll(self) -> None:
        if self._asking.runs.closing:  # while clients are still waited for
            await self._hand_over_waiting()
        watched = {id_: len(run.events) for id_, run in self._watched.items() if not run.ended}
        if watched:
            for event in await self._call(partial(self._table.events, watched)):
                if run := self._watched.get(event.run):
                    _tell(run, event)
        if self._leases:
            cancelled, lost = await self._call(partial(self._table.stopped, dict(self._leases)))
            for id_ in cancelled:
                if run := self._asking.runs.answered_here(id_):
                    run.cancel()
            for id_ in lost:
                run = self._asking.runs.answered_here(id_)
                # A run that has ended here has no lease either, once its end is stored.
                if id_ in self._leases and run and run.state in ("queued", "running"):
                    self._lose(run)

    async def _take_over(self) -> None:
        """Take runs that nobody answers, as many as can begin at once."""
        if room := self._asking.runs.free_places():
            owners = [name for name, _ in self._asking.options.access.people().tokens] or [""]
            for kept in await self._call(partial(self._table.orphans, owners, room)):
                with suppress(ThreadBusyError):  # another server was faster
                    await self._go_on(kept)

    async def _settle(self) -> None:
        """Tell the other servers what people spent here, and learn what they spent there."""
        accounts = self._asking.accounts
        if accounts.people().quotas:
            day, new = accounts.untold()
            with suppress(RequestError):  # while the database is away each server counts its own
                accounts.settle(day, new, await self._call(partial(self._table.spend, day, new)))

    async def _go_on(self, kept: KeptRun) -> None:
        """Take over a run that nobody answers, and continue or end it.

        A run whose client waited for it is cancelled: the client's connection ended with its server.
        """
        lease = await self._call(partial(self._table.take, kept.id))
        try:
            run = await self._loaded(kept)
            if run.ended:  # since the table was looked at
                await self._call(lease.release)
                return
            self._hold(run, lease)
            if kept.cancelled or not kept.outlives or (kept.thread and not await self._thread_runs.go_on(run)):
                await self._end(run)
            elif not kept.thread:
                asked = RunRequest.model_validate_json(kept.asked)
                self._asking.runs.add(run, self._asking.ask_of(run, asked, self._table.saver(lease)))
        except ValidationError:
            run.fail(RequestError("This was asked by another version of the program: ask again."))
        except BaseException as error:
            self._leases.pop(kept.id, None)
            await self._call(lease.release)
            if isinstance(error, RequestError) and not isinstance(error, ThreadBusyError):
                log.warning("%s", error)
                return
            raise

    async def _end(self, run: Run) -> None:
        """End a run that is not continued: with the result that its thread kept, or as cancelled."""
        if run.thread:
            await self._thread_runs.tell_end(run)
        if run.state in ("queued", "running"):
            run.state = "cancelled"
            run.add("cancelled")
        await run.kept()

    async def _loaded(self, kept: KeptRun) -> Run:
        """Return a run with its events."""
        kind: Kind = "check" if kept.kind == "check" else "question"
        run = Run(kept.question, kept.owner, kept.outlives, kind=kind, thread=kept.thread, id=kept.id, began=kept.began)
        while found := await self._call(partial(self._table.events, {run.id: len(run.events)})):
            for event in found:
                _tell(run, event)
        return run

    async def _drain(self) -> None:
        """Leave waiting runs to the other servers at once, and running ones if they do not end in time."""
        await self._hand_over_waiting()
        here = self._answered_here()
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.gather(*(run.wait() for run in here))
        await asyncio.gather(*(self._hand_over(run) for run in here if not run.ended and not run.elsewhere))

    def _answered_here(self) -> list[Run]:
        return [run for id_ in list(self._leases) if (run := self._asking.runs.answered_here(id_))]

    async def _hand_over_waiting(self) -> None:
        waiting = [run for run in self._answered_here() if run.state == "queued" and run.outlives]
        await asyncio.gather(*(self._hand_over(run) for run in waiting))

    async def _hand_over(self, run: Run) -> None:
        lease = self._leases.get(run.id)
        self._lose(run)
        if run.task:
            await asyncio.gather(run.task, return_exceptions=True)
        if lease:
            await self._call(lease.release)

    async def _call(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)


def _tell(run: Run, event: KeptEvent) -> None:
    """Publish a stored event, if it is the run's next one, and update the run's state by it."""
    if event.number != len(run.events) + 1:
        return
    data = dict(event.data)
    match event.kind:
        case "running":
            run.state = "running"
        case "finished":
            run.numbered = data.pop("numbered", "")
            if run.kind == "check":
                run.checked = CheckedText.model_validate(data["result"])
            else:
                run.result = Result.model_validate(data["result"])
            run.state = "finished"
        case "failed":
            run.error, run.state = SelfRAGError(data["message"]), "failed"
        case "cancelled":
            run.state = "cancelled"
    run.tell([RunEvent(event.number, event.kind, data)])


def _with_numbers(event: RunEvent, run: Run) -> dict[str, Any]:
    return {**event.data, "numbered": run.numbered} if event.kind == "finished" and run.result else event.data


def _listed(kept: KeptRun) -> dict[str, Any]:
    state = kept.state if kept.state != "unfinished" else "running" if kept.events > 1 else "queued"
    return run_fields(kept, state=state, outcome=kept.outcome, error=kept.message, events=kept.events)
