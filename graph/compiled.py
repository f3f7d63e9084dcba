"""The compiled graph: its executions end with their streams, and are traced only on request."""

import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, Final, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite, StateUpdate

from graph.node_wrapper import FIRST
from models.telemetry import start_question
from models.tracing import tracing, without_tracers
from run.context import Context
from run.execution import Execution
from run.state import SelfRAGState

Config = TypeVar("Config", RunnableConfig, RunnableConfig | None)
END_OF_STREAM: Final = object()


class SelfRAGGraph(CompiledStateGraph[SelfRAGState, Context, Any, Any]):
    """LangGraph's compiled graph, each of whose executions is cancelled when its stream ends, however that comes.

    LangSmith sees nothing of it unless ``tracing``, and OpenTelemetry nothing unless ``telemetry``. All other ways to
    run it lead through ``stream`` and ``astream``.
    """

    def __init__(self, *, tracing: bool = False, telemetry: bool = False, **compiled: Any) -> None:
        super().__init__(**compiled)
        self.tracing = tracing
        self.telemetry = telemetry

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:  # noqa: A002
        """As LangGraph's.

        The steps are made in a thread: LangGraph waits for its nodes before it lets an interrupt through, so that it
        must reach this thread, which cancels them.
        """
        execution, context = self._new_execution(), copy_context()
        steps: Any = super().stream(input, self._config_of(config), **options)

        def step() -> Any:
            with self._entered(execution):
                return next(steps, END_OF_STREAM)

        thread = ThreadPoolExecutor(1, "self-rag stream")
        try:
            while (chunk := thread.submit(context.run, step).result()) is not END_OF_STREAM:
                yield unwrapped(chunk)
        finally:
            execution.cancel()
            thread.shutdown()
            context.run(steps.close)

    async def astream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> AsyncGenerator[Any, None]:
        """As LangGraph's."""
        execution = self._new_execution()
        steps: Any = super().astream(input, self._config_of(config), **options)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)  # the event loop, when it ends, is to close this generator and not that too
        step = steps.__anext__()
        sys.set_asyncgen_hooks(*hooks)
        try:
            while True:
                with self._entered(execution):
                    chunk = await step
                yield unwrapped(chunk)
                step = steps.__anext__()
        except StopAsyncIteration:
            return
        finally:
            execution.close()
            with self._entered(execution):
                await steps.aclose()

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """As LangGraph's, which traces what it writes."""
        with tracing(self.tracing):
            return super().bulk_update_state(self._config_of(config), supersteps)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """As LangGraph's, which traces what it writes."""
        with tracing(self.tracing):
            return await super().abulk_update_state(self._config_of(config), supersteps)

    def _new_execution(self) -> Execution:
        return Execution(start_question() if self.telemetry else None)

    def _config_of(self, config: Config) -> Config:
        return config if self.tracing or config is None else without_tracers(config)

    @contextmanager
    def _entered(self, execution: Execution) -> Iterator[None]:
        """Set the execution and tracing while the graph runs, and not while the caller handles a chunk."""
        with execution.current(), tracing(self.tracing):
            yield


def unwrapped(chunk: Any) -> Any:
    """Return what is streamed with the values that the first node overwrites as they are.

    Chunks are ``(namespace, mode, chunk)``, ``(mode, chunk)`` or an update by node; deeper there is no `Overwrite`.
    """
    if isinstance(chunk, tuple):
        return tuple(map(unwrapped, chunk))
    first = next((name for name in FIRST if isinstance(chunk, dict) and isinstance(chunk.get(name), dict)), None)
    if first is None:
        return chunk
    update = {key: value.value if isinstance(value, Overwrite) else value for key, value in chunk[first].items()}
    return {**chunk, first: update}
