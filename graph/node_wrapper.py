"""What surrounds every node: its budget, its timing, and its failures turned into state."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Overwrite

from core.errors import ModelError, RequestError
from core.text import is_blank
from core.types import Step, Stop, no_usage
from graph.context import Context, Services
from graph.execution import current_execution
from graph.state import SelfRAGState
from models.usage import NOTHING_RESERVED, LimitReachedError, NodeBudget, Reserve
from retrieval.filters import Filter

GRACE_SECONDS = 0.5  # after the deadline, at which model calls end by themselves and leave what was found so far
LONGEST_QUESTION = 8_000
Update = dict[str, Any]


class Node(Protocol):
    """A node: it reads the state, calls the services, and returns a partial update.

    Under ``decided`` it may say what it decided, for the path.
    """

    __name__: str

    def __call__(self, state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> Awaitable[Any]: ...


# Kept back for those after it, so that a run which ends early ends with a checked answer if it can. The grade of one
# passage, a draft and one claim are the least that lead to one.
BEFORE_CHECKS = 0.15
RESERVES = {
    "decide": Reserve(1, BEFORE_CHECKS),
    "grade_documents": Reserve(2, BEFORE_CHECKS),
    "rewrite_query": Reserve(3, BEFORE_CHECKS),
    "generate": Reserve(1, BEFORE_CHECKS),
}


def wrap_node(node: Node, services: Services) -> WrappedNode:
    """The node as LangGraph runs it, sync or async: with_budget, timed, its failures written to the state."""
    name = node.__name__
    first, last = name == "decide", name == "finish"

    async def turn(state: SelfRAGState, runtime: Runtime[Context]) -> Update:
        began = time.perf_counter()
        context = services.completed(runtime.context)
        fresh = initial_state(state, context) if first else {}
        now: SelfRAGState = {**state, **fresh}  # type: ignore[typeddict-item]
        context = with_checkpointed_filter(context, now)
        run = current_execution().run_of(now, context, services.retriever)
        budget = NodeBudget(run.total, RESERVES.get(name, NOTHING_RESERVED))
        if first and context.mode != "never":
            run.search.begin(now["queries"][0], context.k, context.filter)
        failure: str | None = None
        alarm = asyncio.timeout(max(0.0, budget.seconds_left()) + GRACE_SECONDS)
        try:
            async with alarm:
                update = await node(now, run.services(services, budget), runtime.override(context=context))
        except LimitReachedError:
            update = {}
        except TimeoutError:  # of a search, which embeds the query on another machine perhaps
            if not alarm.expired():
                raise
            update, budget.limit = {}, "limit_seconds"
        except ModelError as error:
            update, failure = {}, str(error)
        stops = [Stop(reason="model_failed", failure=failure)] if failure else []
        if budget.limit:
            stops.append(Stop(reason=budget.limit, failure=None))
        step = Step(
            node=name,
            seconds=round(time.perf_counter() - began, 4),
            decided=update.pop("decided", {}) | ({"stop": stops[0]["reason"], "failure": failure} if stops else {}),
        )
        reduced: Update = {"usage": budget.spent, "path": [step], "stops": stops}
        if first:
            reduced = {key: Overwrite(value) for key, value in reduced.items()}
            if update.get("route") == "direct":
                run.search.drop()
        if last:
            update["seconds"] = run.total.seconds_spent()
        return {**fresh, **update, **reduced}

    return WrappedNode(name, turn)


class WrappedNode(Runnable[SelfRAGState, Update]):
    """A node that LangGraph runs as it is, sync or async: `RunnableLambda` would look into it anew at each turn."""

    def __init__(
        self, name: str, turn: Callable[[SelfRAGState, Runtime[Context]], Coroutine[Any, Any, Update]]
    ) -> None:
        self.name = name
        self._turn = turn

    def invoke(self, input: SelfRAGState, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002
        """Run the node on the loop in the background."""
        return current_execution().wait_for(self._turn(input, get_runtime(Context)))

    async def ainvoke(self, input: SelfRAGState, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002
        """Run the node here."""
        return await self._turn(input, get_runtime(Context))


def initial_state(state: SelfRAGState, context: Context) -> Update:
    """The state at the start of a question, whatever an earlier question of the thread left behind.

    Raises `RequestError` for a question that is empty or too long.
    """
    question = require_question(state.get("question"))
    return {
        "run": uuid.uuid4().hex,
        "decision": None,
        "queries": [question.strip()],
        "route": "retrieve",
        "searched": 0,
        "filter": context.filter.model_dump(mode="json") if context.filter else None,
        "rewrites_left": context.effective_limits.rewrites,
        "drafts_left": context.effective_limits.drafts,
        "fallback": context.fallback == "direct",
        "passages": [],
        "verdicts": {},
        "relevant": [],
        "drafts": [],
        "drafted": [],
        "claims": [],
        "uses": [],
        "best": None,
        "accepted": False,
        "answer": "",
        "outcome": None,
        "stop_reason": None,
        "citations": [],
        "usage": no_usage(),
        "path": [],
        "stops": [],
    }


def with_checkpointed_filter(context: Context, state: SelfRAGState) -> Context:
    """The context with the filter that the question began with, also where who takes it up again gives none."""
    kept = state.get("filter")
    return context.model_copy(update={"filter": Filter.model_validate(kept) if kept else None})


def require_question(question: object) -> str:
    """The question, if it can be asked. Raises `RequestError` for one that is empty or too long."""
    if not isinstance(question, str) or is_blank(question):
        raise RequestError("The question is empty: ask something.")
    if len(question) > LONGEST_QUESTION:
        raise RequestError(
            f"The question has {len(question):,} characters: shorten it to {LONGEST_QUESTION:,}, "
            "and put long texts into documents."
        )
    return question
