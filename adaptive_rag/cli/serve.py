"""`adaptive-rag serve`: the same answers over HTTP, for a browser, for programs and for a team."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_note

STOP_SECONDS = 20  # that answers under way may take when the server is stopped


def serve(
    host: Annotated[
        str | None, Option("--host", help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, Option("--port", "-p", help="Port to listen on.", show_default="8080")
    ] = None,
    data: Annotated[
        Path | None,
        Option("--data", help="Folder of what the server keeps.", show_default=".adaptive-rag-server"),
    ] = None,
    model: options.Model = None,
    settings: options.Settings = None,
    logs: Annotated[bool, Option("--logs", help="Log each request as a line of JSON.")] = False,
) -> None:
    """Answer over HTTP, on this machine alone until there are users."""
    from adaptive_rag.errors import import_extra
    from adaptive_rag.text.redaction import redact

    uvicorn = import_extra("uvicorn", extra="server", purpose="adaptive-rag serve")
    import_extra("fastapi", extra="server", purpose="adaptive-rag serve")
    from adaptive_rag.server.app import build_app
    from adaptive_rag.server.requests import log_as_json
    from adaptive_rag.server.settings import read_server_settings
    from adaptive_rag.server.tracing import trace_to_collector

    named = {"host": host, "port": port, "data": data}
    server = read_server_settings(**{name: value for name, value in named.items() if value is not None})
    given = options.given_settings(settings, model=model)
    if logs:
        log_as_json()
    end_traces = trace_to_collector(server) if server.trace else None
    app = build_app(server, given)
    print_note(redact(f"Adaptive RAG answers at http://{server.host}:{server.port} (Ctrl-C stops it)"))
    uvicorn.run(
        app,
        host=server.host,
        port=server.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the app reads them, from proxies that are trusted alone
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    if end_traces:
        end_traces()
