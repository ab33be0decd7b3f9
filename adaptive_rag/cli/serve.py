"""`adaptive-rag serve`: answer over HTTP, for browsers, for programs and for a team."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Annotated

from typer import Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_note

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
            help="Start with the sample documents; without --data they are deleted at the end.",
        ),
    ] = False,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="With --demo: open the page in a browser.")
    ] = True,
    model: options.Model = None,
    assignments: options.Assignments = None,
    logs: Annotated[bool, Option("--logs", help="Log each request as a line of JSON.")] = False,
) -> None:
    """Serve the web page and the APIs, only to this machine until there are users.

    Exits 0 after SIGTERM or Ctrl-C.
    """
    settings = options.collect_settings(assignments, model=model)
    with ExitStack() as stack:
        if demo and data is None:
            data = Path(stack.enter_context(TemporaryDirectory(prefix="adaptive-rag-demo-")))
        server = options.server_settings(host=host, port=port, data=data)
        from adaptive_rag.server.app import build_app
        from adaptive_rag.server.process import listen, lock_data_folder, run
        from adaptive_rag.server.requests import log_as_json, log_as_text
        from adaptive_rag.server.tracing import trace_to_collector

        (log_as_json if logs else log_as_text)()
        stack.enter_context(lock_data_folder(server))
        place = stack.enter_context(listen(server))
        if server.trace:
            stack.callback(trace_to_collector(server))
        app = build_app(server, settings)
        if demo:
            from adaptive_rag.context import make_context
            from adaptive_rag.server.demo import add_samples

            print_note("Indexing the sample documents of a coastal town")
            add_samples(server, make_context(settings))
        run(
            app,
            server,
            place,
            on_ready=lambda: _announce(server, place, demo=demo, browser=browser),
            on_stop=lambda: print_note("Stopping; a second Ctrl-C quits at once"),
        )


def _announce(server: ServerSettings, place: socket, *, demo: bool, browser: bool) -> None:
    from adaptive_rag.text.addresses import is_loopback

    host = f"[{server.host}]" if ":" in server.host else server.host
    address = f"http://{host}:{place.getsockname()[1]}"
    print_note(f"Adaptive RAG answers at {address} (Ctrl-C stops it); open it in a browser")
    print_note(f"Programs: {address}/api/v1, described at {address}/api/openapi.json")
    if demo and browser and is_loopback(server.host) and _has_desktop():
        # In a thread, because `open` may wait for the browser, which waits for the server.
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_desktop() -> bool:
    """Return whether there is a screen; without one, a text browser would take over the terminal."""
    has_screen = sys.platform in ("darwin", "win32") or bool(
        {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    )
    return has_screen and sys.stdout.isatty() and "SSH_CONNECTION" not in os.environ
