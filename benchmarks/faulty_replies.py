"""Ask a question with a chat server or a model that fails in some way, and check what comes back.

    python -m benchmarks.faulty_replies [--deadline 2] [--only NAME]

Each fault is tried with `invoke`, `ainvoke`, `stream`, `astream` and the shell. A fault passes if

- the question ends within a second after its deadline, with the answer that is made without a model;
- no error text and no form is shown as the answer;
- there are no more calls than `budget.max_llm_calls`;
- the event loop is never blocked;
- the trace gives the reason.

The pauses before repeated calls last a millisecond here.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import itertools
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from typer import Exit

from adaptive_rag.cli.output import reporting_errors
from adaptive_rag.cli.session import show_answer
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.llm import exchange, structured
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.testing import ScriptedChatModel
from benchmarks.chat_server import ChatServer, Wire, say_sensibly

QUESTION = "How long is the sea wall of Saltmere?"
DOCUMENTS = [
    "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high. It was finished in 1968.",
    "Saltmere was founded in 1142 by a group of herring fishers. The first chapel was built in 1160.",
    "The storm of 11 January 1978 overtopped the sea wall and flooded 214 houses in Quay Street.",
    "Dredging the harbour lets stronger waves reach the marsh, and the marsh loses a metre a year.",
    "The hotel owners argue that building works on the sea wall would ruin two summers of trade.",
    "The library of Saltmere is open from Tuesday to Saturday and lends out tide tables.",
]
MODES = ("invoke", "ainvoke", "stream", "astream", "shell")
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Fault:
    """One way in which a reply can be wrong."""

    name: str
    # what the server sends, or the text of its reply, or a model in place of a server
    wire: Wire | None = None
    text: str | None = None
    model: Callable[[], BaseChatModel] | None = None
    # whether the reply may be used, because the fault does not affect the answer
    usable: bool = False
    # whether it must be raised, because only the user can correct it
    raised: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of one question."""

    fault: str
    mode: str
    seconds: float
    problems: tuple[str, ...]
    # why the answer is not the model's, according to the trace
    reason: str = ""


# --- what a server sends ---


def send(data: bytes) -> Wire:
    """Send these bytes and close the connection."""

    async def wire(writer: asyncio.StreamWriter) -> bool:
        for start in range(0, len(data), 65_536):
            writer.write(data[start : start + 65_536])
            await writer.drain()
        return False

    return wire


def reply(body: Any, status: str = "200 OK", kind: str = "application/json", **headers: str) -> Wire:
    """Send one HTTP response; a body that is neither text nor bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return send("\r\n".join([*lines, "Connection: close", "", ""]).encode() + data)


def completion(message: Any, **fields: Any) -> Wire:
    """Send a completion in OpenAI's form around any message, with further fields."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    envelope = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return reply({**envelope, **fields})


def events(*deltas: Any, end: str = "data: [DONE]\n\n") -> Wire:
    """Send a stream of events in OpenAI's form around any deltas."""
    lines = []
    for delta in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        envelope = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        lines.append(f"data: {json.dumps({**envelope, 'choices': [choice]})}\n\n")
    return reply("".join(lines) + end, kind="text/event-stream")


def endless(piece: bytes, pause: float = 0.0, kind: str = "text/event-stream", head: bytes = b"") -> Wire:
    """Send a piece again and again until the client disconnects."""

    async def wire(writer: asyncio.StreamWriter) -> bool:
        writer.write(head or f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode())
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return wire


def error(status: str, body: Any = "", **headers: str) -> Wire:
    """Send an error in OpenAI's form."""
    return reply(
        body or {"error": {"message": f"it is {status}", "type": "x", "code": None}}, status, **headers
    )


async def hang(writer: asyncio.StreamWriter) -> bool:
    """Send nothing for an hour."""
    await asyncio.sleep(3600)
    return False


async def reset(writer: asyncio.StreamWriter) -> bool:
    """Break the connection."""
    writer.transport.abort()
    return False


GOOD = "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high [1]."
EVENT = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"m",'
    b'"choices":[{"index":0,"delta":%s}]}\n\n'
)
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90000000\r\n\r\n"
PAGE = "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"

