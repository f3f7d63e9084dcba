"""OpenTelemetry spans of a question or a check, its nodes and its model calls, where they were asked for.

Names and attributes of model calls are those of the semantic conventions for generative AI. What is asked and answered
is recorded only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true, which is the conventions' own setting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage

from core.errors import RequestError
from core.text import as_json
from core.types import Usage

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ROLES = {"human": "user", "ai": "assistant"}
LABELS = ("route", "outcome", "stop_reason", "retrieved", "relevant", "drafts", "accepted")
Value = str | int | float | bool
_recording: ContextVar[bool] = ContextVar("selfrag_recording", default=False)


def export_spans() -> None:
    """Export spans over OTLP, unless this process has set a tracer provider of its own.

    Raises `RequestError` if the packages that export are not installed.
    """
    from opentelemetry import trace

    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise RequestError(
            "SELFRAG_TRACING=otel needs packages that are not installed: pip install -r requirements-otel.txt."
        ) from error
    resource = Resource.create({SERVICE_NAME: "self-rag"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def start_question() -> Span:
    """Start the span of a question, which its caller ends."""
    return _tracer().start_span("answer question")


@contextmanager
def recording(question: Span | None) -> Iterator[None]:
    """Record the spans within the block as children of the question's; None records nothing."""
    token = _recording.set(question is not None)
    try:
        if question is None:
            yield
            return
        from opentelemetry.trace import use_span

        with use_span(question, record_exception=False, set_status_on_exception=False):
            yield
    finally:
        _recording.reset(token)


@contextmanager
def recorded_span(name: str, wanted: bool) -> Iterator[None]:
    """Record the block as a span, with the spans inside as its children; record none of them unless ``wanted``."""
    token = _recording.set(wanted)
    try:
        with span(name, {}):
            yield
    finally:
        _recording.reset(token)


@contextmanager
def span(name: str, attributes: Mapping[str, Value]) -> Iterator[Span | None]:
    """Record the block as a span, with the type of an exception as its error; yield None if nothing is recorded."""
    if not _recording.get():
        yield None
        return
    from opentelemetry.trace import Status, StatusCode

    with _tracer().start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(Status(StatusCode.ERROR))
            raise


def model_call(model: str, max_tokens: int, messages: Sequence[BaseMessage]) -> AbstractContextManager[Span | None]:
    """Record one call of a chat model."""
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": max_tokens,
    }
    if captures_content():
        attributes["gen_ai.input.messages"] = _as_parts(messages)
    return span(f"chat {model}", attributes)


def add_reply(current: Span | None, reply: BaseMessage, usage: Usage) -> None:
    """Record what a call cost and, if content is captured, the reply."""
    if current is None:
        return
    current.set_attribute("gen_ai.usage.input_tokens", usage["input_tokens"])
    current.set_attribute("gen_ai.usage.output_tokens", usage["output_tokens"])
    if captures_content():
        current.set_attribute("gen_ai.output.messages", _as_parts([reply]))


def add_decision(current: Span | None, update: Mapping[str, Any], spent: Usage) -> None:
    """Record what a node spent and decided (only the keys `LABELS`), but no text of a question, document or answer."""
    if current is None:
        return
    for name in ("model_calls", "input_tokens", "output_tokens"):
        current.set_attribute(f"selfrag.{name}", spent[name])
    for name in LABELS:
        if isinstance(value := update.get("decided", {}).get(name), str | bool | int):
            current.set_attribute(f"selfrag.{name}", value)


def captures_content() -> bool:
    """Return True if the environment asks to record what models read and write."""
    return os.environ.get(CAPTURE, "").strip().casefold() == "true"


def _tracer() -> Tracer:
    from opentelemetry.trace import get_tracer

    return get_tracer("selfrag")


def _as_parts(messages: Sequence[BaseMessage]) -> str:
    return as_json(
        [{"role": ROLES.get(one.type, one.type), "parts": [{"type": "text", "content": one.text}]} for one in messages]
    )
