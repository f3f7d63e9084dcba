"""What surrounds every node: its budget, its timing, and its failures turned into state."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Awaitable, Coroutine
from threading import Lock, Thread
from typing import Any, Protocol

from langchain_core.runnables import RunnableLambda
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Overwrite

from errors import ModelError, RequestError
from graph.context import Context, Services
from graph.state import SelfRAGState, Step, Stop
from models.usage import LimitReachedError, Meter, Tab, no_usage

MOST_METERS = 4096
GRACE_SECONDS = 0.5  # after the deadline, at which model calls end by themselves and leave what was found so far
LONGEST_QUESTION = 8_000
Update = dict[str, Any]


class Node(Protocol):
    """A node: it reads the state, calls the services, and returns a partial update.

    Under ``decided`` it may say what it decided, for the path.
    """

    __name__: str

    def __call__(self, state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> Awaitable[Any]: ...


class Meters:
    """The budgets of the questions under way, one each, shared by nodes that run side by side.

    A budget that is not here, as after a restart, is made anew from the state's ``usage``.
    """

    def __init__(self) -> None:
        self._meters: dict[str, Meter] = {}
        self._lock = Lock()

    def of(self, state: SelfRAGState, context: Context) -> Meter:
        """The meter of the question that ``state`` belongs to."""
        limits = context.bounds
        with self._lock:
            meter = self._meters.get(state["run"])
            if meter is None:
                while len(self._meters) >= MOST_METERS:
                    del self._meters[next(iter(self._meters))]
                meter = Meter(
                    calls=limits.model_calls,
                    tokens=limits.tokens,
                    deadline=state["started"] + limits.seconds,
                    spent=state.get("usage") or no_usage(),
                )
                self._meters[state["run"]] = meter
            return meter

    def close(self, state: SelfRAGState) -> None:
        """Forget the meter of a finished question."""
        with self._lock:
            self._meters.pop(state["run"], None)


def fenced(node: Node, services: Services, meters: Meters) -> RunnableLambda[Any, Any]:
    """The node as LangGraph runs it, sync or async: metered, timed, its failures written to the state."""
    name = node.__name__
    first, last = name == "decide", name == "finish"

    async def turn(state: SelfRAGState, runtime: Runtime[Context]) -> Update:
        began = time.perf_counter()
        context = services.completed(runtime.context)
        fresh = anew(state, context) if first else {}
        now: SelfRAGState = {**state, **fresh}  # type: ignore[typeddict-item]
        tab = Tab(meters.of(now, context))
        failure: str | None = None
        alarm = asyncio.timeout(max(0.0, tab.meter.seconds_left()) + GRACE_SECONDS)
        try:
            async with alarm:
                update = await node(now, services.metered(tab), runtime.override(context=context))
        except LimitReachedError:
            update = {}
        except TimeoutError:  # of a search, which embeds the query on another machine perhaps
            if not alarm.expired():
                raise
            update, tab.limit = {}, "limit_seconds"
        except ModelError as error:
            update, failure = {}, str(error)
        stops = [Stop(reason="model_failed", failure=failure)] if failure else []
        if tab.limit:
            stops.append(Stop(reason=tab.limit, failure=None))
        step = Step(
            node=name,
            seconds=round(time.perf_counter() - began, 4),
            decided=update.pop("decided", {}) | ({"stop": stops[0]["reason"], "failure": failure} if stops else {}),
        )
        reduced: Update = {"usage": tab.spent, "path": [step], "stops": stops}
        if first:
            reduced = {key: Overwrite(value) for key, value in reduced.items()}
        if last:
            meters.close(now)
        return {**fresh, **update, **reduced}

    async def asynchronously(state: SelfRAGState) -> Update:
        return await turn(state, get_runtime(Context))

    def synchronously(state: SelfRAGState) -> Update:
        return in_background(turn(state, get_runtime(Context)))

    return RunnableLambda(synchronously, afunc=asynchronously, name=name)


def anew(state: SelfRAGState, context: Context) -> Update:
    """The state at the start of a question, whatever an earlier question of the thread left behind.

    Raises `RequestError` for a question that is empty or too long.
    """
    question = require_question(state.get("question"))
    return {
        "run": uuid.uuid4().hex,
        "started": time.time(),
        "decision": None,
        "queries": [question.strip()],
        "route": "retrieve",
        "searched": 0,
        "rewrites_left": context.bounds.rewrites,
        "drafts_left": context.bounds.drafts,
        "fallback": context.fallback == "direct",
        "passages": [],
        "verdicts": {},
        "relevant": [],
        "drafts": [],
        "claims": [],
        "uses": [],
        "best": None,
        "accepted": False,
        "answer": "",
        "outcome": None,
        "stop_reason": None,
        "citations": [],
        "usage": no_usage(),
        "stops": [],
    }


def require_question(question: object) -> str:
    """The question, if it can be asked. Raises `RequestError` for one that is empty or too long."""
    if not isinstance(question, str) or not question.strip():
        raise RequestError("The question is empty: ask something.")
    if len(question) > LONGEST_QUESTION:
        raise RequestError(
            f"The question has {len(question):,} characters: shorten it to {LONGEST_QUESTION:,}, "
            "and put long texts into documents."
        )
    return question


_loop: asyncio.AbstractEventLoop | None = None
_starting = Lock()


def _forget_loop() -> None:
    """A forked process has no thread that runs its parent's loop: work given to it would wait for ever."""
    global _loop, _starting
    _loop, _starting = None, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)


def in_background(work: Coroutine[Any, Any, Update]) -> Update:
    """Run ``work`` on the one loop that serves every synchronous caller, also inside a notebook's own loop."""
    global _loop
    with _starting:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            Thread(target=_loop.run_forever, name="self-rag", daemon=True).start()
    future = asyncio.run_coroutine_threadsafe(work, _loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
