"""Nobody keeps others out by opening connections, or by sending what never ends."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import product
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from adaptive_rag.server import connections
from adaptive_rag.server.api import uploads
from adaptive_rag.server.app import build_app
from adaptive_rag.server.connections import (
    LINES_PARSED_AT_ONCE,
    PROXY_FACTOR,
    Connection,
    ConnectionSlots,
    connection_class,
)
from adaptive_rag.server.settings import read_server_settings
from tests.server.processes import listening, running, wait_for

SHORT = b"GET /short HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = (
    b"POST /%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
UNFINISHED = b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
UPLOAD = (
    b"POST /api/v1/collections/samples/documents HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 100000\r\n\r\n--x\r\n"
)
FILE = b'Content-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'


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


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: localh", b"HTTP/1.1 408 "),
        # an upload that pauses after it was fast
        (UPLOAD.replace(b"100000", b"5000000") + FILE + b"a" * 2_000_000, b"HTTP/1.1 408 "),
        (UPLOAD, b"HTTP/1.1 408 "),
        # the body that is still owed after an answer
        (UPLOAD.replace(b"samples", b"nothing"), b"HTTP/1.1 404 "),
    ],
    ids=["silence", "headers", "pause", "upload", "the rest of a body"],
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


def test_a_request_whose_length_is_said_in_two_ways_is_refused_and_nothing_follows_it(port: int) -> None:
    paths = ("/healthz", "/api/v1/collections", "/api/v1/collections/a/documents", "/mcp")
    hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    twice = f"Content-Length: {5 + len(hidden)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
    for path, host in product(paths, ("localhost", "elsewhere.example")):
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", port), 20) as connection:
            connection.sendall(f"{head}{twice}".encode())
            answered = read_all(connection)
        assert answered.startswith(b"HTTP/1.1 400 ") and answered.count(b"HTTP/1.1 ") == 1, (path, host)
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


class RecordedTransport(asyncio.Transport):
    """A transport without a socket."""

    def __init__(self) -> None:
        super().__init__()
        self.is_reading, self.sent = True, b""

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)


def test_connections_take_turns_to_parse_and_receive_more_only_when_all_is_parsed(tmp_path: Path) -> None:
    bodies, kept_by_parser = list[tuple[str, int]](), list[int]()
    served = list[Connection]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        kept_by_parser.extend(len(connection.conn.trailing_data[0]) for connection in served)
        bodies.append((scope["path"], len(await Request(scope, receive).body())))
        await Response()(scope, receive, send)

    async def serve() -> list[RecordedTransport]:
        protocol = connection_class(read_server_settings(data=tmp_path, workers=0))
        config, state = uvicorn.Config(app, log_config=None), ServerState()
        transports = [RecordedTransport() for _ in range(3)]
        served.extend(protocol(config, state, {}) for _ in transports)
        for connection, transport in zip(served, transports, strict=True):
            connection.connection_made(transport)
        for name, connection in zip((b"first", b"second"), served, strict=False):
            connection.data_received(CHUNKED % name + b"1\r\nx\r\n" * 40_000)
            connection.data_received(b"0\r\n\r\n" + SHORT * 1000)
        served[2].data_received(SHORT)
        assert [transport.is_reading for transport in transports] == [False, False, True]
        while len(bodies) < 2003:
            await asyncio.sleep(0)
        await asyncio.gather(*state.tasks)
        return transports

    transports = asyncio.run(serve())
    assert bodies[0] == ("/short", 0)
    assert sorted(bodies) == [("/first", 40_000), ("/second", 40_000), *[("/short", 0)] * 2001]
    assert [transport.sent.count(b"HTTP/1.1 200 ") for transport in transports] == [1001, 1001, 1]
    assert all(transport.is_reading for transport in transports)
    assert max(kept_by_parser) < 2 * LINES_PARSED_AT_ONCE * len(SHORT) / 3


def test_what_is_invalid_after_its_answer_has_begun_ends_the_connection(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SECONDS_TO_ASK", 600)
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.sendall(CHUNKED % b"api/v1/collections/nothing/documents" + b"1\r\nx\r\n")
        assert connection.recv(10_000).startswith(b"HTTP/1.1 404 ")
        connection.sendall(b"no length\r\n" * 600)
        with suppress(ConnectionResetError):  # what came after the invalid line was never read
            read_all(connection)
