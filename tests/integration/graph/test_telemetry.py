"""What OpenTelemetry is told of a question: nothing, its course, or also its texts."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from app.front_door import SelfRAG
from app.settings import Settings
from core.errors import RequestError
from models import telemetry
from tests.scripted import ScriptedChat, ScriptedRetriever, StatusError, reply

QUESTION = "Why is the sky blue?"
AIR = "Air scatters blue light."


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", lambda: provider.get_tracer("test"))
    monkeypatch.setattr("app.front_door.export_spans", lambda: None)
    yield exporter
    provider.shutdown()


def ask(tracing: str, *script: Any, asking: Callable[[SelfRAG], object] = lambda rag: rag.ask(QUESTION)) -> None:
    chat = ScriptedChat(script=list(script))
    settings = Settings(selfrag_tracing=tracing, selfrag_mode="never")  # type: ignore[arg-type]
    with SelfRAG(retriever=ScriptedRetriever(always=[AIR]), model=chat, settings=settings) as rag:
        asking(rag)


def by_name(exported: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exported.get_finished_spans()}


ANSWER = (reply(AIR, read=20, written=5), reply("5", read=30))


def test_each_node_and_model_call_is_a_span_of_its_question_where_that_is_asked_for(
    exported: InMemorySpanExporter,
) -> None:
    ask("off", *ANSWER)
    assert exported.get_finished_spans() == ()
    ask("otel", *ANSWER)
    spans = by_name(exported)
    question, node = spans["answer question"], spans["node direct_generate"]
    calls = [one for one in exported.get_finished_spans() if one.name.startswith("chat ")]
    assert node.parent is not None
    assert node.parent.span_id == question.context.span_id
    assert next(one.parent and one.parent.span_id for one in calls) == node.context.span_id
    assert {one.context.trace_id for one in exported.get_finished_spans()} == {question.context.trace_id}
    assert dict(calls[0].attributes or {})["gen_ai.usage.input_tokens"] == 20
    assert dict(spans["node finish"].attributes or {})["selfrag.outcome"] == "direct"
    told = str([dict(span.attributes or {}) for span in exported.get_finished_spans()])
    assert QUESTION not in told
    assert AIR not in told


def test_texts_are_recorded_only_when_they_are_asked_for(
    exported: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(telemetry.CAPTURE, "true")
    ask("otel", *ANSWER)
    call = next(one for one in exported.get_finished_spans() if one.name.startswith("chat "))
    attributes = dict(call.attributes or {})
    assert QUESTION in str(attributes["gen_ai.input.messages"])
    assert AIR in str(attributes["gen_ai.output.messages"])


@pytest.mark.parametrize(
    ("name", "checked"),
    [("verify claim", lambda rag: rag.verify(AIR)), ("check text", lambda rag: rag.check(f"{AIR}\n\n{AIR}"))],
)
def test_a_check_is_one_span_with_its_model_calls_below(
    exported: InMemorySpanExporter, name: str, checked: Callable[[SelfRAG], object]
) -> None:
    ask("otel", reply("yes"), reply("yes"), asking=checked)
    *calls, root = exported.get_finished_spans()
    assert (root.name, root.parent) == (name, None)
    assert {one.parent and one.parent.span_id for one in calls} == {root.context.span_id}
    assert all(one.name.startswith("chat ") for one in calls)
    exported.clear()
    ask("off", reply("yes"), reply("yes"), asking=checked)
    assert exported.get_finished_spans() == ()


def test_a_call_that_fails_is_marked_without_what_the_error_says(exported: InMemorySpanExporter) -> None:
    ask("otel", StatusError(401, "no such key"))
    call = next(one for one in exported.get_finished_spans() if one.name.startswith("chat "))
    assert dict(call.attributes or {})["error.type"] == "StatusError"
    assert (call.status.is_ok, call.events) == (False, ())


def test_without_its_packages_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(RequestError, match=r"requirements-otel\.txt"):
        SelfRAG(retriever=ScriptedRetriever(), model=ScriptedChat(script=[]), settings=Settings(selfrag_tracing="otel"))
