import asyncio
import socket
import threading
from typing import Any

import pytest

from benchmarks.chat_server import ChatServer

REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("turns", range(8))
def test_it_stops_at_every_turn_of_its_loop_after_an_answer(turns: int) -> None:
    """A client keeps its connection open while the server, `turns` turns after answering, is told to stop."""
    told = threading.Event()

    def stop_after(left: int, serving: set[asyncio.Task[Any]]) -> None:
        if left:
            asyncio.get_running_loop().call_soon(stop_after, left - 1, serving)
            return
        for task in serving:
            task.cancel()
        told.set()

    async def answer(writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        stop_after(turns + 1, asyncio.all_tasks() - {asyncio.current_task()})  # type: ignore[arg-type]
        return True

    with (
        ChatServer(behave=lambda number, body: answer) as server,
        socket.create_connection(("127.0.0.1", server.port)) as client,
    ):
        client.sendall(REQUEST)
        assert told.wait(10)
        client.settimeout(10)
        while client.recv(1024):
            pass  # until the server closes the connection
