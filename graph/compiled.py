"""The compiled graph: an execution is cancelled when its stream ends, and is traced only on request."""

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
    """A compiled graph that cancels the nodes of an execution when its stream ends or is closed.

    It is traced to LangSmith only with ``tracing``, and to OpenTelemetry only with ``telemetry``. ``invoke`` and all
    other ways to run it go through ``stream`` or ``astream``.
    """

    def __init__(self, *, tracing: bool = False, telemetry: bool = False, **compiled: Any) -> None:
        super().__init__(**compiled)
        self.tracing = tracing
        self.telemetry = telemetry

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:  # noqa: A002
        """Stream as LangGraph does, with the steps in another thread.

        LangGraph's own stream holds back an interrupt (Ctrl+C) until the nodes have ended. Here the calling thread gets
        the interrupt at once, and cancels the nodes.
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
        """Stream as LangGraph does."""
        execution = self._new_execution()
        steps: Any = super().astream(input, self._config_of(config), **options)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)  # at its end the event loop is to close only this generator, not LangGraph's
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
        """Update the state as LangGraph does, but trace it only on request."""
        with tracing(self.tracing):
            return super().bulk_update_state(self._config_of(config), supersteps)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Update the state as LangGraph does, but trace it only on request."""
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
    """Return a streamed chunk with each `Overwrite` of the first node replaced by its value.

    A chunk is ``(namespace, mode, chunk)``, ``(mode, chunk)`` or an update by node; `Overwrite` occurs nowhere deeper.
    """
    if isinstance(chunk, tuple):
        return tuple(map(unwrapped, chunk))
    first = next((name for name in FIRST if isinstance(chunk, dict) and isinstance(chunk.get(name), dict)), None)
    if first is None:
        return chunk
    update = {key: value.value if isinstance(value, Overwrite) else value for key, value in chunk[first].items()}
    return {**chunk, first: update}
