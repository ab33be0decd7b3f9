"""Performs skills: with the chat model while the budget lasts, with the stand-in otherwise."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessageChunk, message_chunk_to_message
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from adaptive_rag.llm.budget import Budget, Ledger, locally_because, open_ledger
from adaptive_rag.llm.exchange import Call, Exchange, GivenUp, Pause, Progress, converse
from adaptive_rag.llm.request import Ask, Outcome, asked_skill
from adaptive_rag.llm.structured import bind_schema
from adaptive_rag.models.chat import chat_model_of

if TYPE_CHECKING:
    from adaptive_rag.context import Context

# A token has about four characters; a server that ignores max_tokens is cut off at twice that.
MAX_CHARACTERS_A_TOKEN = 8

__all__ = ["Budget", "aperform", "perform"]


def perform(asks: Sequence[Ask[Any, Any]], context: Context, budget: Budget) -> list[Outcome[Any]]:
    """Perform independent skills at once and return their outcomes in order.

    Each call runs in a thread of its own, so that one that hangs is left behind when its time is up.

    Raises:
        ConfigurationError: a model cannot be opened, its key is refused, or the server does not know it.
    """
    reasons = locally_because(asks, context, budget)
    ledger = open_ledger(budget)
    workers = [
        None if reason else _Worker(_Errand(ask, context, ledger, budget))
        for ask, reason in zip(asks, reasons, strict=True)
    ]
    for worker in workers:
        if worker:
            worker.start()
    # The stand-ins work while the model is waited for.
    done = {i: _stand_in(asks[i], reason) for i, reason in enumerate(reasons) if reason}
    try:
        for i, worker in enumerate(workers):
            if worker:
                done[i] = worker.outcome() or _stand_in(asks[i], *worker.errand.failure())
    finally:
        for worker in workers:
            if worker:
                worker.abandon()
    return [done[i] for i in range(len(asks))]


async def aperform(asks: Sequence[Ask[Any, Any]], context: Context, budget: Budget) -> list[Outcome[Any]]:
    """Perform independent skills at once without holding a thread while a model works.

    Raises:
        ConfigurationError: as `perform`.
    """
    reasons = locally_because(asks, context, budget)
    ledger = open_ledger(budget)
    tasks: list[asyncio.Task[Outcome[Any]]] = [
        asyncio.create_task(
            asyncio.to_thread(_stand_in, ask, reason)
            if reason
            else _aperform_one(_Errand(ask, context, ledger, budget))
        )
        for ask, reason in zip(asks, reasons, strict=True)
    ]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        # One that failed, or a stream that was closed, ends the others.
        for task in tasks:
            task.cancel()


async def _aperform_one(errand: _Errand) -> Outcome[Any]:
    outcome: Outcome[Any] | None = None
    try:
        async with asyncio.timeout(errand.seconds_left()):
            outcome = await errand.arun()
    except TimeoutError:
        errand.timed_out()
    if outcome is None:
        outcome = await asyncio.to_thread(_stand_in, errand.ask, *errand.failure())
    return outcome


def _stand_in(ask: Ask[Any, Any], reason: str, progress: Progress | None = None) -> Outcome[Any]:
    spent = progress.spent() if progress else {}
    return Outcome(result=ask.skill.stand_in(ask.request), by="stand-in", reason=reason, **spent)


class _Errand:
    """One ask on its way to a model, within its time."""

    def __init__(self, ask: Ask[Any, Any], context: Context, ledger: Ledger, budget: Budget) -> None:
        model = chat_model_of(context, ask.skill.role)
        assert model is not None, "the policy lets only asks through that a model can take"
        self.ask = ask
        self.progress = Progress()
        self.abandoned = threading.Event()
        self._model: BaseChatModel = model
        self._context = context
        self._ends = time.monotonic() + budget.seconds_for(ask.skill.role)
        self._seconds = budget.seconds_for(ask.skill.role)
        self._reason = ""
        self._exchange: Exchange = converse(ask, model, context, ledger, self.progress, self.seconds_left)

    def seconds_left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def timed_out(self) -> None:
        self._reason = f"the chat model did not finish within {self._seconds:.3g} s"
        self.progress.unreachable = True

    def failure(self) -> tuple[str, Progress]:
        """Return why the stand-in must do it, and what was spent in vain."""
        return self._reason, self.progress

    def run(self) -> Outcome[Any] | None:
        """Hold the exchange, waiting in this thread; None where the model gave no usable reply."""
        reply: AIMessage | None = None
        error: Exception | None = None
        while not self.abandoned.is_set():
            try:
                wish = self._exchange.throw(error) if error else self._exchange.send(reply)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            except GivenUp as given_up:
                self._reason = str(given_up)
                return None
            reply = error = None
            try:
                if isinstance(wish, Pause):
                    self.abandoned.wait(wish.seconds)
                else:
                    reply = self._call(wish)
            except Exception as raised:  # every provider raises its own; the exchange classifies them
                error = raised
        return None

    async def arun(self) -> Outcome[Any] | None:
        """Hold the exchange on the event loop; a cancellation closes the connection."""
        reply: AIMessage | None = None
        error: Exception | None = None
        while True:
            try:
                wish = self._exchange.throw(error) if error else self._exchange.send(reply)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            except GivenUp as given_up:
                self._reason = str(given_up)
                return None
            reply = error = None
            try:
                if isinstance(wish, Pause):
                    await asyncio.sleep(wish.seconds)
                else:
                    reply = await self._acall(wish)
            except Exception as raised:  # every provider raises its own; the exchange classifies them
                error = raised

    def _call(self, call: Call) -> AIMessage:
        asked_skill.set(self.ask.skill.name)
        if call.method is None:
            draft = _Draft(self._context.max_tokens)
            for chunk in self._model.stream(call.messages, self._config()):
                if draft.add(chunk) or self.abandoned.is_set():
                    break
            return draft.message()
        form = bind_schema(self._model, call.schema, call.method)
        return _raw(form.invoke(call.messages, self._config()))

    async def _acall(self, call: Call) -> AIMessage:
        asked_skill.set(self.ask.skill.name)
        if call.method is None:
            draft = _Draft(self._context.max_tokens)
            async for chunk in self._model.astream(call.messages, self._config()):
                if draft.add(chunk):
                    break
            return draft.message()
        form = bind_schema(self._model, call.schema, call.method)
        return _raw(await form.ainvoke(call.messages, self._config()))

    def _config(self) -> RunnableConfig:
        # What routing says is not part of the answer, so it stays out of the stream of messages.
        tags = [] if self.ask.skill.free_text else [TAG_NOSTREAM]
        name = self.ask.skill.name
        return {"tags": tags, "run_name": name, "metadata": {"skill": name}}


class _Worker:
    """Runs an errand in a daemon thread that can be left behind, even at the end of the process."""

    def __init__(self, errand: _Errand) -> None:
        self.errand = errand
        self._outcome: Outcome[Any] | None = None
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def outcome(self) -> Outcome[Any] | None:
        """Wait for the outcome until the errand's time is up; None where there is none."""
        self._thread.join(self.errand.seconds_left())
        if self._thread.is_alive():
            self.errand.timed_out()
            self.abandon()
            return None
        if self._error is not None:
            raise self._error
        return self._outcome

    def abandon(self) -> None:
        self.errand.abandoned.set()

    def _run(self) -> None:
        try:
            self._outcome = self.errand.run()
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