# Name -> text of a reply that is no usable answer.
TEXTS: dict[str, str] = {
    "nothing": "",
    "thoughts alone": "<think>The wall is long.</think>",
    "a list in lists": "[[[[1]]]]",
    "8,000 opening brackets": "[" * 8000,
    "2,000 objects in each other": '{"a":' * 2000 + "1" + "}" * 2000,
    "8,000 quotation marks": '"' * 8000,
    "8,000 blanks after a number": "1" + " " * 8000 + "x",
    "8,000 asterisks": "*" * 8000 + "1",
    "2,700 sentences": "A. " * 2700,
    "2,600 markers that never close": "[1," * 2600,
    "not a number": '{"scores": [NaN, NaN, NaN, NaN], "query": NaN}',
    "infinity": '{"scores": [1e999, -1e999], "query": Infinity}',
    "a number of 6,000 digits": '{"scores": [1' + "0" * 6000 + "]}",
    "half a character": '{"query": "sea wall \\ud800", "scores": ["\\udfff"]}',
    "NUL": "\0" * 50,
    "escape sequences": "\x1b[2J\x1b]0;owned\x07",
    "null": "null",
    "an empty object": "{}",
    "an error as JSON": '{"error": {"message": "overloaded", "type": "server_error"}}',
    "an error as text": "Error: rate limit exceeded, try again later.",
    "the words of a server error": "Internal Server Error",
    "a page": PAGE,
    "a tool call as text": '<tool_call>{"name": "search", "arguments": {}}</tool_call>',
    "JSON of a form of its own": json.dumps({"result": {"text": GOOD}}),
    "a refusal": "I'm sorry, but I can't help with that.",
    "the pirates": "All systems were taken over by the pirates.",
    "questions alone": "What is a wall? Which wall?",
    "a marker alone": "[1]",
    "unknown markers alone": "[77] [78]",
    "10 MB of brackets": "[" * (10 * MEGABYTE),
}
# Name -> response of a server.
WIRES: dict[str, Wire] = {
    "hangs": hang,
    "resets": reset,
    "closes at once": send(b""),
    "garbage instead of HTTP": send(b"\x16\x03\x01\x02\x00\x01\x00garbage\r\n\r\n"),
    "a header of 1 MB": send(b"HTTP/1.1 200 OK\r\nX: " + b"x" * MEGABYTE + b"\r\n\r\n"),
    "headers without end": endless(b"X-A: b\r\n", head=b"HTTP/1.1 200 OK\r\n"),
    "400": error("400 Bad Request"),
    "429": error("429 Too Many Requests"),
    "429 for an hour": error("429 Too Many Requests", Retry_After="3600"),
    "500": error("500 Internal Server Error"),
    "500 as a page": error("500 Internal Server Error", PAGE),
    "500 with 10 MB": error("500 Internal Server Error", "x" * (10 * MEGABYTE)),
    "600": error("600 Beyond"),
    "304": send(b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n"),
    "an empty body": reply(""),
    "a page with status 200": reply(PAGE, kind="text/html"),
    "a JSON list": reply([]),
    "a JSON null": reply("null"),
    "100,000 brackets as the body": reply("[" * 100_000),
    "a body in trickles": endless(b" ", 0.02, head=JSON_HEAD),
    "10 MB of body": reply(b" " * (10 * MEGABYTE)),
    "a body without end": endless(b" " * 65_536, kind="application/json"),
    "a body of wrong chunks": send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
    "a gzip bomb": reply(zlib.compress(b" " * (50 * MEGABYTE), wbits=31), Content_Encoding="gzip"),
    "an encoding nobody asked for": reply(b"x", Content_Encoding="zstd"),
    "no choices": reply({"id": "c", "object": "chat.completion"}),
    "choices that are none": reply({"id": "c", "object": "chat.completion", "choices": []}),
    "an error with status 200": reply({"error": {"message": "overloaded", "code": 500}}),
    "a message of null": completion(None),
    "content that is an object": completion({"role": "assistant", "content": {"a": 1}}),
    "a refusal in its field": completion({"role": "assistant", "content": None, "refusal": "No."}),
    "tool calls of 8,000 quotation marks": completion(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": '"' * 8000}}
            ],
        }
    ),
    "events without end": endless(EVENT % b'{"content": "word "}'),
    "a line without end": endless(b"data: " + b"x" * 65_000),
    "events in trickles": endless(EVENT % b'{"content": "word "}', 0.05),
    "events that are no JSON": reply("data: {oops\n\n", kind="text/event-stream"),
    "an error as an event": reply('data: {"error": {"message": "overloaded"}}\n\n', kind="text/event-stream"),
    "events with strange content": events({"role": "assistant", "content": {"a": 1}}),
    "events without an end": events({"role": "assistant", "content": "The"}, end=""),
}
# Responses with a good answer in a faulty envelope.
USABLE: dict[str, Wire] = {
    "usage of texts": completion({"role": "assistant", "content": GOOD}, usage={"prompt_tokens": "many"}),
    "usage below zero": completion(
        {"role": "assistant", "content": GOOD},
        usage={"prompt_tokens": -5, "completion_tokens": -1, "total_tokens": -6},
    ),
    "no role": completion({"content": GOOD}),
}
REDIRECT = send(
    b"HTTP/1.1 307 Moved\r\nLocation: /v1/chat/completions\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
# Responses that only the user can do something about.
RAISED: dict[str, Wire] = {"401": error("401 Unauthorized"), "404": error("404 Not Found")}


# --- models that fail by themselves ---


class HangingModel(BaseChatModel):
    """A model that never answers and has no asynchronous methods."""

    @property
    def _llm_type(self) -> str:
        return "stubborn"

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        time.sleep(3600)
        return ChatResult(generations=[])


class StreamingModel(HangingModel):
    """A model that streams the same message again and again."""

    piece: Any = None
    count: int = 10**9

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("no form"))])

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for _ in range(self.count):
            yield ChatGenerationChunk(message=self.piece)


