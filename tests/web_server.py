"""A web server on this machine whose pages a test sets."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Headers = dict[str, str]


@dataclass
class Server:
    """A web server whose pages a test sets; it remembers what was asked for."""

    http: ThreadingHTTPServer
    pages: dict[str, tuple[int, Headers, bytes]] = field(default_factory=dict)
    asked: list[tuple[str, Headers]] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.http.server_port

    def encrypt(self, context: ssl.SSLContext) -> None:
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def put(self, path: str, body: str | bytes, kind: str = "text/html", **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = 200, {"Content-Type": kind, **named}, data

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.pages[path] = status, {"Location": to}, b""

    def paths(self) -> list[str]:
        """Return what was asked for since the last call, without robots.txt."""
        asked = [path for path, _ in self.asked if path != "/robots.txt"]
        self.asked.clear()
        return asked


@contextmanager
def serving_pages() -> Iterator[Server]:
    """Serve pages on this machine; those that a test sets, and 404 for all others."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append((self.path, dict(self.headers)))
            status, headers, body = told.pages.get(self.path, (404, {"Content-Type": "text/html"}, b"None"))
            if headers.get("ETag") and self.headers["If-None-Match"] == headers["ETag"]:
                status, body = 304, b""
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told = Server(http)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield told
    finally:
        http.shutdown()
        http.server_close()
