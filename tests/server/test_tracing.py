"""Traces of the steps: they reach a collector, and hold no text unless the operator wants it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tracing import trace_to_collector
from tests.server.conftest import Serve, add_samples

pytest.importorskip("openinference.instrumentation.langchain", reason="the extra tracing is not installed")
QUESTION = {"question": "What is the highest water level ever recorded at Pellhythe?"}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Receive what is sent to a collector."""
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield received
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.few(1)
@pytest.mark.parametrize("contents", [False, True])
def test_traces_name_the_steps_and_hold_texts_only_where_asked(
    serve: Serve, sample_index: Path, collector: list[bytes], contents: bool
) -> None:
    end = trace_to_collector(read_server_settings(trace=True, trace_contents=contents))
    try:
        with serve() as client:
            add_samples(client, sample_index)
            assert client.post("/api/v1/collections/samples/ask", json=QUESTION).status_code == 200
    finally:
        end()
    sent = b"".join(collector)
    assert b"adaptive-rag" in sent
    assert b"classify" in sent
    assert (b"Pellhythe" in sent) is contents
