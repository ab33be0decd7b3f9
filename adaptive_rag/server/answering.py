"""Answers a caller's question over one collection, with the settings and within the limits for callers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Annotated, Any, Literal, cast

from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.compare import Comparison
from adaptive_rag.context import Context, Served, make_context
from adaptive_rag.context.caller import caller_settings, check_input, check_settings, served_error
from adaptive_rag.deadline import deadline
from adaptive_rag.errors import (
    AdaptiveRAGError,
    DeadlineError,
    IndexMismatchError,
    IndexUnfinishedError,
    InputError,
    ServedError,
)
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.index import Index
from adaptive_rag.index.index import open_source
from adaptive_rag.index.manifest import MANIFEST
from adaptive_rag.index.sharding.united import UnitedIndex
from adaptive_rag.query.history import MAX_QUESTION
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.server.conversations import Conversations
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.gate import Gate
from adaptive_rag.server.metrics import count_answer, counting_inside
from adaptive_rag.server.model import ServerModel
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.selection import Selection
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import InputState, OutputState, RetrievalState

EXAMPLE: dict[str, Any] = {
    "question": "What is the highest water level ever recorded?",
    "settings": {"route": "factual"},
}

# A long conversation; the operator limits what is read of it by serving.max_turns and max_characters.
MOST_BYTES = 4_000_000

# The texts of a question, wherever one is sent.
QuestionText = Annotated[str, Field(max_length=MAX_QUESTION, pattern=r"\S")]
Situation = Annotated[str, Field(max_length=MAX_QUESTION)]


class Turn(BaseModel):
    """An earlier turn of a conversation that the server does not keep."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "agent"]
    text: str = Field(max_length=MOST_BYTES)


