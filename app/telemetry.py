"""Send OpenTelemetry's spans where its own environment variables say."""

from __future__ import annotations

from core.errors import RequestError


def export_spans() -> None:
    """Export spans over OTLP, unless this process has a provider of its own that decides about them.

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
