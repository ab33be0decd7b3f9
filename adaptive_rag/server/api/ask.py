"""Endpoints to ask a collection a question: for the answer alone, with progress events, or by two routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from langchain_core.messages import AIMessage
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.compare import Overlap
from adaptive_rag.server.answering import BareQuestion, Inquiry, Question
from adaptive_rag.server.api.forms import Route
from adaptive_rag.server.calls import AskCall, Call, count
from adaptive_rag.server.conversations import PARTS
from adaptive_rag.server.folders import SearchTarget
from adaptive_rag.server.problems import Problem, problem_details
from adaptive_rag.server.shown import Quality
from adaptive_rag.server.tables import Collection
from adaptive_rag.state import AnswerPart, Candidate, Citation, OutputState, QueryAnalysis, TraceRecord

router = APIRouter(prefix="/collections/{collection}", tags=["questions"], dependencies=[count("question")])

Chunks = AsyncIterator[dict[str, Any]]
Events = AsyncIterator[ServerSentEvent]
Result = TypeVar("Result")
_EXAMPLE_CITATION = {
    "marker": 1,
    "source": "saltmere.md",
    "page": None,
    "place": {"section": "History", "lines": [12, 12]},
    "start": 410,
    "end": 450,
    "quote": "The harbour of Saltmere was founded in 1612.",
}
EXAMPLE: dict[str, Any] = {
    "answer": "The harbour of Saltmere was founded in 1612. [1]",
    "parts": [
        {"text": "The harbour of Saltmere was founded in 1612. "},
        {"text": "[1]", "citation": 0},
    ],
    "citations": [_EXAMPLE_CITATION],
    "query_type": "factual",
    "confidence": 0.93,
    "grounding": 1.0,
    "outcome": "answer",
    "abstained": False,
}
_EXAMPLE_STREAM = (
    'event: step\ndata: {"id": "8", "name": "classify", "strategy": null, "state": "started"}'
    '\n\nevent: draft\ndata: "The harbour"\n\n'
)
EVENT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"example": _EXAMPLE_STREAM}}}
}


class Answer(Quality):
    """An answer with its analysis, passages and trace."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    turn: str | None = Field(None, description="The id of its turn, if it was asked in a thread.")
    number: int | None = Field(None, description="The number of its turn in the thread, from 1.")
    query_type: str = Field(description="The route that was taken.")
    answer: str
    parts: list[AnswerPart] = PARTS
    citations: list[Citation] = Field(description="What the markers [1], [2] ... in the answer stand for.")
    analysis: QueryAnalysis
    documents: list[Candidate] = Field(description="The passages that were read; [1] is the first.")
    trace: list[TraceRecord]


class ComparedQuestion(BareQuestion):
    """A question for two routes."""

    routes: Annotated[list[Route], Field(max_length=2)] = Field(
        [],
        description="With one route, its answer is compared with that of the router's choice; with none, the "
        "router's choice is compared with the second likeliest route.",
        examples=[["factual", "opinion"]],
    )


class ColumnShown(BaseModel):
    """One way to answer the question."""

    name: str
    route: list[str] = Field(description="The strategies that ran: two if the router was unsure.")
    answer: Answer
    calls: int = Field(description="Calls of chat models.")
    ms: float


class ComparisonShown(BaseModel):
    """A question with its answers side by side."""

    question: str
    columns: list[ColumnShown]
    passages: Overlap = Field(description="Overlap by the ids of the chunks that were read.")
    sentences: Overlap = Field(description="Overlap by the words of the answers, without markers.")
    places: dict[str, dict[str, Any]] = Field(
        description="The place of each chunk: source, page, start, end."
    )


