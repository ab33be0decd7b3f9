"""Endpoints to ask a collection a question: for the answer alone, with progress events, or by two routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.compare import Overlap
from adaptive_rag.server.answering import BareQuestion, Question
from adaptive_rag.server.api.forms import Confidence, Grounding, Route
from adaptive_rag.server.calls import ASKING, AskCall, Call
from adaptive_rag.server.conversations import PARTS
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.problems import Problem, details_of
from adaptive_rag.server.tables import Collection
from adaptive_rag.state import AnswerPart, Candidate, Citation, OutputState, QueryAnalysis, TraceRecord

router = APIRouter(prefix="/collections/{collection}", tags=["questions"], dependencies=[ASKING])

Chunks = AsyncIterator[dict[str, Any]]
Events = AsyncIterator[ServerSentEvent]
Answered = TypeVar("Answered")
_CITED = {
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
    "citations": [_CITED],
    "query_type": "factual",
    "confidence": 0.93,
    "grounding": 1.0,
    "abstained": False,
}
_STREAM = (
    'event: step\ndata: {"id": "8", "name": "classify", "strategy": null, "state": "started"}'
    '\n\nevent: draft\ndata: "The harbour"\n\n'
)
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"example": _STREAM}}}}


class Quality(BaseModel):
    """How far an answer can be relied on."""

    query_type: str = Field(description="The route that was taken.")
    confidence: Confidence
    grounding: Grounding
    abstained: bool = Field(description="The documents do not hold an answer.")


class Answer(Quality):
    """An answer, and how it came about."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    turn: str | None = Field(None, description="The id of its turn, if it was asked in a thread.")
    answer: str
    parts: list[AnswerPart] = PARTS
    citations: list[Citation] = Field(description="What the marks [1], [2] ... in the answer stand for.")
    analysis: QueryAnalysis
    documents: list[Candidate] = Field(description="The passages that were read; [1] is the first.")
    trace: list[TraceRecord]


class ComparedQuestion(BareQuestion):
    """A question for two routes."""

    routes: Annotated[list[Route], Field(max_length=2)] = Field(
        [],
        description="One route stands beside the way that the question takes by itself; without any, "
        "that way stands beside the second likeliest route.",
        examples=[["factual", "opinion"]],
    )


class ColumnShown(BaseModel):
    """One way to answer the question."""

    name: str
    route: list[str] = Field(description="The strategies that ran: two where the router was unsure.")
    answer: Answer
    calls: int = Field(description="Calls of chat models.")
    ms: float


class ComparisonShown(BaseModel):
    """A question with its answers side by side."""

    question: str
    columns: list[ColumnShown]
    passages: Overlap = Field(description="By the ids of the chunks that were read.")
    sentences: Overlap = Field(description="By the words of the answers, without marks.")
    places: dict[str, dict[str, Any]] = Field(
        description="Where each chunk stands: source, page, start, end."
    )


@dataclass(frozen=True)
class Asking:
    """The caller of a question, the index that it searches, and its thread, if any."""

    call: Call
    index: Searched
    thread_id: str | None = None

    async def answer(self, asked: BareQuestion) -> Answer:
        """Answer a question; if its caller goes away, the work ends."""
        answering, who = self.call.parts.answering, self.call.caller.id
        work = answering.answer(asked, self.index, who, self.thread_id)
        return answer_of(await unless_gone(self.call.request, work), in_thread=self.thread_id is not None)

    @asynccontextmanager
    async def stream(self, asked: BareQuestion) -> AsyncIterator[Events]:
        """Begin to answer a question, and yield its events."""
        answering, who = self.call.parts.answering, self.call.caller.id
        async with answering.stream(asked, self.index, who, self.thread_id) as chunks:
            yield _events_of(chunks, in_thread=self.thread_id is not None)

    async def compare(self, asked: ComparedQuestion) -> ComparisonShown:
        """Answer a question by two routes."""
        work = self.call.parts.answering.compare(asked, asked.routes, self.index, self.call.caller.id)
        found = await unless_gone(self.call.request, work)
        columns = [ColumnShown(**vars(one) | {"answer": answer_of(one.output)}) for one in found.columns]
        return ComparisonShown(**vars(found) | {"columns": columns})


def ask_of(call: Call, *collections: Collection, thread_id: str | None = None) -> Asking:
    """Prepare a question over some collections, and release the database connection before the answer."""
    call.db.close()
    return Asking(call, call.parts.index_of(*collections), thread_id)


def _of_collection(call: AskCall) -> Asking:
    return ask_of(call, call.collection)


OfCollection = Annotated[Asking, Depends(_of_collection)]


async def _stream(asked: Question, asking: OfCollection) -> AsyncIterator[Events]:
    async with asking.stream(asked) as events:
        yield events


@router.post("/ask")
async def ask(asked: Question, asking: OfCollection) -> Answer:
    """Answer a question from the documents of a collection."""
    return await asking.answer(asked)


@router.post("/ask/events", response_class=EventSourceResponse, responses=EVENTS)
async def ask_with_events(events: Annotated[Events, Depends(_stream)]) -> Events:
    """Answer a question, with events about the progress; the data of each event is JSON.

    `step`: a step starts or has ended, then with its record of the trace. `route`: the analysis of the
    question. `passages`: those selected so far; a later list takes the place of an earlier one. `draft`: a
    piece of what a model writes; an empty one says that it begins anew. Last comes `answer`, as /ask gives
    it, or `problem`, as an error would be answered. If the caller disconnects, the work ends.
    """
    async for event in events:
        yield event


@router.post("/compare")
async def compare(asked: ComparedQuestion, asking: OfCollection) -> ComparisonShown:
    """Answer a question by two routes, and say what their answers and passages share."""
    return await asking.compare(asked)


async def unless_gone(request: Request, answer: Coroutine[Any, Any, Answered]) -> Answered:
    """Return an answer; if its caller disconnects, cancel the work, since many callers ask again at once."""
    work, gone = asyncio.create_task(answer), asyncio.create_task(_wait_until_gone(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise Problem(408, "The caller went away before the answer.")
    finally:
        work.cancel()
        gone.cancel()
        await asyncio.wait({work, gone})


async def _wait_until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _events_of(chunks: Chunks, *, in_thread: bool) -> Events:
    """Convert the chunks of a streamed answer to server-sent events."""
    try:
        async for chunk in chunks:
            if "answer" in chunk:
                yield ServerSentEvent(event="answer", data=answer_of(chunk, in_thread=in_thread))
            else:
                for name, data in chunk.items():
                    yield ServerSentEvent(event=name, data=data)
    except Exception as error:
        yield ServerSentEvent(event="problem", data=details_of(error))


def answer_of(output: OutputState | dict[str, Any], *, in_thread: bool = False) -> Answer:
    """Convert the graph's output to the response model."""
    facts = {name: output[name] for name in Answer.model_fields.keys() - {"turn"}}  # type: ignore[literal-required]
    return Answer.model_validate(facts | {"turn": output["messages"][-1].id if in_thread else None})
