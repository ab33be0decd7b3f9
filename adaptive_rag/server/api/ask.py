"""Ask a collection a question: for the answer alone, or for all that happens on the way to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.server.access import ReadableCollection
from adaptive_rag.server.answering import Question
from adaptive_rag.server.database import Db
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.problems import Problem, details_of
from adaptive_rag.server.rates import AskingCaller
from adaptive_rag.server.services import Parts
from adaptive_rag.state import Candidate, Citation, OutputState, QueryAnalysis, TraceRecord

router = APIRouter(prefix="/collections/{collection}", tags=["questions"])

Chunks = AsyncIterator[dict[str, Any]]
Answered = TypeVar("Answered")
EXAMPLE: dict[str, Any] = {
    "answer": "The harbour of Saltmere was founded in 1612. [1]",
    "citations": [
        {
            "marker": 1,
            "source": "saltmere.md",
            "page": None,
            "place": {"section": "History", "lines": [12, 12]},
            "start": 410,
            "end": 450,
            "quote": "The harbour of Saltmere was founded in 1612.",
        }
    ],
    "query_type": "factual",
    "confidence": 0.93,
    "grounding": 1.0,
    "abstained": False,
}
EVENTS = {
    "text/event-stream": {
        "example": 'event: step\ndata: {"id": "8", "name": "classify", "strategy": null, "state": "started"}'
        '\n\nevent: draft\ndata: "The harbour"\n\n'
    }
}


class Answer(BaseModel):
    """An answer, and how it came about."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    answer: str
    citations: list[Citation] = Field(description="What the marks [1], [2] ... in the answer stand for.")
    query_type: str = Field(description="The route that was taken.")
    analysis: QueryAnalysis
    confidence: float | None = Field(
        description="How likely the passages that were read answer the question, 0 to 1; null where nothing "
        "judged them."
    )
    grounding: float = Field(
        description="Share of the answer's claims that the passages support; 1 for quotes of the documents."
    )
    abstained: bool = Field(description="The documents do not hold an answer.")
    documents: list[Candidate] = Field(description="The passages that were read; [1] is the first.")
    trace: list[TraceRecord]


def index_to_ask(found: ReadableCollection, db: Db, parts: Parts) -> Searched:
    """Return the index of a collection, and free the database while its question is answered."""
    db.close()
    return parts.index_of(found)


IndexToAsk = Annotated[Searched, Depends(index_to_ask)]


async def _open_stream(
    asked: Question, index: IndexToAsk, caller: AskingCaller, parts: Parts
) -> AsyncIterator[Chunks]:
    async with parts.answering.stream(asked, index, caller.id) as chunks:
        yield chunks


@router.post("/ask")
async def ask(
    asked: Question, index: IndexToAsk, caller: AskingCaller, parts: Parts, request: Request
) -> Answer:
    """Answer a question from the documents of a collection."""
    return answer_of(await unless_gone(request, parts.answering.answer(asked, index, caller.id)))


@router.post("/ask/events", response_class=EventSourceResponse, responses={200: {"content": EVENTS}})
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


async def unless_gone(request: Request, answer: Coroutine[Any, Any, Answered]) -> Answered:
    """Return an answer; where its caller goes away, end the work on it: many ask again at once."""
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


async def events_of(chunks: Chunks) -> AsyncIterator[ServerSentEvent]:
    """Name what comes on the way to an answer as events."""
    try:
        async for chunk in chunks:
            if "answer" in chunk:
                yield ServerSentEvent(event="answer", data=answer_of(chunk))
            else:
                for name, data in chunk.items():
                    yield ServerSentEvent(event=name, data=data)
    except Exception as error:
        yield ServerSentEvent(event="problem", data=details_of(error))


def answer_of(output: OutputState | dict[str, Any]) -> Answer:
    """Return the graph's output as it is sent."""
    return Answer.model_validate({name: output[name] for name in Answer.model_fields})  # type: ignore[literal-required]
