"""Calls the chat model for granted requests, in threads or on the event loop, within a time limit."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from adaptive_rag.context import Context
from adaptive_rag.llm.budget import Budget, Ledger, open_ledger
from adaptive_rag.llm.exchange import Action, GivenUp, Spending, converse
from adaptive_rag.llm.receive import Draft, receive
from adaptive_rag.llm.request import Reply, Request, asking_step
from adaptive_rag.llm.structured import bind_schema
from adaptive_rag.models.chat import chat_model_of, with_temperature

ResultT = TypeVar("ResultT")


def call_all(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Reply[Any]]:
    """Call the model for each request in a separate thread; a thread that hangs is abandoned."""
    ledger = open_ledger(budget)
    runs = [_ExchangeRun(request, context, ledger, budget) for request in requests]
    futures = [_start(run.run) for run in runs]
    try:
        return [run.reply(future) for run, future in zip(runs, futures, strict=True)]
    finally:
        for run in runs:
            run.abandoned.set()


async def acall_all(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Reply[Any]]:
    """Do what `call_all` does without a thread that waits while a model works."""
    ledger = open_ledger(budget)
    runs = [_ExchangeRun(request, context, ledger, budget) for request in requests]
    tasks = [asyncio.create_task(run.areply()) for run in runs]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        # If one task fails or the stream is closed, the others are cancelled too.
        for task in tasks:
            task.cancel()


def _start(function: Callable[[], ResultT]) -> Future[ResultT]:
    """Run a function in a daemon thread, which can be abandoned, even at the end of the process."""
    future: Future[ResultT] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    return future


class _ExchangeRun:
    """Runs one request's exchange with a model, within a time limit."""

    def __init__(self, request: Request[Any], context: Context, ledger: Ledger, budget: Budget) -> None:
        model = chat_model_of(context, request.role)
        assert model is not None, "requests without a model are not granted"
        self.abandoned = threading.Event()
        model = with_temperature(model, context.models.temperatures.get(request.step))
        self._request, self._model = request, model
        self._max_tokens = context.budget.max_tokens
        self._seconds = budget.seconds_for(request.role)
        self._deadline = time.monotonic() + self._seconds
        self._spending = Spending()
        self._exchange = converse(request, model, context, ledger, self._spending, self._seconds_left)

    def run(self) -> Reply[Any]:
        """Run the exchange in this thread, and wait in it."""
        asking_step.set(self._request.step)
        outcome: object = None
        while not self.abandoned.is_set():
            action = self._next(outcome)
            if isinstance(action, Reply):
                return action
            outcome = self._do(action)
        return self._failed("the chat model was no longer waited for")

    def reply(self, future: Future[Reply[Any]]) -> Reply[Any]:
        """Wait for an exchange that runs in another thread, until the time limit."""
        if not wait([future], self._seconds_left()).done:
            self.abandoned.set()
            return self._timed_out()
        return future.result()

    async def areply(self) -> Reply[Any]:
        """Wait for the model on the event loop; make prompts and read replies in threads.

        A cancellation ends both.
        """
        asking_step.set(self._request.step)
        outcome: object = None
        try:
            async with asyncio.timeout(self._seconds_left()):
                while True:
                    action = await _in_thread(partial(self._next, outcome))
                    if isinstance(action, Reply):
                        return action
                    outcome = await self._ado(action)
        except TimeoutError:
            return self._timed_out()
        finally:
            self.abandoned.set()

    def _seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _next(self, outcome: object) -> Action | Reply[Any]:
        """Send an outcome to the exchange; return its next action, or the reply with which it ended."""
        try:
            if outcome is None:
                return self._exchange.send(None)
            if isinstance(outcome, Exception):
                return self._exchange.throw(outcome)
            try:
                message = receive(outcome, self._max_tokens, form=not self._request.free_text)
            except ValueError as error:
                return self._exchange.throw(error)
            return self._exchange.send(message)
        except StopIteration as stop:
            reply: Reply[Any] = stop.value
            return reply
        except GivenUp as given_up:
            return self._failed(str(given_up))

    def _timed_out(self) -> Reply[Any]:
        self._spending.unreachable = True
        return self._failed(f"the chat model did not finish within {self._seconds:.3g} s")

    def _failed(self, reason: str) -> Reply[Any]:
        return Reply(reason=reason, **self._spending.spent())

    def _do(self, action: Action) -> object:
        """Run an action; return the model's message or draft, or the error it raised; None after a pause."""
        try:
            if isinstance(action, float):
                self.abandoned.wait(action)
                return None
            if action.method is not None:
                bound = bind_schema(self._model, action.schema, action.method)
                return bound.invoke(action.messages, self._config())
            draft = Draft(self._max_tokens)
            for chunk in self._model.stream(action.messages, self._config()):
                if draft.add(chunk) or self.abandoned.is_set():
                    break
            return draft
        except Exception as raised:  # every provider raises its own errors; the exchange classifies them
            return raised

    async def _ado(self, action: Action) -> object:
        try:
            if isinstance(action, float):
                await asyncio.sleep(action)
                return None
            if not _is_asynchronous(type(self._model), streamed=action.method is None):
                return await _in_thread(partial(self._do, action))
            if action.method is not None:
                bound = bind_schema(self._model, action.schema, action.method)
                return await bound.ainvoke(action.messages, self._config())
            draft = Draft(self._max_tokens)
            async for chunk in self._model.astream(action.messages, self._config()):
                if draft.add(chunk):
                    break
            return draft
        except Exception as raised:  # as in `_do`
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # The connection could not be closed; this error must not hide the cancellation.
                raise asyncio.CancelledError from raised
            return raised

    def _config(self) -> RunnableConfig:
        # Only the answer belongs in the message stream, not the replies to earlier steps.
        tags = [] if self._request.free_text else [TAG_NOSTREAM]
        step = self._request.step
        # The attempt tells clients that show a draft when the model started again.
        metadata = {"skill": step, "attempt": self._spending.calls}
        return {"tags": tags, "run_name": step, "metadata": metadata}


async def _in_thread(function: Callable[[], ResultT]) -> ResultT:
    """Run a function in a daemon thread and wait on the event loop; a cancellation abandons the thread."""
    return await asyncio.wrap_future(_start(function))


def _is_asynchronous(kind: type[BaseChatModel], *, streamed: bool) -> bool:
    """Return whether a model waits on the event loop; LangChain runs other models in threads."""
    if streamed and kind._stream is not BaseChatModel._stream:
        return kind._astream is not BaseChatModel._astream
    return kind._agenerate is not BaseChatModel._agenerate
