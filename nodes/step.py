"""Turns a function into a graph node: sends its requests to the model and writes its trace."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeAlias, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import RunControl, Runtime, get_runtime
from langgraph.types import CachePolicy

from adaptive_rag.context import Context, context_of, is_served
from adaptive_rag.context.caller import shown_to_callers
from adaptive_rag.deadline import Deadline, check_deadline, deadline
from adaptive_rag.llm.ask import aask, ask
from adaptive_rag.llm.budget import Budget
from adaptive_rag.llm.request import Asking, Reply, Request
from adaptive_rag.nodes.log import log_record
from adaptive_rag.optional import leaving_out
from adaptive_rag.query.history import ends_with_question
from adaptive_rag.state import Decision, StandIn, TraceRecord
from adaptive_rag.text.redaction import redact_all

Update: TypeAlias = dict[str, Any]
# A node yields its requests to a chat model, is sent their replies, and returns its update.
Steps: TypeAlias = Asking[Update]
NodeFunction: TypeAlias = Callable[..., "Update | Steps"]

# Time that is left to finish an answer without a chat model once `budget.deadline_s` has passed.
FINISHING_SECONDS = 10.0
# What a served graph shows its callers in place of details.
ELSEWHERE = "the server's log says why"


class Step(Runnable[Any, Update]):
    """A node, made from a function that returns its update or from a generator that also yields requests.

    The update's key `record` (part of a TraceRecord) is completed with the update's queries and the
    measurements, and appended to `trace`. `custom` emits the start and end of each step. Sync and async
    differ only in the loop that drives the generator.

    The graph has already opened a run with the node's name. Unlike a `RunnableLambda`, a step does not open a
    second one, which would cost as much as a short step and add nothing to a trace.
    """

    name: str

    def __init__(self, function: NodeFunction, **fixed: Any) -> None:
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self._original = function
        self._function: NodeFunction = partial(function, **fixed) if fixed else function

    def given(self, **fixed: Any) -> Step:
        """Return the node with some arguments fixed, such as the table of strategies."""
        return Step(self._original, **fixed)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node, waiting for its model calls in this thread."""
        with self._run(input) as run:
            while run.advance():
                run.replies = ask(run.requests, run.context, run.budget())
            return run.close()

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node without holding a thread while it waits for its model calls."""
        with self._run(input) as run:
            while await asyncio.to_thread(run.advance):
                run.replies = await aask(run.requests, run.context, run.budget())
            return run.close()

    @contextmanager
    def _run(self, state: Any) -> Iterator[_Run]:
        runtime = get_runtime(Context)
        context = context_of(runtime)
        # `classify` begins a new question, so what an earlier question of the thread left in the state does
        # not count. Neither does the start time of an agent's run that asks several questions.
        earlier = {"started_at": time.time()} if self.name == "classify" else state
        with (
            shown_to_callers(runtime),
            leaving_out(strict=context.strict, without=context.without) as left_out,
            question_deadline(earlier.get("started_at"), runtime),
        ):
            yield _Run(self.name, partial(self._function, state, runtime), state, earlier, left_out)


step = Step


def question_deadline(
    started_at: float | None, runtime: Runtime[Context]
) -> AbstractContextManager[Deadline]:
    """Return the context manager in which a step runs; it stops the step when the question takes too long."""
    seconds = context_of(runtime).budget.deadline_s
    message = (
        f"The question was not answered within the {seconds:g} s of budget.deadline_s and the "
        f"{FINISHING_SECONDS:g} s in which an answer is finished without a chat model. Ask something "
        "shorter, or give it more time."
    )
    remaining = start_time(started_at, runtime) + seconds + FINISHING_SECONDS - time.time()
    return deadline(remaining, message)


def start_time(started_at: float | None, runtime: Runtime[Context]) -> float:
    """Return when work on a question began; for a run that resumes a saved state, when that run began."""
    run_started = time.time() if runtime.control is None else _first_seen(runtime.control)
    return max(started_at or run_started, run_started)


@lru_cache(maxsize=1024)
def _first_seen(run: RunControl) -> float:
    return time.time()


def cache_policy(step: str) -> CachePolicy[Any]:
    """Return a node's cache policy; the key covers what its result depends on, and nothing else."""

    def key(state: Mapping[str, Any]) -> str:
        parts = json.dumps(
            {
                "step": step,
                "settings": state.get("fingerprint", ""),
                "question": state.get("question", ""),
                # a question that came as a message is not added to the messages again
                "is_message": ends_with_question(state.get("messages", []), state.get("question")),
                "user_context": state.get("user_context", ""),
                "profile": state.get("profile", ""),
                "history": state.get("history", []),
                "type": state.get("query_type", ""),
                "alternatives": state.get("analysis", {}).get("alternatives", []),
                "context": state.get("implied_context", ""),
                "documents": [(d["id"], d["labels"]) for d in state.get("documents", [])],
            },
            sort_keys=True,
            default=str,
        )
        return hashlib.sha256(parts.encode()).hexdigest()

    return CachePolicy(key_func=key)


