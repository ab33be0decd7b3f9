"""Turns a function into a graph node: has its requests made, sync or async, and writes its trace record."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import CachePolicy

from adaptive_rag.context import Context, context_of
from adaptive_rag.llm.ask import aask, ask
from adaptive_rag.llm.budget import Budget
from adaptive_rag.llm.request import Asking, Reply, Request
from adaptive_rag.state import Decision, StandIn, TraceRecord

Update: TypeAlias = dict[str, Any]
# A node yields the requests that it makes to a chat model, is sent their replies, and returns its update.
Steps: TypeAlias = Asking[Update]
NodeFunction: TypeAlias = Callable[..., "Update | Steps"]


class Step(Runnable[Any, Update]):
    """A node, written once: only what drives its generator differs between the sync and the async form.

    Called by the graph, which has opened a run of the node's name: unlike a `RunnableLambda` it opens no
    second one inside, which would cost as much as a short step and show nothing new in a trace.
    """

    name: str

    def __init__(self, function: NodeFunction, **fixed: Any) -> None:
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self._written = function
        self._function: NodeFunction = partial(function, **fixed) if fixed else function

    def given(self, **fixed: Any) -> Step:
        """Return the node with some arguments fixed, such as the table of strategies."""
        return Step(self._written, **fixed)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node, waiting for its model calls in this thread."""
        runtime = get_runtime(Context)
        meter = _Meter(self.name, input, runtime)
        work = self._function(input, runtime)
        if isinstance(work, dict):
            return meter.close(work)
        try:
            requests = next(work)
            while True:
                requests = work.send(meter.note(requests, ask(requests, meter.context, meter.budget())))
        except StopIteration as stop:
            return meter.close(stop.value)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node; a model call that it waits for holds no thread."""
        runtime = get_runtime(Context)
        meter = _Meter(self.name, input, runtime)
        done, value = await asyncio.to_thread(_advance, self._function, input, runtime)
        while not done:
            work, requests = value
            replies = meter.note(requests, await aask(requests, meter.context, meter.budget()))
            done, value = await asyncio.to_thread(_resume, work, replies)
        return meter.close(value)


def step(function: NodeFunction) -> Step:
    """Make a node of a function that returns its update, or of a generator that also yields requests.

    The update's key `record` (part of a TraceRecord) is completed with what was measured and appended to
    `trace`. Who streams `custom` sees each step begin and end.
    """
    return Step(function)


def cache_policy(step: str) -> CachePolicy[Any]:
    """Return the policy of one node: its key holds all that its result depends on, and nothing else."""

    def key(state: Mapping[str, Any]) -> str:
        parts = json.dumps(
            {
                "step": step,
                "settings": state.get("fingerprint", ""),
                "question": state.get("question", ""),
                "user_context": state.get("user_context", ""),
                "history": state.get("history", []),
                "type": state.get("query_type", ""),
                "alternatives": state.get("analysis", {}).get("alternatives", []),
                "context": state.get("implied_context", ""),
                "documents": [document["id"] for document in state.get("documents", [])],
            },
            sort_keys=True,
            default=str,
        )
        return hashlib.sha256(parts.encode()).hexdigest()

    return CachePolicy(key_func=key)


def _advance(function: NodeFunction, state: Any, runtime: Runtime[Context]) -> tuple[bool, Any]:
    work = function(state, runtime)
    if isinstance(work, dict):
        return True, work
    return _resume(work, None)


def _resume(work: Steps, replies: list[Reply[Any]] | None) -> tuple[bool, Any]:
    try:
        # A fresh generator is started with None, a waiting one gets what it waited for.
        requests = next(work) if replies is None else work.send(replies)
    except StopIteration as stop:
        return True, stop.value
    return False, (work, requests)


class _Meter:
    """Measures one run of one node."""

    def __init__(self, name: str, state: Any, runtime: Runtime[Context]) -> None:
        self.context = context_of(runtime)
        self._name = name
        self._state = state
        self._write = runtime.stream_writer
        self._started = time.perf_counter()
        self._began_at = time.time()
        self._replies: list[tuple[Request[Any], Reply[Any]]] = []
        self._rounds = 0
        self._write({"step": name, "event": "started"})

    def budget(self) -> Budget:
        """Return what is left of the question's calls and time."""
        # classify starts the question anew: what a thread's earlier question spent does not count.
        earlier = [] if self._name == "classify" else self._state.get("trace", [])
        spent = sum(record.get("calls", 0) for record in earlier)
        spent += sum(reply.calls for _, reply in self._replies)
        asked = sum(len(record.get("asked", ())) for record in earlier)
        asked += sum(reply.calls > 0 for _, reply in self._replies)
        started_at = (
            self._began_at if self._name == "classify" else self._state.get("started_at", self._began_at)
        )
        alternatives = self._state.get("analysis", {}).get("alternatives", ())
        return Budget(
            calls=self.context.budget.max_llm_calls - spent,
            seconds=started_at + self.context.budget.deadline_s - time.time(),
            asked=asked,
            branches=1 if self._name in ("classify", "generate") else 1 + len(alternatives),
            unreachable=any(record.get("unreachable") for record in earlier)
            or any(reply.unreachable for _, reply in self._replies),
        )

    def note(self, requests: Sequence[Request[Any]], replies: list[Reply[Any]]) -> list[Reply[Any]]:
        """Remember what a round of requests cost."""
        self._replies += zip(requests, replies, strict=True)
        # Requests of one round run at once: the round is as long as the one that was repeated most often.
        self._rounds += max((reply.rounds for reply in replies), default=0)
        return replies

    def close(self, update: Update) -> Update:
        """Complete the update's record and append it to the trace."""
        record = self._measured()
        given = update.pop("record", {})
        notes = [
            Decision(what="repeated", chosen=request.step, why=note)
            for request, reply in self._replies
            for note in reply.notes
        ]
        if notes:
            given = {**given, "decisions": [*given.get("decisions", ()), *notes]}
        record.update(given)
        branches = [
            hit["record"] for hit in sorted(self._state.get("hits", ()), key=lambda hit: hit["order"])
        ]
        # A node that starts the trace anew (classify) returns an empty one.
        before = update.get("trace", self._state.get("trace", []))
        self._write({"step": self._name, "event": "finished", "ms": record["ms"], "calls": record["calls"]})
        return {**update, "trace": [*before, *branches, record]}

    def _measured(self) -> TraceRecord:
        tokens: dict[str, int] = {}
        for _, reply in self._replies:
            for kind, count in reply.tokens.items():
                tokens[kind] = tokens.get(kind, 0) + count
        record = TraceRecord(
            step=self._name,
            ms=round((time.perf_counter() - self._started) * 1000, 3),
            calls=sum(reply.calls for _, reply in self._replies),
            rounds=self._rounds,
            tokens=tokens,
            stand_ins=[
                StandIn(skill=request.step, reason=reply.reason)
                for request, reply in self._replies
                if reply.result is None
            ],
        )
        costs = [reply.cost for _, reply in self._replies if reply.cost is not None]
        if costs:
            record["cost"] = sum(costs)
        if asked := [request.step for request, reply in self._replies if reply.calls]:
            record["asked"] = list(asked)
        if silent := [request.step for request, reply in self._replies if reply.unreachable]:
            record["unreachable"] = list(silent)
        return record