class OneMessageModel(HangingModel):
    """A model that returns one message without streaming."""

    message: Any = None

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.message)])


def model_that_raises(error: BaseException) -> Callable[[], BaseChatModel]:
    """Return a factory of models that raise an error at every call."""
    return lambda: ScriptedChatModel(script=lambda step, messages: error)


def nest(depth: int) -> dict[str, Any]:
    """Return an object that holds an object, and so on to the given depth."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def _tool_call(arguments: dict[str, Any]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "f", "args": arguments, "id": "1"}])


MODELS: dict[str, Callable[[], BaseChatModel]] = {
    "a model that hangs": lambda: ScriptedChatModel(seconds=3600),
    "a model that holds its thread": HangingModel,
    "a model that streams nothing": lambda: StreamingModel(piece=AIMessageChunk(""), count=0),
    "a model that streams for ever": lambda: StreamingModel(piece=AIMessageChunk("word ")),
    "a model that streams the user": lambda: StreamingModel(piece=HumanMessageChunk(GOOD), count=1),
    "a model that streams blocks": lambda: StreamingModel(piece=AIMessageChunk([{"type": "image"}]), count=3),
    "a model that says 10 MB": lambda: OneMessageModel(message=AIMessage("[" * (10 * MEGABYTE))),
    "a model that calls a tool deeply": lambda: OneMessageModel(message=_tool_call(nest(300))),
    "a model that calls a tool at length": lambda: OneMessageModel(
        message=_tool_call({"query": "x" * MEGABYTE})
    ),
    "ValueError": model_that_raises(ValueError("nonsense")),
    "RecursionError": model_that_raises(RecursionError("too deep")),
    "MemoryError": model_that_raises(MemoryError()),
    "OSError": model_that_raises(OSError("no route to host")),
    "an error with 1 MB of text": model_that_raises(RuntimeError("x " * (MEGABYTE // 2))),
}


def all_faults() -> list[Fault]:
    """Return every fault of the tables."""
    return [
        *(Fault(f"says {name}", text=text) for name, text in TEXTS.items()),
        *(Fault(f"sends {name}", wire=wire) for name, wire in WIRES.items()),
        *(Fault(f"sends {name}", wire=wire, usable=True) for name, wire in USABLE.items()),
        *(Fault(f"sends {name}", wire=wire, raised=True) for name, wire in RAISED.items()),
        Fault("redirects with 307 for ever", wire=REDIRECT),
        *(Fault(name, model=model) for name, model in MODELS.items()),
    ]


# --- the ways to ask ---


class Bench:
    """One server, and a question that is asked with it in every mode."""

    def __init__(self, server: ChatServer, deadline: float, calls: int = 3, slack: float = 1.0) -> None:
        self.server, self.deadline, self.calls, self.slack = server, deadline, calls, slack
        index = MemoryIndex.from_texts(DOCUMENTS, source="town.txt")
        self.settings: dict[str, Any] = {"index": index, "route": "factual"}
        self.local = AdaptiveRAG(**self.settings).invoke(QUESTION)["answer"]
        self.model, self._numbers = "", itertools.count()
        # The first call of a process loads modules, which must not count as a part of any fault.
        AdaptiveRAG(**self.settings, model="openai:warm", models={"base_url": server.url}).invoke(QUESTION)

    def begin(self) -> None:
        """Reset what earlier faults changed, and let calls be repeated without a pause."""
        structured._refused.clear()
        exchange.BACKOFF = 0.001
        self.server.requests.clear()

    def run(self, fault: Fault, mode: str) -> Outcome:
        """Ask the question, and return what was not as promised."""
        self.begin()
        # Requests that an earlier run gave up may still arrive: a new name tells them from those of this run.
        self.model = f"scripted-{next(self._numbers)}"
        self.server.say = (lambda body: fault.text) if fault.text is not None else say_sensibly
        self.server.behave = lambda number, body: fault.wire or "answer"
        budget = {"deadline_s": self.deadline, "max_llm_calls": self.calls}
        settings = {**self.settings, "budget": budget, "model": f"openai:{self.model}"}
        settings["models"] = {"base_url": self.server.url}
        if fault.model is not None:
            settings["model"] = fault.model()
        started, blocked = time.perf_counter(), 0.0
        raised = ""
        output: Any = {}
        try:
            if mode in ("ainvoke", "astream"):
                output, blocked = asyncio.run(_run_async(AdaptiveRAG(**settings), mode))
            else:
                output = SYNC_MODES[mode](settings)
        except ConfigurationError as error:
            raised = str(error)
        seconds = time.perf_counter() - started
        problems = tuple(self._find_problems(fault, output, raised, seconds, blocked))
        return Outcome(fault.name, mode, seconds, problems, _find_reason(output.get("trace", ())))

    def _find_problems(
        self, fault: Fault, output: Mapping[str, Any], raised: str, seconds: float, blocked: float
    ) -> Iterator[str]:
        if seconds > self.deadline + self.slack:
            yield f"took {seconds:.1f} s"
        if blocked > self.slack:
            yield f"held the event loop for {blocked:.1f} s"
        requests = [request for request in self.server.calls if request.body.get("model") == self.model]
        if len(requests) > self.calls and "redirects" not in fault.name:
            yield f"{len(requests)} requests"
        if bool(raised) != fault.raised:
            yield f"raised {raised!r}" if raised else "raised nothing"
        if raised or fault.raised:
            return
        if "printed" in output:
            printed = " ".join(output["printed"].split())
            if " ".join(self.local.split()) not in printed and not fault.usable:
                yield f"printed {printed[:200]!r}"
            if not fault.usable and "The chat model" not in output["messages"]:
                yield "did not report the failure"
            return
        if output["answer"] != self.local and not (fault.usable and "2,340 metres" in output["answer"]):
            yield f"answered {output['answer'][:100]!r}"
        trace = output["trace"]
        calls = sum(record.get("calls", 0) for record in trace)
        if calls > self.calls:
            yield f"{calls} calls"
        if not fault.usable and not _find_reason(trace):
            yield "the trace does not say why"


def _find_reason(trace: Sequence[Mapping[str, Any]]) -> str:
    """Return why the answer is not the model's."""
    for record in trace:
        for stand_in in record.get("stand_ins", ()):
            if stand_in["skill"] == "generate":
                return str(stand_in["reason"])
        for decision in record.get("decisions", ()):
            if decision["what"] == "answer":
                return str(decision["why"])
    return ""


