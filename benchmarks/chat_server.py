"""A chat server with OpenAI's protocol and scripted behaviour, for measurements and for tests of failures.

It answers every request after a fixed time. A request with a JSON schema gets values that fit it, any other
request a short answer that cites passages. A `behave` function can make any request fail in the ways in which
real servers fail. The server listens on the loopback address and runs in its own thread.

    python -m benchmarks.chat_server --seconds 0.3 --port 8123
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from adaptive_rag.text.markers import write_marker

Behaviour = Literal[
    "answer",
    "hang",  # never answers
    "hang midway",  # streams one word, then nothing
    "reset",  # closes the connection before answering
    "reset midway",  # streams two words, then closes the connection
    "429",  # too many requests, come back in `retry_after` seconds
    "500",
    "not json",  # HTTP 200 whose body is no JSON
    "garbage",  # a reply that does not fit any form
    "empty",  # a reply without text
    "too long",  # the context length is exceeded
    "wrong key",
    "unknown model",
    "no schema",  # refuses response_format, as older servers do
]
# Writes any bytes as the response, and returns whether the connection stays open.
Wire: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[bool]]

WORDS = "The first passage answers this [1]. The second one agrees with it [2]."


@dataclass
class Request:
    """One request that reached the server."""

    path: str
    body: dict[str, Any]
    received: float  # `time.monotonic` of its arrival
    headers: dict[str, str] = field(default_factory=dict)
    # whether the client disconnected before it had its answer
    abandoned: bool = False


@dataclass
class ChatServer:
    """A server that listens on the loopback address during its `with` block."""

    seconds: float = 0.0
    behave: Callable[[int, dict[str, Any]], Behaviour | Wire] = lambda number, body: "answer"
    say: Callable[[dict[str, Any]], str] | None = None
    retry_after: float | None = None
    word_seconds: float = 0.0
    port: int = 0
    requests: list[Request] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def url(self) -> str:
        """The address for clients: `models.base_url`, or OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> list[Request]:
        """The chat requests so far, in order."""
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=512)

    async def _stop(self) -> None:
        self._server.close()
        # In a loop, because a connection that was just accepted starts its task after the others have ended.
        while remaining := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in remaining:
                task.cancel()
            await asyncio.wait(remaining)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        request = Request(path, body, time.monotonic(), headers)
        self.requests.append(request)
        if path.endswith("/models"):
            _send(writer, 200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            return True
        answering = asyncio.ensure_future(self._answer(request, writer))
        # A client that disconnects interrupts the answer. Reading the exception here keeps it out of the log.
        answering.add_done_callback(lambda task: task.cancelled() or task.exception())
        # The client sends nothing before it has the answer: if a read ends now, the client has disconnected.
        disconnecting = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({answering, disconnecting}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answering.cancel()
            disconnecting.cancel()
            raise
        if not answering.done():
            request.abandoned = True
            answering.cancel()
            return False
        disconnecting.cancel()
        # Not `await disconnecting`: that could not tell its cancellation from that of this task.
        await asyncio.wait({disconnecting})
        return answering.result()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        body = request.body
        behaviour = self.behave(len(self.calls), body)
        if callable(behaviour):
            with contextlib.suppress(ConnectionError):
                return await behaviour(writer)
            return False
        if behaviour == "hang":
            await asyncio.sleep(3600)
        await asyncio.sleep(self.seconds)
        if behaviour == "reset":
            writer.transport.abort()
            return False
        if behaviour == "not json":
            _send(writer, 200, "<html>It works!</html>")
            return True
        if behaviour in _ERRORS and (behaviour != "no schema" or "response_format" in body):
            status, error = _ERRORS[behaviour]
            extra = {"Retry-After": f"{self.retry_after:g}"} if self.retry_after is not None else {}
            _send(writer, status, {"error": error}, extra if status == 429 else {})
            return True
        text = {"garbage": "Hmm, {let me see] ...", "empty": ""}.get(behaviour)
        if text is None:
            text = self.say(body) if self.say else say_sensibly(body)
        if body.get("stream"):
            return await self._stream(text, behaviour, body, writer)
        usage = _usage(body, text)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        _send(writer, 200, {**_envelope(body, "chat.completion"), "choices": [choice], "usage": usage})
        return True

    async def _stream(
        self, text: str, behaviour: Behaviour, body: dict[str, Any], writer: asyncio.StreamWriter
    ) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        envelope = _envelope(body, "chat.completion.chunk")
        for number, word in enumerate(text.split(" ")):
            if number == 1 and behaviour == "hang midway":
                await asyncio.sleep(3600)
            if number == 2 and behaviour == "reset midway":
                await writer.drain()
                writer.transport.abort()
                return False
            delta = {"role": "assistant", "content": (" " if number else "") + word}
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            _event(writer, {**envelope, "choices": [choice]})
            await writer.drain()
            await asyncio.sleep(self.word_seconds)
        _event(writer, {**envelope, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            _event(writer, {**envelope, "choices": [], "usage": _usage(body, text)})
        _event(writer, "[DONE]")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


_ERRORS: dict[str, tuple[int, dict[str, Any]]] = {
    "429": (429, {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}),
    "500": (500, {"message": "The server had an error", "type": "server_error", "code": None}),
    "too long": (
        400,
        {
            "message": "This model's maximum context length is 2048 tokens, your messages have 5000.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        },
    ),
    "wrong key": (
        401,
        {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"},
    ),
    "unknown model": (
        404,
        {"message": "The model does not exist", "type": "invalid_request_error", "code": "model_not_found"},
    ),
    "no schema": (
        400,
        {"message": "response_format is not supported", "type": "invalid_request_error", "code": None},
    ),
}


def say_sensibly(body: dict[str, Any]) -> str:
    """Return a reply that fits the request's JSON schema or, without one, an answer in free text."""
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    prompt = body["messages"][-1]["content"]
    if schema is None:
        return quote_passages(prompt)
    question = next(
        (line[10:] for line in reversed(prompt.splitlines()) if line.startswith("Question: ")), "it"
    )
    properties = schema["properties"]
    return json.dumps({name: _fill_in(part, name, question) for name, part in properties.items()})


def quote_passages(prompt: str, limit: int = 2) -> str:
    """Answer with a sentence of each of the first passages, so that the passages support the answer."""
    passages = re.findall(r'<passage n="(\d+)"[^>]*>\n\| ([^\n]+)', prompt)[:limit]
    sentences = [(n, re.split(r"(?<=[.!?])\s", line)[0].rstrip(". ")) for n, line in passages]
    return " ".join(f"{sentence} {write_marker(int(n))}." for n, sentence in sentences) or WORDS


def _fill_in(schema: dict[str, Any], name: str, question: str) -> Any:
    """Return a value that fits the schema of a property."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "array":
        count = schema.get("minItems", 3)
        if schema["items"]["type"] == "string":
            return [f"{question} ({name} {number})" for number in range(1, count + 1)]
        highest = schema["items"].get("maximum", 10)
        return [max(1, min(highest, count - position)) for position in range(count)]
    return question if name != "reason" else "it reads so"


def _envelope(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{time.time_ns()}", "object": kind, "created": 0, "model": body.get("model", "")}


def _usage(body: dict[str, Any], text: str) -> dict[str, int]:
    read = sum(len(str(message["content"]).split()) for message in body["messages"])
    written = len(text.split())
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _send(
    writer: asyncio.StreamWriter, status: int, body: Any, headers: dict[str, str] | None = None
) -> None:
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = [f"HTTP/1.1 {status} -", "Content-Type: application/json", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + data)


def _event(writer: asyncio.StreamWriter, body: Any) -> None:
    data = f"data: {body if isinstance(body, str) else json.dumps(body)}\n\n".encode()
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.3, help="time before each answer")
    parser.add_argument("--port", type=int, default=8123)
    arguments = parser.parse_args()
    with ChatServer(seconds=arguments.seconds, port=arguments.port) as server:
        print(f"serving {server.url} (set OPENAI_BASE_URL to it); Ctrl-C ends", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
