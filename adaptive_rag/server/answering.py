"""Answers callers' questions over collections, with the settings and limits for callers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.compare import Comparison
from adaptive_rag.context import Context, Served, by_group, make_context
from adaptive_rag.context.caller import (
    caller_settings,
    check_input,
    check_settings,
    describe_allowed,
    served_error,
)
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
from adaptive_rag.graph.strategies import NAMES, STRATEGIES
from adaptive_rag.index import Index
from adaptive_rag.index.index import open_source
from adaptive_rag.index.manifest import MANIFEST
from adaptive_rag.index.sharding.united import UnitedIndex
from adaptive_rag.query.history import MAX_QUESTION
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.server.access import Caller
from adaptive_rag.server.conversations import Conversations
from adaptive_rag.server.folders import SearchTarget
from adaptive_rag.server.gate import Gate
from adaptive_rag.server.machine import THIS_MACHINE
from adaptive_rag.server.metrics import count_answer, track_question
from adaptive_rag.server.model import ServerModel
from adaptive_rag.server.problems import NOT_EMPTY, Problem, not_found
from adaptive_rag.server.selection import Selection
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import InputState, OutputState, RetrievalState
from adaptive_rag.where import read_where

EXAMPLE: dict[str, Any] = {
    "question": "What is the highest water level ever recorded?",
    "settings": {"route": "factual"},
}

# Size limit of a question with a long conversation. How much of the conversation is read, the operator sets
# by serving.max_turns and serving.max_characters.
MOST_BYTES = 4_000_000

# The texts of a question, in every API that takes one.
QuestionText = Annotated[str, Field(max_length=MAX_QUESTION, pattern=NOT_EMPTY)]
Situation = Annotated[str, Field(max_length=MAX_QUESTION)]
# What the settings of a question are, in every API that takes them.
SETTINGS = describe_allowed(NAMES)


class Turn(BaseModel):
    """An earlier turn of a conversation that the server does not store."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "agent"]
    text: str = Field(max_length=MOST_BYTES)


