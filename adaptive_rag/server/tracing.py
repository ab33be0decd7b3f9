"""OpenTelemetry traces of the graph's steps; without the texts that they work on, unless asked for."""

from __future__ import annotations

from collections.abc import Callable

from adaptive_rag.errors import import_extra
from adaptive_rag.server.settings import ServerSettings


def trace_to_collector(settings: ServerSettings) -> Callable[[], object]:
    """Send traces to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names; return what ends that.

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
    provider.add_span_processor(export.BatchSpanProcessor(exporter.OTLPSpanExporter()))
    hidden = not settings.trace_contents
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
