"""Large uploads: the memory and the folder of a server do not grow by them, and others write meanwhile."""

import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from select import select
from typing import Any

import pytest

from adaptive_rag.server.folders import CollectionFolder
from tests.server.conftest import Serve
from tests.server.processes import ServerProcess, running
from tests.server.test_documents import upload

PIECE = b"a" * 65_536
FIVE_GIGABYTES = 5_000_000_000
FORM = b'--x\r\ncontent-disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'


def send(server: ServerProcess, framing: str, most: int) -> tuple[int, bytes]:
    """Send a file piece by piece until the server answers or ends it, or so many bytes are sent.

    Return how many were sent, and the answer, which is lost where the server cuts the connection.
    """
    head = f"POST /api/v1/collections/kills/documents HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n"
    with socket.create_connection(("127.0.0.1", server.http.base_url.port or 0), timeout=60) as connection:
        connection.sendall(f"{head}Content-Type: multipart/form-data; boundary=x\r\n\r\n".encode())
        is_chunked, sent, piece = "chunked" in framing, 0, FORM
        try:
            while sent < most and not select([connection], [], [], 0)[0]:
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
                sent, piece = sent + len(piece), PIECE
            return sent, connection.recv(10_000) if sent < most else b""
        except ConnectionError:
            return sent, b""


def test_an_upload_keeps_nobody_from_writing_while_its_files_are_put_in_place(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(folder: CollectionFolder, *given: Any) -> None:
        with closing(sqlite3.connect(folder.path.parents[1] / "server.sqlite", timeout=0)) as other, other:
            other.execute("UPDATE threads SET title = ''")
        put_in_place(folder, *given)

    put_in_place = CollectionFolder.publish
    monkeypatch.setattr(CollectionFolder, "publish", publish)
    with serve(collection="tides") as client:
        for key in ("monday", "tuesday"):
            assert upload(client, {"ferry.md": key}, **{"Idempotency-Key": key}).status_code == 202


@pytest.mark.nightly
def test_five_gigabytes_are_refused_or_cut_without_memory_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__MAX_UPLOAD_MEGABYTES", "60")
    with running(tmp_path) as server:
        server.http.post("/collections", json={"name": "kills"}).raise_for_status()
        before = server.memory()
        # Told its size, it refuses at once; where a client says nothing, it reads up to the bound.
        declared, said = send(server, f"Content-Length: {FIVE_GIGABYTES}", FIVE_GIGABYTES)
        endless, _ = send(server, "Transfer-Encoding: chunked", FIVE_GIGABYTES)
        cut, _ = send(server, "Transfer-Encoding: chunked", 50_000_000)
        assert declared < 10_000_000 and (said == b"" or b" 413 " in said)
        assert 60_000_000 < endless < 80_000_000 and cut >= 50_000_000
        assert server.memory() - before < 50_000_000
        assert server.http.get("/collections/kills/documents").json()["total"] == 0
        assert [path for path in server.data.rglob("documents/**/*") if path.is_file()] == []
        assert sum(path.stat().st_size for path in server.data.rglob("*") if path.is_file()) < 5_000_000
