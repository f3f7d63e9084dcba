"""Keep questions and passages out of LangSmith's traces, unless this program itself is to be traced."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers import LangChainTracer
from langchain_core.tracers.context import tracing_v2_callback_var
from langchain_core.utils.env import env_var_is_set
from langsmith.run_helpers import get_tracing_context, tracing_context

_enabled: ContextVar[bool | None] = ContextVar("selfrag_tracing", default=None)


@contextmanager
def tracing(enabled: bool | None = None) -> Iterator[None]:
    """Turn tracing on or off within the block, whatever the environment and an enclosing trace say.

    With None an enclosing block of `tracing` decides; outside of any such block, tracing is off.
    """
    wanted = bool(_enabled.get()) if enabled is None else enabled
    if wanted is _enabled.get():
        yield
        return
    token = _enabled.set(wanted)
    try:
        with tracing_context(**{**get_tracing_context(), "enabled": True}) if wanted else _untraced():
            yield
    finally:
        _enabled.reset(token)


def without_tracers(config: RunnableConfig) -> RunnableConfig:
    """Return the config without the LangSmith tracers that its callbacks inherited from an enclosing run.

    If the callbacks are a plain list, the config stays as it is: the caller passed these tracers for this very call.
    """
    callbacks = config.get("callbacks")
    if not isinstance(callbacks, BaseCallbackManager):
        return config
    callbacks = callbacks.copy()
    for handler in [*callbacks.handlers, *callbacks.inheritable_handlers]:
        if isinstance(handler, LangChainTracer):
            callbacks.remove_handler(handler)
    return {**config, "callbacks": callbacks}


@contextmanager
def _untraced() -> Iterator[None]:
    # LangChain fails if its legacy variables are set and no tracer is.
    legacy = env_var_is_set("LANGCHAIN_TRACING") or env_var_is_set("LANGCHAIN_HANDLER")
    tracer = tracing_v2_callback_var.set(cast("Any", _NoOpTracer()) if legacy else None)
    inherited = var_child_runnable_config.get()
    config = var_child_runnable_config.set(inherited and without_tracers(inherited))
    try:
        with tracing_context(enabled=False, parent=False):
            yield
    finally:
        var_child_runnable_config.reset(config)
        tracing_v2_callback_var.reset(tracer)


class _NoOpTracer(BaseCallbackHandler):
    """A tracer that ignores every event."""

    ignore_llm = ignore_chat_model = ignore_chain = ignore_agent = True
    ignore_retriever = ignore_retry = ignore_custom_event = True
