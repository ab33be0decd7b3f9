"""A chat model's server that repeats what it was sent, with the key and the password, in every way it can."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

KEY = "planted-key-7f3a9c51e2"
PASSWORD = "planted-pass/4b8d"
STATUSES = {"401": 401, "500": 500, "header": 500}


def forms_of(secret: str) -> list[str]:
    """Return a secret as it may come back: as it is, in an address, and as a name and password are sent."""
    sent = [f"planted:{secret}", quote(secret, safe=""), f"adaptive-rag:{secret}"]
    return [secret, quote(secret, safe=""), *(base64.b64encode(each.encode()).decode() for each in sent)]


class EchoServer(ThreadingHTTPServer):
    """Repeats each request in an error, a header or a reply, by its `fault`; it collects traces too."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fault = "401"
        self.traces: list[bytes] = []

    @property
    def collector(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def address(self) -> str:
        return f"http://planted:{quote(PASSWORD, safe='')}@127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: EchoServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces":
            self.server.traces.append(body)
            self._send(200, "")
            return
        fault, given = self.server.fault, json.loads(body)
        sent = f"key {KEY}, password {PASSWORD}, headers {dict(self.headers)}, body {given}"
        if status := STATUSES.get(fault):
            said = "Failed." if fault == "header" else f"Refused: {sent}"
            self._send(status, json.dumps({"error": {"message": said, "code": said}}), sent)
        elif fault == "not json":
            self._send(200, f"<html>{sent}</html>", sent)
        elif given.get("stream"):
            pieces = [sent] if fault == "reply" else [sent[i : i + 3] for i in range(0, len(sent), 3)]
            pieces.append(" The sea wall of Saltmere is 2,340 metres long and 4.1 metres high [1].")
            head = {"id": "x", "model": "m", "object": "chat.completion.chunk", "created": 1}
            chunks = [{**head, "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
            lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
            self._send(200, lines + "data: [DONE]\n\n", sent, "text/event-stream")
        else:
            message = {"role": "assistant", "content": json.dumps({"queries": [sent], "type": sent})}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            reply = {"id": "x", "model": "m", "object": "chat.completion", "created": 1, "choices": [choice]}
            self._send(200, json.dumps(reply), sent)

    def _send(self, status: int, text: str, sent: str = "", kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.send_header("X-Echo", sent.replace("\n", " ")[:2000])
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None: ...


@contextmanager
def echoing() -> Iterator[EchoServer]:
    """Run such a server."""
    with EchoServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()