class BareQuestion(BaseModel):
    """A question, and what its caller may set for it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    question: QuestionText = Field(description="What is asked.")
    user_context: Situation = Field("", description="Who asks, or in what situation.")
    settings: dict[str, Any] = Field(
        {},
        description="Any of route, k, profile, where, retrieval.alpha and budget.deadline_s, and recipe "
        "where the operator allows it.",
    )
    only: Selection = Field(
        default_factory=Selection, description="The documents that are asked; by default all."
    )

    def as_input(self) -> InputState:
        """Return the input of the graph."""
        return {"question": self.question, "user_context": self.user_context}


class Question(BareQuestion):
    """A question outside of the threads that the server keeps, and what its caller may set for it."""

    history: list[Turn] = Field([], max_length=100, description="Earlier turns, where no thread keeps them.")

    def as_input(self) -> InputState:
        """Return the input of the graph."""
        asked = super().as_input()
        if self.history:
            asked["history"] = [{"role": turn.role, "text": turn.text} for turn in self.history]
        return asked


class Answering:
    """The graph for callers, with the operator's settings and those that a caller may set.

    Its methods raise InputError if the question or its settings cannot be used; Problem if the collection is
    empty, the server is too busy or the answer took too long; and ServedError if it failed for a reason that
    is not the caller's fault, which is in the log.
    """

    def __init__(
        self,
        settings: ServerSettings,
        operator: Mapping[str, Any],
        conversations: Conversations | None = None,
        model: ServerModel | None = None,
    ) -> None:
        self._settings = settings
        self._model = model
        self._operator = operator
        known = make_context(operator)
        self._serving, self._embeddings, self._where = known.serving, known.embeddings, known.where
        self.max_k = known.serving.max_k
        self._form = caller_settings(known, tuple(STRATEGIES))
        self._conversations = conversations
        store = conversations.store if conversations else None
        saver = conversations.saver if conversations else None
        self._retrieval = build_retrieval_graph().compile(store=store, name="adaptive_retriever")
        self._alone = AdaptiveRAG(store=store, **operator)
        self._in_threads = AdaptiveRAG(checkpointer=saver, store=store, **operator)
        self.gate = Gate(settings.max_running, settings.max_waiting, settings.max_per_person)
        # id of the user that stands for everybody at this machine, set at their first request
        self.shared_id: str | None = None
        self._limits = set[asyncio.Timeout]()
        self._is_stopping = False

    def stop(self) -> None:
        """Stop the questions that are being answered, and refuse new ones, because the server is stopping."""
        self._is_stopping = True
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())

    def context_for(self, asked: BareQuestion, place: Searched | None, caller_id: str | None) -> Context:
        """Return the settings of one question; the place None means the operator's own index."""
        nested = _nested(asked.settings)
        check_settings(self._form, nested)
        allowed = self._form.model_validate(nested).model_dump(exclude_none=True)
        if where := self.condition(asked.only, allowed.get("where", "")):
            allowed["where"] = where
        index: dict[str, Any] = {}
        if place:
            source = self.index_of(place)
            # Where the name is enough, it keeps the settings plain data.
            index["index"] = source if place.hidden or place.others else str(place.index)
        learned = self._settings.learned_router
        model, access = self._model.for_questions() if self._model else ({}, None)
        context = make_context(self._operator, model, allowed, index, user_id=caller_id)
        return context.for_caller(Served(learned if learned.exists() else None, access, asked.only.kept()))

    def condition(self, only: Selection, where: str = "") -> str:
        """Return the condition of a caller's selection and `where`, with the operator's; "" for none."""
        return only.condition(where, self._where)

    def index_of(self, place: Searched) -> ChunkSource:
        """Open what is searched: the index of a collection, or those of several as one.

        Raises:
            Problem: 409 if a collection has nothing to search yet, or several have different models.
        """
        if not place.others:
            return self._open(place)
        indexes = {each.name: self._open(each) for each in (place, *place.others)}
        try:
            return UnitedIndex(indexes)
        except IndexMismatchError:
            detail = (
                "These collections were indexed with different embedding models, so what is found in them "
                "cannot be compared. Ask them one at a time."
            )
            raise Problem(409, detail, type="models_differ") from None

    def _open(self, place: Searched) -> Index:
        if not (place.index / MANIFEST).exists():
            if place.name:
                raise Problem(409, f"{place.name} has no documents to search yet. Leave it out.")
            detail = "This collection has no documents to search yet. Add some, and ask again."
            raise Problem(409, detail, type="no_documents")
        try:
            whole = open_source(str(place.index), self._embeddings)
        except IndexUnfinishedError:
            detail = "The first documents of this collection are being indexed. Ask again in a minute."
            raise Problem(409, detail, type="being_indexed") from None
        assert isinstance(whole, Index), "the server makes indexes without shards"
        return whole.without(place.hidden) if place.hidden else whole

    async def answer(
        self, asked: BareQuestion, place: Searched | None, caller_id: str | None, thread_id: str | None = None
    ) -> OutputState:
        """Answer a question, in a thread if one is named."""
        async with self._running(asked, place, caller_id, thread_id) as (rag, call):
            started = time.perf_counter()
            output = await rag.ainvoke(**call)
            count_answer(output, time.perf_counter() - started)
            return output

    async def search(
        self, asked: BareQuestion, place: Searched | None, caller_id: str | None
    ) -> RetrievalState:
        """Find the passages that a question would be answered from."""
        async with self._running(asked, place, caller_id) as (_, call):
            return cast(RetrievalState, await self._retrieval.ainvoke(**call))

    @asynccontextmanager
    async def stream(
        self, asked: BareQuestion, place: Searched, caller_id: str, thread_id: str | None = None
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Yield the chunks of `AdaptiveRAG.astream` with drafts and steps, while the question is answered.

        A separate task answers it. The task does not wait for a slow reader, and is cancelled if the block
        is left before the answer. An error before the first chunk is raised on entry, a later one when the
        reader reaches it.
        """
        chunks: asyncio.Queue[dict[str, Any] | Exception | None] = asyncio.Queue()

        async def run() -> None:
            started, last = time.perf_counter(), None
            try:
                async with self._running(asked, place, caller_id, thread_id) as (rag, call):
                    async for chunk in rag.astream(**call, drafts=True, steps=True):
                        if "answer" in chunk:
                            last = chunk
                            count_answer(last, time.perf_counter() - started)
                        else:
                            chunks.put_nowait(chunk)
                # Sent only here, so that the place and the thread are free for the caller's next question.
                chunks.put_nowait(last)
            except Exception as error:
                chunks.put_nowait(error)
            chunks.put_nowait(None)

        async def rest(chunk: dict[str, Any] | Exception | None) -> AsyncIterator[dict[str, Any]]:
            while chunk is not None:
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
                chunk = await chunks.get()

        task = asyncio.create_task(run())
        try:
            first = await chunks.get()
            if isinstance(first, Exception):
                raise first
            yield rest(first)
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def compare(
        self, asked: BareQuestion, routes: Sequence[str], place: Searched, caller_id: str
    ) -> Comparison:
        """Answer a question by several routes, one after the other, and return their differences."""
        async with self._running(asked, place, caller_id) as (rag, call):
            comparison = await rag.acompare(
                asked.question, routes=routes, user_context=asked.user_context, context=call["context"]
            )
        for column in comparison.columns:
            count_answer(cast(OutputState, column.output), column.ms / 1000)
        return comparison

    @asynccontextmanager
    async def _running(
        self, asked: BareQuestion, place: Searched | None, caller_id: str | None, thread_id: str | None = None
    ) -> AsyncIterator[tuple[AdaptiveRAG, dict[str, Any]]]:
        """Hold a place and the thread for a question; yield the graph and the arguments of its call.

        Errors within the block are converted to errors that callers may read.
        """
        check_input(asked.as_input(), self._serving)
        call: dict[str, Any] = {
            "input": asked.as_input(),
            # It may open an index, which takes a while.
            "context": await run_in_threadpool(self.context_for, asked, place, caller_id),
        }
        # Everybody at this machine is one user but not one person, so the limit per person does not apply.
        person = None if caller_id == self.shared_id else caller_id
        rag = self._alone
        thread: AbstractAsyncContextManager[None] = nullcontext()
        if thread_id is not None:
            assert self._conversations is not None, "threads are kept nowhere"
            rag, thread = self._in_threads, self._conversations.hold(thread_id, asked.question)
            call |= {"config": {"configurable": {"thread_id": thread_id}}, "durability": "exit"}
        try:
            with counting_inside(), deadline():
                async with thread, self._limit(), self.gate.enter(person):
                    yield rag, call
        except (InputError, ServedError):
            raise
        except DeadlineError as error:
            raise Problem(504, str(error), type="too_slow") from None
        except TimeoutError:
            if self._is_stopping:
                detail = "The server is being stopped. Ask again in a minute."
                raise Problem(503, detail, type="stopping") from None
            detail = "The answer took longer than this server allows."
            raise Problem(504, detail, type="too_slow") from None
        except AdaptiveRAGError as error:
            raise served_error(error) from None

    @asynccontextmanager
    async def _limit(self) -> AsyncIterator[None]:
        if self._is_stopping:
            raise TimeoutError
        async with asyncio.timeout(self._settings.max_seconds) as limit:
            self._limits.add(limit)
            try:
                yield
            finally:
                self._limits.discard(limit)


def _nested(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with each "group.name" nested under its group."""
    nested: dict[str, Any] = {}
    for name, value in given.items():
        group, dot, part = name.partition(".")
        if dot and isinstance(nested.setdefault(group, {}), dict):
            nested[group][part] = value
        else:
            nested[name] = value
    return nested
