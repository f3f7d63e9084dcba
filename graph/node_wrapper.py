"""What surrounds every node: its share of the budget, its timing, and its failures turned into state."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Overwrite

from core.errors import ModelError
from core.types import Step, Stop
from graph.edges import before_decide
from models.telemetry import add_decision, span
from models.usage import NOTHING_RESERVED, LimitReachedError, NodeBudget, Reserve
from run.context import Context, Services
from run.execution import current_execution
from run.initial_state import initial_state, length_of, with_checkpointed_filter
from run.state import SelfRAGState

# Granted after the deadline, at which model calls end by themselves, so that a node can return what it has. `finish`
# has no deadline: it makes no model call, and a long answer that it still reads for conditions would be lost.
GRACE_SECONDS = 0.5
log = logging.getLogger("selfrag.graph")
FIRST, LAST = ("contextualize", "decide"), "finish"
Update = dict[str, Any]
# Returns a partial update. Its ``decided`` goes into the path; a ``failure``, of the model, ends the run.
Node = Callable[[SelfRAGState, Services, Runtime[Context]], Awaitable[Any]]

# What each node leaves for later ones, so that a run which ends early can still end with a checked answer. That takes
# three calls: to grade one passage, to draft, and to check one claim. `contextualize` also leaves one for `decide`.
BEFORE_CHECKS = 0.15
RESERVES = {
    "contextualize": Reserve(4, BEFORE_CHECKS),
    "decide": Reserve(1, BEFORE_CHECKS),
    "query_table": Reserve(3, BEFORE_CHECKS),
    "grade_documents": Reserve(2, BEFORE_CHECKS),
    "rewrite_query": Reserve(3, BEFORE_CHECKS),
    "generate": Reserve(1, BEFORE_CHECKS),
}
# A run does without the results of these nodes: if one meets a limit or fails, that does not end the run.
OPTIONAL = {"contextualize", "compare_answers"}


class WrappedNode(Runnable[SelfRAGState, Update]):
    """A node as LangGraph runs it, sync or async: budgeted, timed, its failures written to the state.

    A ``RunnableLambda`` would do, but LangChain caches its functions, and with them the services, until the process
    ends.
    """

    def __init__(self, node: Node, services: Services) -> None:
        self.name = node.__name__
        self._node = node
        self._services = services

    def invoke(self, input: SelfRAGState, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002
        """Run the node on the execution's own event loop, and wait for it."""
        return current_execution().wait_for(self._run(input, get_runtime(Context)))

    async def ainvoke(self, input: SelfRAGState, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002
        """Run the node on the caller's event loop."""
        return await self._run(input, get_runtime(Context))

    async def _run(self, state: SelfRAGState, runtime: Runtime[Context]) -> Update:
        began, name = time.perf_counter(), self._node.__name__
        first = name == before_decide(state)
        context = self._services.completed(runtime.context, length_of(state, runtime.context, new=first))
        fresh = initial_state(state, context) if first else {}
        now: SelfRAGState = {**state, **fresh}  # type: ignore[typeddict-item]
        context = with_checkpointed_filter(context, now)
        shared = current_execution().shared_by_nodes(now, context, self._services.retriever)
        budget = NodeBudget(shared.budget, RESERVES.get(name, NOTHING_RESERVED))
        services, runtime = shared.services_for(self._services, budget), runtime.override(context=context)
        failure: str | None = None
        alarm = asyncio.timeout(None if name == LAST else max(0.0, budget.seconds_left()) + GRACE_SECONDS)
        try:
            async with alarm:
                with span(f"node {name}", {"selfrag.node": name}) as current:
                    update = await self._node(now, services, runtime)
                    add_decision(current, update, budget.spent)
                    failure = update.pop("failure", None)
        except LimitReachedError:
            update = {}
        except TimeoutError:  # of a search, which may embed the query on another machine
            if not alarm.expired():
                raise
            update, budget.limit = {}, "limit_seconds"
        except ModelError as error:
            update, failure = {}, str(error)
        stops = [Stop(reason="model_failed", failure=failure)] if failure else []
        if budget.limit:
            stops.append(Stop(reason=budget.limit, failure=None))
        told: Update = {"stop": stops[0]["reason"], "failure": failure} if stops else {}
        if budget.failure:
            told.setdefault("failure", budget.failure)
        spent = budget.spent
        step = Step(
            node=name,
            seconds=round(time.perf_counter() - began, 4),
            model_calls=spent["model_calls"],
            input_tokens=spent["input_tokens"],
            cached_input_tokens=spent["cached_input_tokens"],
            output_tokens=spent["output_tokens"],
            decided=update.pop("decided", {}) | told,
        )
        why = f", stopped by {stops[0]['reason']}" if stops else ""
        log.debug("%s took %.3f s and %d model calls%s", name, step["seconds"], spent["model_calls"], why)
        reduced: Update = {"usage": spent, "path": [step], "stops": [] if name in OPTIONAL else stops}
        if first:
            reduced = {key: Overwrite(value) for key, value in reduced.items()}
        if name == LAST:
            update |= {"seconds": shared.budget.seconds_spent(), "conversation": [], "given_standalone": None}
        return {**fresh, **update, **reduced}
