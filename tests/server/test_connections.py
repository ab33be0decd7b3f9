"""Nobody keeps others out by opening connections, or by sending what never ends."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from adaptive_rag.server import connections
from adaptive_rag.server.api import uploads
from adaptive_rag.server.app import build_app
from adaptive_rag.server.connections import PROXY_FACTOR, ConnectionSlots, connection_class
from adaptive_rag.server.settings import read_server_settings
from tests.server.processes import listening, running, wait_for

UNFINISHED = b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
UPLOAD = (
    b"POST /api/v1/collections/samples/documents HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 100000\r\n\r\n--x\r\n"
)


def ask_from(address: str, url: str) -> int:
    with httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=20) as client:
        return client.get(url).status_code


@pytest.mark.nightly
def test_1100_unfinished_requests_of_an_address_leave_the_server_to_others(tmp_path: Path) -> None:
    with running(tmp_path, most_files=1024) as server, ExitStack() as stack:
        port = server.http.base_url.port
        for _ in range(1100):
            attacker = stack.enter_context(socket.create_connection(("127.0.0.1", port or 0), 5))
            try:
                attacker.sendall(UNFINISHED)
            except ConnectionError:  # refused already
                continue
        assert ask_from("127.0.0.2", f"http://localhost:{port}/healthz") == 200
        assert ask_from("127.0.0.2", f"http://localhost:{port}/api/v1/collections") == 200


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve by real connections in a thread, with short patience and three connections for an address."""
    monkeypatch.setattr(connections, "SECONDS_TO_ASK", 0.5)
    monkeypatch.setattr(uploads, "SECONDS_TO_BEGIN", 0.5)
    settings = read_server_settings(data=tmp_path / "data", workers=0, max_connections=3)
    with listening(build_app(settings, {}), http=connection_class(settings)) as address:
        yield int(address.rpartition(":")[2])


def read_all(connection: socket.socket) -> bytes:
    """Read until the server ends the connection."""
    came = b""
    while part := connection.recv(10_000):
        came += part
    return came


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: localh", b"HTTP/1.1 408 "),
        (UPLOAD, b"HTTP/1.1 408 "),
        # the body that is still owed after an answer
        (UPLOAD.replace(b"samples", b"nothing"), b"HTTP/1.1 404 "),
    ],
    ids=["silence", "headers", "upload", "the rest of a body"],
)
def test_what_does_not_come_to_its_end_is_ended(port: int, sent: bytes, answer: bytes) -> None:
    httpx.post(f"http://localhost:{port}/api/v1/collections", json={"name": "samples"}).raise_for_status()
    ended = threading.Event()
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.sendall(sent)

        def trickle() -> None:
            while sent and not ended.wait(0.1):
                try:
                    connection.sendall(b"a")
                except OSError:
                    return

        trickling = threading.Thread(target=trickle)
        trickling.start()
        try:
            assert read_all(connection).startswith(answer)
        except ConnectionResetError:  # what came after the answer was never read
            assert answer
        finally:
            ended.set()
            trickling.join()


@pytest.mark.parametrize(
    "path", ["/healthz", "/api/v1/collections", "/api/v1/collections/a/documents", "/mcp"]
)
@pytest.mark.parametrize("host", ["localhost", "elsewhere.example"])
def test_a_request_whose_length_is_said_in_two_ways_is_refused_and_nothing_follows_it(
    port: int, path: str, host: str
) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    both = f"{head}Content-Length: {5 + len(hidden)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.sendall(both.encode())
        answered = read_all(connection)
    assert answered.startswith(b"HTTP/1.1 400 ") and answered.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answered.lower()


def test_a_long_answer_and_a_next_request_on_one_connection_are_no_late_ones(port: int) -> None:
    with httpx.Client(base_url=f"http://localhost:{port}", timeout=20) as client:
        for _ in range(4):
            assert client.get("/healthz").status_code == 200
            time.sleep(0.3)


def test_an_address_has_its_connections_again_when_others_end(port: int) -> None:
    url = f"http://localhost:{port}/healthz"
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)) for _ in range(4)]
        for connection in held[:3]:
            connection.sendall(UNFINISHED)
        assert held[3].recv(100).startswith(b"HTTP/1.1 429 ")
        assert ask_from("127.0.0.2", url) == 200
        held[0].close()
        wait_for(lambda: ask_from("127.0.0.1", url) == 200, "the place is free again", 20)


def test_a_trusted_proxy_has_room_for_many_people_and_all_together_have_an_end() -> None:
    slots = ConnectionSlots(2, ["10.0.0.0/8"], 2 * PROXY_FACTOR + 1)
    assert [slots.acquire("10.1.2.3") for _ in range(2 * PROXY_FACTOR)] == [None] * 2 * PROXY_FACTOR
    assert slots.acquire("10.1.2.3") == "429 Too Many Requests"
    assert slots.acquire("192.0.2.1") is None
    assert slots.acquire("192.0.2.2") == "503 Service Unavailable"
    slots.release("192.0.2.1")
    assert slots.acquire("192.0.2.2") is None