def _stream(settings: dict[str, Any]) -> Any:
    *drafts, output = AdaptiveRAG(**settings).stream(QUESTION, drafts=True)
    assert all(list(chunk) == ["draft"] for chunk in drafts)
    return output


def _run_in_shell(settings: dict[str, Any]) -> dict[str, str]:
    printed, messages = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(messages):
        try:
            reporting_errors(show_answer)(QUESTION, "", settings)
        except Exit as stop:
            if stop.exit_code:
                raise ConfigurationError(messages.getvalue()) from None
    return {"printed": printed.getvalue(), "messages": messages.getvalue()}


SYNC_MODES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "invoke": lambda settings: AdaptiveRAG(**settings).invoke(QUESTION),
    "stream": _stream,
    "shell": _run_in_shell,
}


async def _run_async(rag: AdaptiveRAG, mode: str) -> tuple[Any, float]:
    """Return the output, and the most processor seconds for which the event loop was blocked."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            # Processor time, so that waiting for other processes does not count.
            before = time.process_time()
            await asyncio.sleep(0.01)
            longest = max(longest, time.process_time() - before)

    ticking = asyncio.create_task(tick())
    if mode == "ainvoke":
        output: Any = await rag.ainvoke(QUESTION)
    else:
        output = [chunk async for chunk in rag.astream(QUESTION)][-1]
    ticking.cancel()
    return output, longest


def main() -> None:
    """Print a table of every fault that did not pass, and the totals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--deadline", type=float, default=2.0)
    parser.add_argument("--only", default="", help="try only faults whose name contains this")
    options = parser.parse_args()
    faults = [fault for fault in all_faults() if options.only in fault.name]
    print("| fault | mode | seconds | not as promised |\n|---|---|--:|---|")
    passed = 0
    slowest = 0.0
    with ChatServer() as server:
        bench = Bench(server, options.deadline)
        for fault in faults:
            for mode in MODES:
                outcome = bench.run(fault, mode)
                passed += not outcome.problems
                slowest = max(slowest, outcome.seconds)
                if outcome.problems:
                    problems = "; ".join(outcome.problems)
                    print(f"| {fault.name} | {mode} | {outcome.seconds:.2f} | {problems} |")
    questions = len(faults) * len(MODES)
    print(
        f"\n{len(faults)} faults, {questions} questions: {passed} passed; the slowest took {slowest:.2f} s."
    )


if __name__ == "__main__":
    main()
