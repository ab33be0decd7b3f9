"""Calls the chat model for granted requests, in threads or on the event loop, each within its time."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessageChunk, message_chunk_to_message
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from adaptive_rag.context import Context
from adaptive_rag.llm.budget import Budget, Ledger
from adaptive_rag.llm.exchange import Call, Exchange, GivenUp, Pause, Spending, converse
from adaptive_rag.llm.request import Reply, Request, asking_step
from adaptive_rag.llm.structured import bind_schema
from adaptive_rag.models.chat import chat_model_of

# A token has about four characters; a server that ignores max_tokens is cut off at twice that.
MAX_CHARACTERS_A_TOKEN = 8


def call_all(
    requests: Sequence[Request[Any]], context: Context, ledger: Ledger, budget: Budget
) -> list[Reply[Any]]:
    """Call the model for each request in a thread of its own; one that hangs is left behind.

    Raises:
        ConfigurationError: a model cannot be opened, its key is refused, or the server does not know it.
    """
    workers = [_Worker(_Conversation(request, context, ledger, budget)) for request in requests]
    for worker in workers:
        worker.start()
    try:
        return [worker.reply() for worker in workers]
    finally:
        for worker in workers:
            worker.conversation.abandoned.set()


async def acall_all(
    requests: Sequence[Request[Any]], context: Context, ledger: Ledger, budget: Budget
) -> list[Reply[Any]]:
    """Call the model for each request without holding a thread while it works.

    Raises:
        ConfigurationError: as `call_all`.
    """
    conversations = [_Conversation(request, context, ledger, budget) for request in requests]
    tasks = [asyncio.create_task(_within_time(conversation)) for conversation in conversations]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        # One that failed, or a stream that was closed, ends the others.
        for task in tasks:
            task.cancel()


async def _within_time(conversation: _Conversation) -> Reply[Any]:
    try:
        async with asyncio.timeout(conversation.seconds_left()):
            return await conversation.arun()
    except TimeoutError:
        return conversation.timed_out()


class _Conversation:
    """One request on its way to a model, within its time."""

    def __init__(self, request: Request[Any], context: Context, ledger: Ledger, budget: Budget) -> None:
        model = chat_model_of(context, request.role)
        assert model is not None, "only requests that a model can take are granted"
        self.abandoned = threading.Event()
        self._request = request
        self._model: BaseChatModel = model
        self._max_tokens = context.budget.max_tokens
        self._seconds = budget.seconds_for(request.role)
        self._ends = time.monotonic() + self._seconds
        self._spending = Spending()
        self._exchange: Exchange = converse(
            request, model, context, ledger, self._spending, self.seconds_left
        )

    def seconds_left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def timed_out(self) -> Reply[Any]:
        self._spending.unreachable = True
        return self._failed(f"the chat model did not finish within {self._seconds:.3g} s")

    def run(self) -> Reply[Any]:
        """Hold the conversation, waiting in this thread."""
        said: AIMessage | Exception | None = None
        while not self.abandoned.is_set():
            wish = self._next(said)
            if isinstance(wish, Reply):
                return wish
            said = None
            try:
                if isinstance(wish, Pause):
                    self.abandoned.wait(wish.seconds)
                else:
                    said = self._call(wish)
            except Exception as raised:  # every provider raises its own; the exchange classifies them
                said = raised
        return self._failed("the chat model was no longer waited for")

    async def arun(self) -> Reply[Any]:
        """Hold the conversation on the event loop; a cancellation closes the connection."""
        said: AIMessage | Exception | None = None
        while True:
            wish = self._next(said)
            if isinstance(wish, Reply):
                return wish
            said = None
            try:
                if isinstance(wish, Pause):
                    await asyncio.sleep(wish.seconds)
                else:
                    said = await self._acall(wish)
            except Exception as raised:  # every provider raises its own; the exchange classifies them
                said = raised

    def _next(self, said: AIMessage | Exception | None) -> Call | Pause | Reply[Any]:
        """Tell the exchange what came, and return what it wants done next or the reply it ended with."""
        try:
            if isinstance(said, Exception):
                return self._exchange.throw(said)
            return self._exchange.send(said)
        except StopIteration as stop:
            reply: Reply[Any] = stop.value
            return reply
        except GivenUp as given_up:
            return self._failed(str(given_up))

    def _failed(self, reason: str) -> Reply[Any]:
        return Reply(reason=reason, **self._spending.spent())

    def _call(self, call: Call) -> AIMessage:
        asking_step.set(self._request.step)
        if call.method is None:
            draft = _Draft(self._max_tokens)
            for chunk in self._model.stream(call.messages, self._config()):
                if draft.add(chunk) or self.abandoned.is_set():
                    break
            return draft.message()
        form = bind_schema(self._model, call.schema, call.method)
        return _raw(form.invoke(call.messages, self._config()))

    async def _acall(self, call: Call) -> AIMessage:
        asking_step.set(self._request.step)
        if call.method is None:
            draft = _Draft(self._max_tokens)
            async for chunk in self._model.astream(call.messages, self._config()):
                if draft.add(chunk):
                    break
            return draft.message()
        form = bind_schema(self._model, call.schema, call.method)
        return _raw(await form.ainvoke(call.messages, self._config()))

    def _config(self) -> RunnableConfig:
        # What the steps before the answer say is not part of it, so it stays out of the stream of messages.
        tags = [] if self._request.free_text else [TAG_NOSTREAM]
        step = self._request.step
        return {"tags": tags, "run_name": step, "metadata": {"skill": step}}


class _Worker:
    """Holds a conversation in a daemon thread that can be left behind, even at the end of the process."""

    def __init__(self, conversation: _Conversation) -> None:
        self.conversation = conversation
        self._reply: Reply[Any] | None = None
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def reply(self) -> Reply[Any]:
        """Wait for the reply until the request's time is up."""
        self._thread.join(self.conversation.seconds_left())
        if self._thread.is_alive():
            self.conversation.abandoned.set()
            return self.conversation.timed_out()
        if self._error is not None:
            raise self._error
        assert self._reply is not None
        return self._reply

    def _run(self) -> None:
        try:
            self._reply = self.conversation.run()
        except BaseException as error:
            self._error = error


class _Draft:
    """Collects the chunks of a streamed answer."""

    def __init__(self, max_tokens: int) -> None:
        self._whole: BaseMessageChunk | None = None
        self._limit = max_tokens * MAX_CHARACTERS_A_TOKEN
        self._length = 0

    def add(self, chunk: BaseMessageChunk) -> bool:
        """Add a chunk; True where the answer has grown beyond all bounds."""
        self._whole = chunk if self._whole is None else self._whole + chunk
        self._length += len(chunk.text)
        return self._length > self._limit

    def message(self) -> AIMessage:
        message = message_chunk_to_message(self._whole or AIMessageChunk(content=""))
        assert isinstance(message, AIMessage)
        return message


def _raw(reply: Any) -> AIMessage:
    message = reply["raw"] if isinstance(reply, dict) else reply
    assert isinstance(message, AIMessage)
    return message
