"""Answers a caller's question over one collection: with what they may set, within the server's bounds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.context import Context, make_context
from adaptive_rag.context.caller import caller_settings, check_input, check_settings, served_error
from adaptive_rag.errors import AdaptiveRAGError, InputError
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.index.manifest import MANIFEST
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.server.gate import Gate
from adaptive_rag.server.metrics import count_answer, counting_inside
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.state import InputState, OutputState, RetrievalState


class Turn(BaseModel):
    """An earlier turn of a conversation that the server does not keep."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "agent"]
    text: str


class Question(BaseModel):
    """A question, and what its caller may set for it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"question": "When was the harbour founded?", "settings": {"route": "factual"}}]
        },
    )

    question: str = Field(min_length=1, max_length=20_000, description="What is asked.")
    user_context: str = Field("", max_length=20_000, description="Who asks, or in what situation.")
    history: list[Turn] = Field([], max_length=100, description="Earlier turns, where no thread keeps them.")
    settings: dict[str, Any] = Field(
        {}, description="Any of route, k, profile, where, retrieval.alpha and budget.deadline_s."
    )

    def as_input(self) -> InputState:
        """Return what the graph is given."""
        asked: InputState = {"question": self.question, "user_context": self.user_context}
        if self.history:
            asked["history"] = [{"role": turn.role, "text": turn.text} for turn in self.history]
        return asked


class Answering:
    """The graph, for callers. Its answers depend on the operator's settings and on what a caller may set."""

    def __init__(
        self,
        settings: ServerSettings,
        operator: Mapping[str, Any],
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        self._settings = settings
        self._operator = operator
        known = make_context(operator)
        self._serving = known.serving
        self._form = caller_settings(known, tuple(STRATEGIES))
        self._retrieval = build_retrieval_graph().compile(name="adaptive_retriever")
        self._alone = AdaptiveRAG(**operator)
        self._in_threads = AdaptiveRAG(checkpointer=checkpointer, **operator)
        self.gate = Gate(settings.max_running, settings.max_waiting)

    def context_for(self, index: Path | None, caller_id: str | None, given: Mapping[str, Any]) -> Context:
        """Return the settings of one question over one index; None is the operator's own.

        Raises:
            InputError: something is not for a caller to set, or beyond the server's bounds.
            Problem: 409; the collection has no documents that can be searched yet.
        """
        nested = _nested(given)
        check_settings(self._form, nested)
        if index is not None and not (index / MANIFEST).exists():
            raise Problem(409, "This collection has no documents to search yet. Add some, and ask again.")
        allowed = self._form.model_validate(nested).model_dump(exclude_none=True)
        place = {} if index is None else {"index": str(index)}
        return make_context(self._operator, allowed, place, user_id=caller_id)

    async def answer(
        self, asked: Question, index: Path | None, caller_id: str | None, thread_id: str | None = None
    ) -> OutputState:
        """Answer a question.

        Raises:
            InputError: the question, or what is set beside it, cannot be used.
            Problem: the collection is empty, the server has too much to do, or it took too long.
            ServedError: it failed for a reason that is not the caller's; the log has it.
        """
        async with self.running(asked, index, caller_id) as context:
            started = time.perf_counter()
            if thread_id is None:
                output = await self._alone.ainvoke(asked.as_input(), context=context)
            else:
                config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
                output = await self._in_threads.ainvoke(
                    asked.as_input(), config, context=context, durability="exit"
                )
            count_answer(output, time.perf_counter() - started)
            return output

    async def search(self, asked: Question, index: Path | None, caller_id: str | None) -> RetrievalState:
        """Find the passages that a question would be answered from.

        Raises:
            Exception: what `answer` raises.
        """
        async with self.running(asked, index, caller_id) as context:
            found = await self._retrieval.ainvoke(asked.as_input(), context=context)
            return cast(RetrievalState, found)

    @asynccontextmanager
    async def running(
        self, asked: Question, index: Path | None, caller_id: str | None
    ) -> AsyncIterator[Context]:
        """Hold a place for a question while it is answered; its errors become what callers may read."""
        check_input(asked.as_input(), self._serving)
        context = self.context_for(index, caller_id, asked.settings)
        try:
            with counting_inside():
                async with asyncio.timeout(self._settings.max_seconds), self.gate.enter():
                    yield context
        except InputError:
            raise
        except TimeoutError:
            raise Problem(504, "The answer took longer than this server allows.") from None
        except AdaptiveRAGError as error:
            raise served_error(error) from None


def _nested(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with "group.name" brought under its group."""
    nested: dict[str, Any] = {}
    for name, value in given.items():
        group, dot, part = name.partition(".")
        if dot and isinstance(nested.setdefault(group, {}), dict):
            nested[group][part] = value
        else:
            nested[name] = value
    return nested
