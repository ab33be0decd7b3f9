"""Calls the chat model for granted requests, in threads or on the event loop, each within its time."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from adaptive_rag.context import Context
from adaptive_rag.llm.budget import Budget, Ledger, open_ledger
from adaptive_rag.llm.exchange import Action, GivenUp, Pause, Spending, converse
from adaptive_rag.llm.request import Reply, Request, asking_step
from adaptive_rag.llm.structured import bind_schema
from adaptive_rag.models.chat import chat_model_of, with_temperature
from adaptive_rag.text.redaction import redact_known_all

# A token has about four characters; a server that ignores max_tokens is cut off at twice that.
MAX_CHARACTERS_A_TOKEN = 8


def call_all(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Reply[Any]]:
    """Call the model for each request in a thread of its own; one that hangs is left behind.

    Raises:
        ConfigurationError: a model cannot be opened, its key is refused, or the server does not know it.
    """
    ledger = open_ledger(budget)
    conversations = [_Conversation(request, context, ledger, budget) for request in requests]
    started = [_start(conversation.run) for conversation in conversations]
    try:
        return [conversation.reply(run) for conversation, run in zip(conversations, started, strict=True)]
    finally:
        for conversation in conversations:
            conversation.abandoned.set()


async def acall_all(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Reply[Any]]:
    """Do what `call_all` does without holding a thread while a model works."""
    ledger = open_ledger(budget)
    conversations = [_Conversation(request, context, ledger, budget) for request in requests]
    tasks = [asyncio.create_task(conversation.areply()) for conversation in conversations]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        # One that failed, or a stream that was closed, ends the others.
        for task in tasks:
            task.cancel()


def _start(work: Callable[[], Reply[Any]]) -> Future[Reply[Any]]:
    """Start work in a daemon thread, which can be left behind, even at the end of the process."""
    future: Future[Reply[Any]] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    return future


class _Conversation:
    """One request on its way to a model, within its time."""

    def __init__(self, request: Request[Any], context: Context, ledger: Ledger, budget: Budget) -> None:
        model = chat_model_of(context, request.role)
        assert model is not None, "only requests that a model can take are granted"
        self.abandoned = threading.Event()
        model = with_temperature(model, context.models.temperatures.get(request.step))
        self._request, self._model = request, model
        self._max_tokens = context.budget.max_tokens
        self._seconds = budget.seconds_for(request.role)
        self._ends = time.monotonic() + self._seconds
        self._spending = Spending()
        self._exchange = converse(request, model, context, ledger, self._spending, self._seconds_left)

    def run(self) -> Reply[Any]:
        """Hold the conversation, waiting in this thread."""
        asking_step.set(self._request.step)
        outcome: AIMessage | Exception | None = None
        while not self.abandoned.is_set():
            action = self._next(outcome)
            if isinstance(action, Reply):
                return action
            outcome = self._do(action)
        return self._failed("the chat model was no longer waited for")

    def reply(self, run: Future[Reply[Any]]) -> Reply[Any]:
        """Wait for a conversation in another thread until its time is up."""
        if not wait([run], self._seconds_left()).done:
            self.abandoned.set()
            return self._timed_out()
        return run.result()

    async def areply(self) -> Reply[Any]:
        """Hold the conversation on the event loop; a cancellation closes the connection."""
        asking_step.set(self._request.step)
        outcome: AIMessage | Exception | None = None
        try:
            async with asyncio.timeout(self._seconds_left()):
                while not isinstance(action := self._next(outcome), Reply):
                    outcome = await self._ado(action)
                return action
        except TimeoutError:
            return self._timed_out()

    def _seconds_left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def _next(self, outcome: AIMessage | Exception | None) -> Action | Reply[Any]:
        """Tell the exchange what came, and return what it wants done next or the reply it ended with."""
        try:
            if isinstance(outcome, Exception):
                return self._exchange.throw(outcome)
            return self._exchange.send(outcome)
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

    def _do(self, action: Action) -> AIMessage | Exception | None:
        try:
            if isinstance(action, Pause):
                self.abandoned.wait(action.seconds)
                return None
            if action.method is not None:
                form = bind_schema(self._model, action.schema, action.method)
                return _raw(form.invoke(action.messages, self._config()))
            draft = _Draft(self._max_tokens)
            for chunk in self._model.stream(action.messages, self._config()):
                if draft.add(chunk) or self.abandoned.is_set():
                    break
            return draft.message()
        except Exception as raised:  # every provider raises its own; the exchange classifies them
            return raised

    async def _ado(self, action: Action) -> AIMessage | Exception | None:
        try:
            if isinstance(action, Pause):
                await asyncio.sleep(action.seconds)
                return None
            if action.method is not None:
                form = bind_schema(self._model, action.schema, action.method)
                return _raw(await form.ainvoke(action.messages, self._config()))
            draft = _Draft(self._max_tokens)
            async for chunk in self._model.astream(action.messages, self._config()):
                if draft.add(chunk):
                    break
            return draft.message()
        except Exception as raised:  # as in `_do`
            return raised

    def _config(self) -> RunnableConfig:
        # What the steps before the answer say is not part of it, so it stays out of the stream of messages.
        tags = [] if self._request.free_text else [TAG_NOSTREAM]
        step = self._request.step
        return {"tags": tags, "run_name": step, "metadata": {"skill": step}}


class _Draft:
    """Collects the chunks of a streamed answer."""

    def __init__(self, max_tokens: int) -> None:
        self._chunks: list[AIMessageChunk] = []
        self._room = max_tokens * MAX_CHARACTERS_A_TOKEN

    def add(self, chunk: AIMessageChunk) -> bool:
        """Add a chunk; True where the answer has grown beyond all bounds."""
        self._chunks.append(chunk)
        self._room -= len(chunk.text)
        return self._room < 0

    def message(self) -> AIMessage:
        first, *more = self._chunks or [AIMessageChunk(content="")]
        # All at once: chunk by chunk, a long answer would be copied again for each.
        return _raw(message_chunk_to_message(first + more))


def _raw(reply: Any) -> AIMessage:
    message = reply["raw"] if isinstance(reply, dict) else reply
    assert isinstance(message, AIMessage)
    # A server may repeat the key that it was sent.
    return message.model_copy(
        update={
            "content": redact_known_all(message.content),
            "tool_calls": redact_known_all(message.tool_calls),
        }
    )
