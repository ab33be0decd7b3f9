"""A real S3 server on this machine, and a network before it that a test can spoil."""

import asyncio
import json
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from obstore.store import S3Store

PORTS = ("master", "volume", "filer", "s3")
IDENTITIES = {
    "identities": [
        {"name": name, "credentials": [{"accessKey": name, "secretKey": "secret"}], "actions": actions}
        for name, actions in {"writer": ["Admin"], "reader": ["Read", "List"]}.items()
    ]
}
READY_SECONDS = 60


@contextmanager
def serving_s3(folder: Path, volumes: int = 20) -> Iterator[int]:
    """Serve the bucket "wiki" from a folder, and yield the port."""
    (folder / "identities.json").write_text(json.dumps(IDENTITIES))
    free = free_ports(2 * len(PORTS))
    ports, internal = zip(PORTS, free[::2], strict=True), zip(PORTS, free[1::2], strict=True)
    options = ["-filer", "-s3", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
    options += [f"-{name}.port={port}" for name, port in ports]
    options += [f"-{name}.port.grpc={port}" for name, port in internal]
    options += [f"-{name}.localSocket={folder / name}.sock" for name in ("filer", "s3")]
    options += [
        "-master.volumeSizeLimitMB=64",
        f"-volume.max={volumes}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
    ]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            ["weed", "server", f"-dir={folder}", f"-s3.config={folder / 'identities.json'}", *options],
            stdout=log,
            stderr=log,
        )
        try:
            _wait_for(free[-2], server)
            # a bucket is made by the first write into it
            place = S3Store(
                "wiki",
                endpoint=f"http://127.0.0.1:{free[-2]}",
                client_options={"allow_http": True},
                access_key_id="writer",
                secret_access_key="secret",
            )
            place.put("made", b"")
            yield free[-2]
        finally:
            server.kill()
            server.wait()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5)
        except urllib.error.HTTPError:
            return  # it answers, and refuses who gives no name
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the S3 server did not start")


class Network:
    """Passes requests on to a server; `fault` says what becomes of each, by its first line."""

    def __init__(self, server_port: int) -> None:
        self.port = 0
        self.asked: list[str] = []
        self.seconds = 0.0
        self._server_port = server_port

    def fault(self, line: str) -> str:
        """Return "" for a request that is passed on, or "drop", "cut", "mute", or an answer's code."""
        return ""

    def answered(self, line: str) -> None:
        """Hear of a request that the server has answered, before the answer is sent on."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head, body = await _message(reader)
                line = head.split(b"\r\n", 1)[0].decode()
                self.asked.append(line)
                await asyncio.sleep(self.seconds)
                fault = self.fault(line)
                if fault == "drop":
                    break
                if fault not in ("", "cut", "mute"):
                    text = f"<Error><Code>{fault}</Code></Error>"
                    sent = f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(text)}\r\n\r\n{text}"
                    writer.write(sent.encode())
                    await writer.drain()
                    continue
                there, back = await asyncio.open_connection("127.0.0.1", self._server_port)
                back.write(head + body)
                answer, content = await _message(there, empty=line.startswith("HEAD "))
                back.close()
                self.answered(line)
                if fault == "mute":
                    break
                writer.write(answer + content[: len(content) // 2 if fault == "cut" else None])
                await writer.drain()
                if fault == "cut":
                    break
        writer.close()


async def _message(reader: asyncio.StreamReader, *, empty: bool = False) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    if empty:
        return head, b""
    if fields.get(b"transfer-encoding") == b"chunked":
        body = b""
        while not body.endswith(b"0\r\n\r\n"):
            body += await reader.readuntil(b"\r\n")
        return head, body
    return head, await reader.readexactly(int(fields.get(b"content-length", 0)))


@contextmanager
def network_before(server_port: int) -> Iterator[Network]:
    """Put a network before a server."""
    network, loop = Network(server_port), asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(network._serve, "127.0.0.1", 0))
    network.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield network
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for connection in asyncio.all_tasks(loop):
            connection.cancel()
            loop.run_until_complete(connection)