class BareQuestion(BaseModel):
    """A question and the settings that its caller may choose."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    question: QuestionText = Field(description="What is asked.")
    user_context: Situation = Field("", description="Who asks, or in what situation.")
    settings: dict[str, Any] = Field({}, description=SETTINGS)
    only: Selection = Field(
        default_factory=Selection, description="The documents that are asked; by default all."
    )

    def as_input(self) -> InputState:
        """Return the input of the graph."""
        return {"question": self.question, "user_context": self.user_context}


class Question(BareQuestion):
    """A question outside of stored threads, and the settings that its caller may choose."""

    history: list[Turn] = Field([], max_length=100, description="Earlier turns, if no thread stores them.")

    def as_input(self) -> InputState:
        """Return the input of the graph."""
        graph_input = super().as_input()
        if self.history:
            graph_input["history"] = [{"role": turn.role, "text": turn.text} for turn in self.history]
        return graph_input


@dataclass(frozen=True)
class Inquiry:
    """A question with who asks it, what it searches, and the thread that stores it."""

    question: BareQuestion
    # None for the operator's own index
    target: SearchTarget | None = None
    # None for the operator
    caller: Caller | None = None
    thread_id: str | None = None


class Answering:
    """Runs the graph with the operator's settings and those that a caller may choose.

    The methods raise InputError if the question or its settings cannot be used; Problem if the collection is
    empty, the server is too busy or the answer took too long; and ServedError after a failure that is not the
    caller's fault (the log has its cause).
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
        context = make_context(operator)
        self._serving, self._embeddings, self._where = context.serving, context.embeddings, context.where
        self.max_k = context.serving.max_k
        self._caller_settings = caller_settings(context, tuple(STRATEGIES))
        self._conversations = conversations
        store = conversations.store if conversations else None
        saver = conversations.saver if conversations else None
        self._retrieval = build_retrieval_graph().compile(store=store, name="adaptive_retriever")
        self._without_thread = AdaptiveRAG(store=store, **operator)
        self._with_threads = AdaptiveRAG(checkpointer=saver, store=store, **operator)
        self.gate = Gate(settings.max_running, settings.max_waiting, settings.max_per_person)
        self._time_limits = set[asyncio.Timeout]()
        self._is_stopping = False

    def stop(self) -> None:
        """End the questions in progress and refuse new ones, because the server is stopping."""
        self._is_stopping = True
        for time_limit in self._time_limits:
            if not time_limit.expired():
                time_limit.reschedule(asyncio.get_running_loop().time())

    def _context_for(self, inquiry: Inquiry) -> Context:
        """Return the settings of one question."""
        question, target = inquiry.question, inquiry.target
        nested = by_group(question.settings)
        check_settings(self._caller_settings, nested)
        allowed = self._caller_settings.model_validate(nested).model_dump(exclude_none=True)
        allowed["where"] = self.condition(question.only, target, allowed.get("where", ""))
        own: dict[str, Any] = {"user_id": inquiry.caller.id} if inquiry.caller else {}
        if target:
            source = self.open_index(target)
            # A path is enough to name a single index, and keeps the settings plain data.
            own["index"] = source if target.hidden or target.others else str(target.index)
        learned_router = self._settings.learned_router
        model, access = self._model.question_settings() if self._model else ({}, None)
        context = make_context(self._operator, model, allowed, own)
        router = learned_router if learned_router.exists() else None
        return context.for_caller(Served(router, access, question.only.to_metadata()))

    def condition(self, only: Selection, target: SearchTarget | None, where: str = "") -> str:
        """Join a caller's selection and `where` with the operator's condition; "" if there is none.

        For several collections, `open_index` applies the operator's condition.
        """
        return only.condition(where, "" if target and target.others else self._where)

    def open_index(self, target: SearchTarget) -> ChunkSource:
        """Open the index of a collection, or those of several as one; refuse (409) what cannot be asked."""
        if not target.others:
            return self._open_one_index(target)
        parts = (target, *target.others)
        indexes = {part.name: self._open_one_index(part, is_one_of_several=True) for part in parts}
        try:
            return UnitedIndex(indexes, read_where(self._where) if self._where else None)
        except IndexMismatchError:
            detail = (
                "These collections were indexed with different embedding models, so their passages cannot "
                "be compared. Ask them one at a time."
            )
            raise Problem(409, detail, type="models_differ") from None

    def _open_one_index(self, target: SearchTarget, *, is_one_of_several: bool = False) -> Index:
        if not _has_index(target):
            if is_one_of_several:
                raise Problem(409, f"{target.name} has no documents to search yet. Leave it out.")
            raise _nothing_to_search(target)
        try:
            index = open_source(str(target.index), self._embeddings)
        except IndexUnfinishedError:
            raise _nothing_to_search(target) from None
        except AdaptiveRAGError:
            if _has_index(target):
                raise
            raise not_found("collection") from None  # deleted meanwhile
        assert isinstance(index, Index), "the server makes indexes without shards"
        return index.without(target.hidden) if target.hidden else index

    async def answer(self, inquiry: Inquiry) -> OutputState:
        """Answer a question."""
        async with self._prepare_call(inquiry) as (rag, arguments):
            started = time.perf_counter()
            output = await rag.ainvoke(**arguments)
            count_answer(output, time.perf_counter() - started)
            return output

    async def search(self, inquiry: Inquiry) -> RetrievalState:
        """Find the passages from which a question would be answered."""
        async with self._prepare_call(inquiry) as (_, arguments):
            return cast(RetrievalState, await self._retrieval.ainvoke(**arguments))

    @asynccontextmanager
    async def stream(self, inquiry: Inquiry) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Yield the chunks of `AdaptiveRAG.astream` with drafts and steps, while the question is answered.

        A separate task answers it. The task does not wait for a slow reader, and is cancelled if the block
        is left before the answer. An error before the first chunk is raised on entry, a later one when the
        reader reaches it.
        """
        chunks: asyncio.Queue[dict[str, Any] | Exception | None] = asyncio.Queue()

        async def fill_queue() -> None:
            started, last = time.perf_counter(), None
            try:
                async with self._prepare_call(inquiry) as (rag, arguments):
                    async for chunk in rag.astream(**arguments, drafts=True, steps=True):
                        if "answer" in chunk:
                            last = chunk
                            count_answer(last, time.perf_counter() - started)
                        else:
                            chunks.put_nowait(chunk)
                # Sent only now, after the gate and the thread are free for the caller's next question.
                chunks.put_nowait(last)
            except Exception as error:
                chunks.put_nowait(error)
            chunks.put_nowait(None)

        async def read_queue(chunk: dict[str, Any] | Exception | None) -> AsyncIterator[dict[str, Any]]:
            while chunk is not None:
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
                chunk = await chunks.get()

        task = asyncio.create_task(fill_queue())
        try:
            first = await chunks.get()
            if isinstance(first, Exception):
                raise first
            yield read_queue(first)
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def compare(self, inquiry: Inquiry, routes: Sequence[str]) -> Comparison:
        """Answer a question by several routes, one after the other, and compare the answers."""
        question = inquiry.question
        async with self._prepare_call(inquiry) as (rag, arguments):
            comparison = await rag.acompare(
                question.question,
                routes=routes,
                user_context=question.user_context,
                context=arguments["context"],
            )
        for column in comparison.columns:
            count_answer(cast(OutputState, column.output), column.ms / 1000)
        return comparison

    @asynccontextmanager
    async def _prepare_call(self, inquiry: Inquiry) -> AsyncIterator[tuple[AdaptiveRAG, dict[str, Any]]]:
        """Reserve a place in the gate, and the thread; yield the graph and the arguments to call it with.

        Errors in the block are converted to errors that callers may read.
        """
        graph_input, caller, thread_id = inquiry.question.as_input(), inquiry.caller, inquiry.thread_id
        check_input(graph_input, self._serving)
        # This may open an index, which takes a while.
        context = await run_in_threadpool(self._context_for, inquiry)
        arguments: dict[str, Any] = {"input": graph_input, "context": context}
        # Without users, one user stands for many people, so the limit per person does not apply.
        person = caller.id if caller and caller.name != THIS_MACHINE else None
        rag = self._without_thread
        thread: AbstractAsyncContextManager[None] = nullcontext()
        if thread_id is not None:
            assert self._conversations is not None, "this server stores no threads"
            rag = self._with_threads
            thread = self._conversations.reserve(thread_id, inquiry.question.question)
            arguments |= {"config": {"configurable": {"thread_id": thread_id}}, "durability": "exit"}
        try:
            with track_question(), deadline():
                async with thread, self._limit_time(), self.gate.enter(person):
                    yield rag, arguments
        except InputError:
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
            target = inquiry.target
            if target and not all(map(_has_index, (target, *target.others))):
                raise not_found("collection") from None  # deleted meanwhile
            raise error if isinstance(error, ServedError) else served_error(error) from None

    @asynccontextmanager
    async def _limit_time(self) -> AsyncIterator[None]:
        if self._is_stopping:
            raise TimeoutError
        async with asyncio.timeout(self._settings.max_seconds) as time_limit:
            self._time_limits.add(time_limit)
            try:
                yield
            finally:
                self._time_limits.discard(time_limit)


def _has_index(target: SearchTarget) -> bool:
    # Not whether the folder exists: reading the table of a deleted index makes an empty one again.
    return (target.index / MANIFEST).exists()


def _nothing_to_search(target: SearchTarget) -> Problem:
    if waiting := target.count_waiting():
        documents, verb = ("1 document", "is") if waiting == 1 else (f"{waiting:,} documents", "are")
        detail = f"{documents} of this collection {verb} still being indexed. Ask again in a minute."
        return Problem(409, detail, type="being_indexed")
    detail = "This collection has no documents to search yet. Add some, and ask again."
    return Problem(409, detail, type="no_documents")
