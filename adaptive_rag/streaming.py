"""Reads the stream of the graph: the steps, the pieces of a model's draft, and the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.runnables.utils import AddableDict
from langgraph.types import Overwrite

from adaptive_rag.text.redaction import PiecewiseRedactor


class StreamReader:
    """Turns the graph's stream into steps, pieces of a model's draft, and the output."""

    def __init__(self, output_keys: Sequence[str], subgraphs: Set[str]) -> None:
        self._output_keys = output_keys
        self._subgraphs = subgraphs
        # How deep the graph itself is nested, if a node of another graph streams it.
        self._depth: int | None = None
        self._attempt: object = None
        self._running: dict[str, dict[str, Any]] = {}
        self._redactor = PiecewiseRedactor()
        self.output = AddableDict()

    def feed(self, path: tuple[str, ...], mode: str, part: Any) -> Iterator[AddableDict]:
        """Read one part of the graph's stream, and yield what a caller gets for it."""
        if self._depth is None:  # the first part comes from the graph itself
            self._depth = len(path)
        path = path[self._depth :]
        if mode == "messages":
            yield from self._read_message(*part)
        elif mode == "tasks" and part["name"] not in self._subgraphs:
            yield from self._read_task(path, part)
        elif mode == "values" and not path:
            self.output = AddableDict({key: part[key] for key in self._output_keys if key in part})

    def end(self) -> Iterator[AddableDict]:
        """Yield the rest of the draft, and then the output."""
        yield from self._flush_draft()
        # The graph reports no end of a step whose result comes from a cache.
        for step in self._running.values():
            yield AddableDict(step={**step, "state": "finished", "record": self.output["trace"][-1]})
        yield self.output

    def _read_message(self, message: BaseMessage, metadata: Mapping[str, Any]) -> Iterator[AddableDict]:
        if not isinstance(message, AIMessageChunk) or metadata.get("langgraph_node") != "generate":
            return
        if message.text:
            if self._attempt not in (None, metadata.get("attempt")):
                yield from self._flush_draft()
                yield AddableDict(draft="")
            self._attempt = metadata.get("attempt")
            if piece := self._redactor.feed(message.text):
                yield AddableDict(draft=piece)

    def _flush_draft(self) -> Iterator[AddableDict]:
        if piece := self._redactor.rest():
            yield AddableDict(draft=piece)

    def _read_task(self, path: tuple[str, ...], task: Mapping[str, Any]) -> Iterator[AddableDict]:
        # The path of a strategy is "factual:<id>"; inside the hedge it is "hedge:<id>", "as_factual:<id>".
        strategy = path[-1].partition(":")[0].removeprefix("as_") if path else None
        step = {"id": task["id"], "name": task["name"], "strategy": strategy}
        if "result" not in task:
            self._running[task["id"]] = step
            yield AddableDict(step={**step, "state": "started"})
            return
        del self._running[task["id"]]
        if task["error"]:
            return
        result = task["result"]
        # The branches of a fan-out return their records with their hits.
        trace = result.get("trace") or [hit["record"] for hit in result["hits"]]
        yield AddableDict(step={**step, "state": "finished", "record": trace[-1]})
        if task["name"] == "classify":
            yield AddableDict(route=result["analysis"])
        elif path and (documents := result.get("documents")):
            # The hedge overwrites the passages that its two strategies added.
            yield AddableDict(passages=documents.value if isinstance(documents, Overwrite) else documents)
