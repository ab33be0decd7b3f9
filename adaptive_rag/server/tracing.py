"""OpenTelemetry traces of the graph's steps, without the texts that they work on unless a setting says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adaptive_rag.errors import import_extra
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.text.redaction import redact, redact_all

# OpenTelemetry's attribute for the type of an error. The message of the error may contain the question.
_KIND = "exception.type"


def trace_to_collector(settings: ServerSettings) -> Callable[[], object]:
    """Send traces to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names; return a function that stops it.

    Raises:
        MissingExtraError: a package of the extra `tracing` is not installed.
    """
    purpose = "server.trace"
    exporter = import_extra(
        "opentelemetry.exporter.otlp.proto.http.trace_exporter", extra="tracing", purpose=purpose
    )
    export = import_extra("opentelemetry.sdk.trace.export", extra="tracing", purpose=purpose)
    sdk = import_extra("opentelemetry.sdk.trace", extra="tracing", purpose=purpose)
    resources = import_extra("opentelemetry.sdk.resources", extra="tracing", purpose=purpose)
    instrument = import_extra("openinference.instrumentation.langchain", extra="tracing", purpose=purpose)
    openinference = import_extra("openinference.instrumentation", extra="tracing", purpose=purpose)
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": "adaptive-rag"}))
    hidden = not settings.trace_contents
    collector = exporter.OTLPSpanExporter()
    send = collector.export
    collector.export = lambda spans: send([_shown(span, sdk, hidden=hidden) for span in spans])
    provider.add_span_processor(export.BatchSpanProcessor(collector))
    config = openinference.TraceConfig(
        hide_inputs=hidden,
        hide_outputs=hidden,
        hide_prompts=hidden,
        hide_choices=hidden,
        hide_retrieval_documents=hidden,
        hide_llm_invocation_parameters=hidden,
        hide_embedding_vectors=True,
    )
    instrumentor = instrument.LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider, config=config)

    def end() -> None:
        instrumentor.uninstrument()
        provider.shutdown()

    return end


def _shown(span: Any, sdk: Any, *, hidden: bool) -> Any:
    """Return a span without secrets that a server may repeat; if `hidden`, errors have only their type."""
    errors = [dict(event.attributes or {}) for event in span.events]
    if hidden:
        errors = [{_KIND: error[_KIND]} if _KIND in error else {} for error in errors]
    events = [
        sdk.Event(event.name, redact_all(error), event.timestamp)
        for event, error in zip(span.events, errors, strict=True)
    ]
    said = None if hidden or not span.status.description else redact(span.status.description)
    return sdk.ReadableSpan(
        span.name,
        span.context,
        span.parent,
        span.resource,
        redact_all(dict(span.attributes or {})),
        events,
        span.links,
        span.kind,
        status=type(span.status)(span.status.status_code, said),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
