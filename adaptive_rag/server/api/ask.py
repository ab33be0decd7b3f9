"""Endpoints to ask a collection a question: for the answer alone, with progress events, or by two routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.compare import Overlap
from adaptive_rag.server.answering import BareQuestion, Question
from adaptive_rag.server.api.forms import Confidence, Grounding, Route
from adaptive_rag.server.calls import ASKING, AnyCall, Call, ReadCall
from adaptive_rag.server.conversations import PARTS
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.problems import Problem, details_of
from adaptive_rag.state import AnswerPart, Candidate, Citation, OutputState, QueryAnalysis, TraceRecord

router = APIRouter(prefix="/collections/{collection}", tags=["questions"], dependencies=[ASKING])

Chunks = AsyncIterator[dict[str, Any]]
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


def index_to_ask(call: ReadCall) -> Searched:
    """Return the index of a collection, and release the database connection before the answer."""
    call.db.close()
    return call.parts.index_of(call.collection)


IndexToAsk = Annotated[Searched, Depends(index_to_ask)]


async def _open_stream(asked: Question, index: IndexToAsk, call: AnyCall) -> AsyncIterator[Chunks]:
    async with call.parts.answering.stream(asked, index, call.caller.id) as chunks:
        yield chunks


@router.post("/ask")
async def ask(asked: Question, index: IndexToAsk, call: AnyCall) -> Answer:
    """Answer a question from the documents of a collection."""
    work = call.parts.answering.answer(asked, index, call.caller.id)
    return answer_of(await unless_gone(call.request, work))


@router.post("/ask/events", response_class=EventSourceResponse, responses=EVENTS)
async def ask_with_events(
    chunks: Annotated[Chunks, Depends(_open_stream)],
) -> AsyncIterator[ServerSentEvent]:
    """Answer a question, and tell what happens meanwhile, each event with its data as JSON.

    `step`: a step starts or has ended, then with its record of the trace. `route`: the analysis of the
    question. `passages`: those selected so far; a later list takes the place of an earlier one. `draft`: a
    piece of what a model writes; an empty one says that it begins anew. Last comes `answer`, as /ask gives
    it, or `problem`, as an error would be answered. Who goes away ends the work on their question.
    """
    async for event in events_of(chunks):
        yield event


@router.post("/compare")
async def compare(asked: ComparedQuestion, index: IndexToAsk, call: AnyCall) -> ComparisonShown:
    """Answer a question by two routes, and say what their answers and passages share."""
    return await compared(asked, index, call)


async def compared(asked: ComparedQuestion, index: Searched, call: Call) -> ComparisonShown:
    """Compare two routes of a question over what is searched."""
    work = call.parts.answering.compare(asked, asked.routes, index, call.caller.id)
    comparison = await unless_gone(call.request, work)
    columns = [
        ColumnShown(name=one.name, route=one.route, answer=answer_of(one.output), calls=one.calls, ms=one.ms)
        for one in comparison.columns
    ]
    return ComparisonShown(
        question=comparison.question,
        columns=columns,
        passages=comparison.passages,
        sentences=comparison.sentences,
        places=comparison.places,
    )


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


async def events_of(chunks: Chunks, *, in_thread: bool = False) -> AsyncIterator[ServerSentEvent]:
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