@dataclass(frozen=True)
class AskContext:
    """The request of a question, what it searches, and its thread, if any."""

    call: Call
    target: SearchTarget
    thread_id: str | None = None

    async def answer(self, question: BareQuestion) -> Answer:
        """Answer a question; if the caller disconnects, the work is cancelled."""
        work = self.call.services.answering.answer(self._inquiry(question))
        return build_answer(
            await cancel_on_disconnect(self.call.request, work), in_thread=self.thread_id is not None
        )

    @asynccontextmanager
    async def stream(self, question: BareQuestion) -> AsyncIterator[Events]:
        """Start to answer a question, and yield its events."""
        async with self.call.services.answering.stream(self._inquiry(question)) as chunks:
            yield _convert_to_events(chunks, in_thread=self.thread_id is not None)

    async def compare(self, question: ComparedQuestion) -> ComparisonShown:
        """Answer a question by two routes."""
        work = self.call.services.answering.compare(self._inquiry(question), question.routes)
        comparison = await cancel_on_disconnect(self.call.request, work)
        columns = [
            ColumnShown(**vars(column) | {"answer": build_answer(column.output)})
            for column in comparison.columns
        ]
        return ComparisonShown(**vars(comparison) | {"columns": columns})

    def _inquiry(self, question: BareQuestion) -> Inquiry:
        return Inquiry(question, self.target, self.call.caller, self.thread_id)


def ask_context(call: Call, *collections: Collection, thread_id: str | None = None) -> AskContext:
    """Prepare a question to some collections; release the database connection, since an answer takes long."""
    call.db.close()
    return AskContext(call, call.services.search_target(*collections), thread_id)


def _collection_context(call: AskCall) -> AskContext:
    return ask_context(call, call.collection)


CollectionContext = Annotated[AskContext, Depends(_collection_context)]


async def _stream(question: Question, context: CollectionContext) -> AsyncIterator[Events]:
    async with context.stream(question) as events:
        yield events


@router.post("/ask")
async def ask(question: Question, context: CollectionContext) -> Answer:
    """Answer a question from the documents of a collection."""
    return await context.answer(question)


@router.post("/ask/events", response_class=EventSourceResponse, responses=EVENT_RESPONSES)
async def ask_with_events(events: Annotated[Events, Depends(_stream)]) -> Events:
    """Answer a question, with events about the progress; the data of each event is JSON.

    `step`: a step starts, or has ended, then with its record of the trace. `route`: the analysis of the
    question. `passages`: those selected so far; a later list replaces an earlier one. `draft`: a piece of
    what a model writes; an empty one means that it starts again. The last event is `answer`, as /ask returns
    it, or `problem`, as an error would be answered. If the caller disconnects, the work ends.
    """
    async for event in events:
        yield event


@router.post("/compare")
async def compare(question: ComparedQuestion, context: CollectionContext) -> ComparisonShown:
    """Answer a question by two routes, and report what their answers and passages share."""
    return await context.compare(question)


async def cancel_on_disconnect(request: Request, answer: Coroutine[Any, Any, Result]) -> Result:
    """Await an answer; if the caller disconnects, cancel it (408), since many callers ask again at once."""
    work, disconnected = asyncio.create_task(answer), asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({work, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise Problem(408, "The caller went away before the answer.")
    finally:
        work.cancel()
        disconnected.cancel()
        await asyncio.wait({work, disconnected})


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _convert_to_events(chunks: Chunks, *, in_thread: bool) -> Events:
    """Convert the chunks of a streamed answer to server-sent events."""
    try:
        async for chunk in chunks:
            if "answer" in chunk:
                yield ServerSentEvent(event="answer", data=build_answer(chunk, in_thread=in_thread))
            else:
                for name, data in chunk.items():
                    yield ServerSentEvent(event=name, data=data)
    except Exception as error:
        yield ServerSentEvent(event="problem", data=problem_details(error))


def build_answer(output: OutputState | dict[str, Any], *, in_thread: bool = False) -> Answer:
    """Convert the graph's output to the response model."""
    names = Answer.model_fields.keys() - {"turn", "number"}
    fields = {name: output[name] for name in names}  # type: ignore[literal-required]
    if in_thread:
        messages = output["messages"]
        fields |= {"turn": messages[-1].id, "number": sum(isinstance(each, AIMessage) for each in messages)}
    return Answer.model_validate(fields)
