"""`adaptive-rag serve`: the same answers over HTTP, for a browser, for programs and for a team."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from typer import Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_note
from adaptive_rag.errors import import_extra

if TYPE_CHECKING:
    from socket import socket

    from adaptive_rag.server.settings import ServerSettings


def serve(
    host: Annotated[
        str | None, Option("--host", help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, Option("--port", "-p", help="Port to listen on.", show_default="8080")
    ] = None,
    data: options.Data = None,
    demo: Annotated[
        bool,
        Option(
            "--demo",
            help="Start with the sample documents, in a folder that vanishes unless --data is given.",
        ),
    ] = False,
    model: options.Model = None,
    settings: options.Settings = None,
    logs: Annotated[bool, Option("--logs", help="Log each request as a line of JSON.")] = False,
) -> None:
    """Answer over HTTP, on this machine alone until there are users. Exits 0 after SIGTERM or Ctrl-C."""
    import_extra("fastapi", extra="server", purpose="adaptive-rag serve")
    import_extra("uvicorn", extra="server", purpose="adaptive-rag serve")
    from adaptive_rag.server.app import build_app
    from adaptive_rag.server.process import listen, owning, run
    from adaptive_rag.server.requests import log_as_json
    from adaptive_rag.server.tracing import trace_to_collector

    given = options.given_settings(settings, model=model)
    if logs:
        log_as_json()
    with ExitStack() as stack:
        if demo and data is None:
            data = Path(stack.enter_context(TemporaryDirectory(prefix="adaptive-rag-demo-")))
        server = options.server_settings(host=host, port=port, data=data)
        stack.enter_context(owning(server))
        place = stack.enter_context(listen(server))
        if server.trace:
            stack.callback(trace_to_collector(server))
        app = build_app(server, given)
        if demo:
            from adaptive_rag.context import make_context
            from adaptive_rag.server.demo import add_samples

            print_note("Indexing the sample documents of a coastal town")
            add_samples(server, make_context(given))
        run(app, server, place, lambda: _announce(server, place, demo=demo))


def _announce(server: ServerSettings, place: socket, *, demo: bool) -> None:
    host = f"[{server.host}]" if ":" in server.host else server.host
    address = f"http://{host}:{place.getsockname()[1]}"
    print_note(f"Adaptive RAG answers at {address} (Ctrl-C stops it)")
    if demo:
        from adaptive_rag.samples import SAMPLE_QUESTIONS
        from adaptive_rag.server.demo import NAME

        print_note(f"What it can do: {address}/api/openapi.json. Ask, for instance:")
        for sample in SAMPLE_QUESTIONS:
            asked = {"question": sample.question, "user_context": sample.user_context or ""}
            body = json.dumps({name: text for name, text in asked.items() if text})
            call = f"curl -s {address}/api/v1/collections/{NAME}/ask -H 'Content-Type: application/json'"
            print_note(f"  {call} -d '{body}'")
