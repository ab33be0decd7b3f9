"""Turns a function into a graph node: drives its skill calls, sync or async, and writes its trace record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.llm.ask import Budget, aperform, perform
from adaptive_rag.llm.request import Ask, Outcome
from adaptive_rag.state import Decision, TraceRecord

Update: TypeAlias = dict[str, Any]
# A node yields the skills it wants performed, gets their outcomes, and returns its update.
Steps: TypeAlias = Generator[Sequence[Ask[Any, Any]], list[Outcome[Any]], Update]
NodeFunction: TypeAlias = Callable[[Any, Runtime[Context]], "Update | Steps"]


class Step(Runnable[Any, Update]):
    """A node, written once: only what drives its generator differs between the sync and the async form.

    Called by the graph, which has opened a run of the node's name: unlike a `RunnableLambda` it opens no
    second one inside, which would cost as much as a short step and show nothing new in a trace.
    """

    def __init__(self, function: NodeFunction) -> None:
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self._function = function

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node, waiting for its model calls in this thread."""
        runtime = get_runtime(Context)
        meter = _Meter(self._function.__name__, input, runtime)
        work = self._function(input, runtime)
        if isinstance(work, dict):
            return meter.close(work)
        try:
            asks = next(work)
            while True:
                asks = work.send(meter.note(asks, perform(asks, meter.context, meter.budget())))
        except StopIteration as stop:
            return meter.close(stop.value)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node; a model call that it waits for holds no thread."""
        runtime = get_runtime(Context)
        meter = _Meter(self._function.__name__, input, runtime)
        done, value = await asyncio.to_thread(_advance, self._function, input, runtime)
        while not done:
            work, asks = value
            outcomes = meter.note(asks, await aperform(asks, meter.context, meter.budget()))
            done, value = await asyncio.to_thread(_resume, work, outcomes)
        return meter.close(value)


def step(function: NodeFunction) -> Step:
    """Make a node of a function that returns its update, or a generator that also yields `Ask`s.

    The update's key `record` (part of a TraceRecord) is completed with what was measured and appended to
    `trace`. Who streams `custom` sees each step begin and end.
    """
    return Step(function)


def _advance(function: NodeFunction, state: Any, runtime: Runtime[Context]) -> tuple[bool, Any]:
    work = function(state, runtime)
    if isinstance(work, dict):
        return True, work
    return _resume(work, None)


def _resume(work: Steps, outcomes: list[Outcome[Any]] | None) -> tuple[bool, Any]:
    try:
        # A fresh generator is started with None, a waiting one gets what it waited for.
        asks = next(work) if outcomes is None else work.send(outcomes)
    except StopIteration as stop:
        return True, stop.value
    return False, (work, asks)


class _Meter:
    """Measures one run of one node."""

    def __init__(self, name: str, state: Any, runtime: Runtime[Context]) -> None:
        self.context = context_of(runtime)
        self._name = name
        self._state = state
        self._write = runtime.stream_writer
        self._started = time.perf_counter()
        self._began_at = time.time()
        self._outcomes: list[tuple[Ask[Any, Any], Outcome[Any]]] = []
        self._rounds = 0
        self._write({"step": name, "event": "started"})

    def budget(self) -> Budget:
        """Return what is left of the question's calls and time."""
        # classify starts the question anew: what a thread's earlier question spent does not count.
        earlier = [] if self._name == "classify" else self._state.get("trace", [])
        spent = sum(record.get("calls", 0) for record in earlier)
        spent += sum(outcome.calls for _, outcome in self._outcomes)
        asked = sum(len(record.get("asked", ())) for record in earlier)
        asked += sum(outcome.calls > 0 for _, outcome in self._outcomes)
        started_at = (
            self._began_at if self._name == "classify" else self._state.get("started_at", self._began_at)
        )
        alternatives = self._state.get("analysis", {}).get("alternatives", ())
        return Budget(
            calls=self.context.max_llm_calls - spent,
            seconds=started_at + self.context.deadline_s - time.time(),
            asked=asked,
            branches=1 if self._name in ("classify", "generate") else 1 + len(alternatives),
            query_type=self._state.get("query_type", ""),
            unreachable=any(record.get("unreachable") for record in earlier)
            or any(outcome.unreachable for _, outcome in self._outcomes),
        )

    def note(self, asks: Sequence[Ask[Any, Any]], outcomes: list[Outcome[Any]]) -> list[Outcome[Any]]:
        """Remember what a round of calls cost."""
        self._outcomes += zip(asks, outcomes, strict=True)
        # Skills of one round run at once: the round is as long as the skill that was repeated most often.
        self._rounds += max((outcome.rounds for outcome in outcomes), default=0)
        return outcomes

    def close(self, update: Update) -> Update:
        """Complete the update's record and append it to the trace."""
        record = self._measured()
        given = update.pop("record", {})
        notes = [
            Decision(what="repeated", chosen=ask.skill.name, why=note)
            for ask, outcome in self._outcomes
            for note in outcome.notes
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
        for _, outcome in self._outcomes:
            for kind, count in outcome.tokens.items():
                tokens[kind] = tokens.get(kind, 0) + count
        record = TraceRecord(
            step=self._name,
            ms=round((time.perf_counter() - self._started) * 1000, 3),
            calls=sum(outcome.calls for _, outcome in self._outcomes),
            rounds=self._rounds,
            tokens=tokens,
            stand_ins=[entry for ask, o in self._outcomes for entry in o.stand_in(ask.skill.name)],
        )
        costs = [outcome.cost for _, outcome in self._outcomes if outcome.cost is not None]
        if costs:
            record["cost"] = sum(costs)
        if asked := [ask.skill.name for ask, outcome in self._outcomes if outcome.calls]:
            record["asked"] = list(asked)
        if silent := [ask.skill.name for ask, outcome in self._outcomes if outcome.unreachable]:
            record["unreachable"] = list(silent)
        return record