class _Run:
    """One run of one node, with its requests and its cost."""

    def __init__(
        self,
        name: str,
        work: Callable[[], Update | Steps],
        state: Any,
        earlier: Mapping[str, Any],
        left_out: list[Decision],
    ) -> None:
        runtime = get_runtime(Context)
        self.context = context_of(runtime)
        self._served = is_served(runtime)
        self.requests: list[Request[Any]] = []
        self.replies: list[Reply[Any]] | None = None
        self._work = _as_steps(work)
        self._name = name
        self._state = state
        self._left_out = left_out
        self._earlier = earlier
        self._write = runtime.stream_writer
        self._started = time.perf_counter()
        self._question_started = start_time(earlier.get("started_at"), runtime)
        self._update: Update = {}
        self._asked: list[tuple[Request[Any], Reply[Any]]] = []
        self._rounds = 0
        self._write({"step": name, "event": "started"})

    def advance(self) -> bool:
        """Resume the node with the replies until its next requests; return False when it has ended.

        Raises:
            DeadlineError: the question took too long, or nobody waits for its answer.
        """
        check_deadline()
        if self.replies is not None:
            if self._served:
                self.replies = [_without_details(self._name, reply) for reply in self.replies]
            self._asked += zip(self.requests, self.replies, strict=True)
            # Requests of one round run at the same time, so the one with the most calls decides how many
            # rounds count.
            self._rounds += max((reply.calls for reply in self.replies), default=0)
        try:
            self.requests = self._work.send(self.replies)
        except StopIteration as stop:
            self._update = stop.value
            return False
        return True

    def budget(self) -> Budget:
        """Return the calls and the time that the question has left."""
        records = [*self._earlier.get("trace", []), self._measure()]
        alternatives = self._earlier.get("analysis", {}).get("alternatives", ())
        limits = self.context.budget
        return Budget(
            calls=limits.max_llm_calls - sum(record.get("calls", 0) for record in records),
            seconds=self._question_started + limits.deadline_s - time.time(),
            asked=sum(len(record.get("asked", ())) for record in records),
            spent=sum(record.get("calls", 0) for record in records if record["step"] != "classify"),
            branches=1 if self._name == "generate" else 1 + len(alternatives),
            unreachable=any(record.get("unreachable") for record in records),
        )

    def close(self) -> Update:
        """Complete the update's record and append it to the trace."""
        record = self._measure()
        if queries := self._update.get("queries"):
            record["queries"] = [query["text"] for query in queries]
        record.update(self._update.pop("record", {}))
        if notes := self._notes():
            record["decisions"] = [*record.get("decisions", ()), *notes]
        if record["calls"]:
            # A reason may quote the server's reply, which may repeat the key that was sent to it.
            record = cast("TraceRecord", redact_all(dict(record)))
        hits = sorted(self._state.get("hits", ()), key=lambda hit: hit["order"])
        trace = [*self._earlier.get("trace", []), *(hit["record"] for hit in hits), record]
        for hit in hits:
            log_record(hit["record"], {"candidates": hit["candidates"]})
        log_record(record, self._update)
        self._write({"step": self._name, "event": "finished", "ms": record["ms"], "calls": record["calls"]})
        return {**self._update, "trace": trace}

    def _notes(self) -> list[Decision]:
        """Return what happened to the requests, and the parts that were left out, as decisions."""
        notes = [
            Decision(what="repeated", chosen=request.step, why=note)
            for request, reply in self._asked
            for note in reply.notes
        ]
        notes += [Decision(what="cut", chosen=r.step, why=reply.cut) for r, reply in self._asked if reply.cut]
        return notes + [{**part, "why": ELSEWHERE} if self._served else part for part in self._left_out]

    def _measure(self) -> TraceRecord:
        replies = [reply for _, reply in self._asked]
        tokens: Counter[str] = Counter()
        for reply in replies:
            tokens.update(reply.tokens)
        record = TraceRecord(
            step=self._name,
            ms=round((time.perf_counter() - self._started) * 1000, 3),
            calls=sum(reply.calls for reply in replies),
            rounds=self._rounds,
            tokens=dict(tokens),
            stand_ins=[
                StandIn(skill=request.step, reason=reply.reason, reasons=[reply.phrase])
                if reply.phrase
                else StandIn(skill=request.step, reason=reply.reason)
                for request, reply in self._asked
                if reply.result is None
            ],
        )
        if costs := [reply.cost for reply in replies if reply.cost is not None]:
            record["cost"] = sum(costs)
        if asked := [request.step for request, reply in self._asked if reply.calls]:
            record["asked"] = list(asked)
        if silent := [request.step for request, reply in self._asked if reply.unreachable]:
            record["unreachable"] = list(silent)
        return record


def _without_details(step: str, reply: Reply[Any]) -> Reply[Any]:
    """Log messages of a chat model's server and messages that name a file, and keep them out of the trace."""
    is_our_text = not reply.calls and not re.search(r"[/\\]", reply.reason)
    if is_our_text or not (reply.reason or reply.notes):
        return reply
    details = "; ".join((*reply.notes, reply.reason))
    logging.getLogger("adaptive_rag.serving").warning("No usable reply in %s: %s", step, details)
    reason = reply.reason and ELSEWHERE
    return replace(reply, reason=reason, phrase=None, notes=())


def _as_steps(work: Callable[[], Update | Steps]) -> Generator[Any, Any, Update]:
    result = work()
    return result if isinstance(result, dict) else (yield from result)
