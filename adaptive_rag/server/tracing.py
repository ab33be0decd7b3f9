"""OpenTelemetry traces of the graph's steps; they contain texts only if server.trace_contents is set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adaptive_rag.errors import import_extra
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.text.redaction import redact, redact_all

# OpenTelemetry's attribute for the type of an error. The error's message may contain the question.
_ERROR_TYPE = "exception.type"


def trace_to_collector(settings: ServerSettings) -> Callable[[], object]:
    """Send traces to the collector at OTEL_EXPORTER_OTLP_ENDPOINT; return a function that stops this."""
    load = partial(import_extra, extra="tracing", purpose="server.trace")
    exporter = load("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    export = load("opentelemetry.sdk.trace.export")
    sdk = load("opentelemetry.sdk.trace")
    resources = load("opentelemetry.sdk.resources")
    instrument = load("openinference.instrumentation.langchain")
    openinference = load("openinference.instrumentation")
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": "adaptive-rag"}))
    is_hidden = not settings.trace_contents
    collector = exporter.OTLPSpanExporter()
    export_spans = collector.export
    collector.export = lambda spans: export_spans(
        [_redact_span(span, sdk, is_hidden=is_hidden) for span in spans]
    )
    provider.add_span_processor(export.BatchSpanProcessor(collector))
    config = openinference.TraceConfig(
        hide_inputs=is_hidden,
        hide_outputs=is_hidden,
        hide_prompts=is_hidden,
        hide_choices=is_hidden,
        hide_retrieval_documents=is_hidden,
        hide_llm_invocation_parameters=is_hidden,
        hide_embedding_vectors=True,
    )
    instrumentor = instrument.LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider, config=config)

    def stop() -> None:
        instrumentor.uninstrument()
        provider.shutdown()

    return stop


def _redact_span(span: Any, sdk: Any, *, is_hidden: bool) -> Any:
    """Return a span without secrets; if hidden, its errors have only their type."""
    errors = [dict(event.attributes or {}) for event in span.events]
    if is_hidden:
        errors = [{_ERROR_TYPE: error[_ERROR_TYPE]} if _ERROR_TYPE in error else {} for error in errors]
    events = [
        sdk.Event(event.name, redact_all(error), event.timestamp)
        for event, error in zip(span.events, errors, strict=True)
    ]
    description = None if is_hidden or not span.status.description else redact(span.status.description)
    return sdk.ReadableSpan(
        span.name,
        span.context,
        span.parent,
        span.resource,
        redact_all(dict(span.attributes or {})),
        events,
        span.links,
        span.kind,
        status=type(span.status)(span.status.status_code, description),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
