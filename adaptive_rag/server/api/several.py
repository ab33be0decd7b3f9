"""Questions to several collections at once: each must be open to the caller, and they are searched as one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import AfterValidator, BaseModel, Field
from sqlalchemy.orm import Session

from adaptive_rag.server.access import Caller, collection_open_to
from adaptive_rag.server.answering import Question
from adaptive_rag.server.api.ask import (
    EVENTS,
    Answer,
    Chunks,
    ComparedQuestion,
    ComparisonShown,
    answer_of,
    compared,
    events_of,
    unless_gone,
)
from adaptive_rag.server.calls import ASKING, AnyCall
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.selection import MOST_COLLECTIONS
from adaptive_rag.server.tables import Collection

router = APIRouter(tags=["questions"], dependencies=[ASKING])

CollectionName = Annotated[str, Field(max_length=200)]
Names = Annotated[
    list[CollectionName],
    Field(
        min_length=1,
        max_length=MOST_COLLECTIONS,
        description="Collections that are searched together. Of several, the names of documents begin with "
        "their collection: `handbook/notice.md`.",
        examples=[["handbook", "minutes"]],
    ),
    AfterValidator(lambda names: list(dict.fromkeys(names))),
]


class OfSeveral(BaseModel):
    """What is done over several collections."""

    collections: Names


class QuestionToSeveral(Question, OfSeveral):
    """A question to several collections."""


class ComparedInSeveral(ComparedQuestion, OfSeveral):
    """A question to several collections, for two routes."""


def collections_open_to(db: Session, caller: Caller, names: list[str]) -> list[Collection]:
    """Return collections by name, if the caller may read them all."""
    try:
        return [collection_open_to(db, caller, name) for name in names]
    except Problem as refused:
        if len(names) == 1:
            raise
        detail = "One of these collections does not exist, or is not open to you. Nothing was asked."
        raise Problem(refused.status_code, detail, type="not_found") from None


def _indexes_to_ask(asked: OfSeveral, call: AnyCall) -> Searched:
    found = collections_open_to(call.db, call.caller, asked.collections)
    call.db.close()
    return call.parts.index_of(*found)


def _of_question(asked: QuestionToSeveral, call: AnyCall) -> Searched:
    return _indexes_to_ask(asked, call)


def _of_comparison(asked: ComparedInSeveral, call: AnyCall) -> Searched:
    return _indexes_to_ask(asked, call)


IndexesToAsk = Annotated[Searched, Depends(_of_question)]


async def _open_stream(asked: QuestionToSeveral, index: IndexesToAsk, call: AnyCall) -> AsyncIterator[Chunks]:
    async with call.parts.answering.stream(asked, index, call.caller.id) as chunks:
        yield chunks


@router.post("/ask")
async def ask_several(asked: QuestionToSeveral, index: IndexesToAsk, call: AnyCall) -> Answer:
    """Answer a question from the documents of several collections."""
    work = call.parts.answering.answer(asked, index, call.caller.id)
    return answer_of(await unless_gone(call.request, work))


@router.post("/ask/events", response_class=EventSourceResponse, responses=EVENTS)
async def ask_several_with_events(
    chunks: Annotated[Chunks, Depends(_open_stream)],
) -> AsyncIterator[ServerSentEvent]:
    """Answer a question to several collections with the events of a collection's /ask/events."""
    async for event in events_of(chunks):
        yield event


@router.post("/compare")
async def compare_in_several(
    asked: ComparedInSeveral, index: Annotated[Searched, Depends(_of_comparison)], call: AnyCall
) -> ComparisonShown:
    """Answer a question to several collections by two routes, as a collection's /compare does."""
    return await compared(asked, index, call)
