"""Questions to several collections at once: each must be open to the caller, and they are searched as one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.sse import EventSourceResponse
from pydantic import AfterValidator, BaseModel, Field

from adaptive_rag.server.access import collection_open_to
from adaptive_rag.server.answering import Question
from adaptive_rag.server.api.ask import (
    EVENTS,
    Answer,
    Asking,
    ComparedQuestion,
    ComparisonShown,
    Events,
    ask_of,
)
from adaptive_rag.server.calls import ASKING, AnyCall, Call
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.roles import Action
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


def collections_open_to(call: Call, names: list[str], action: Action = Action.ASK) -> list[Collection]:
    """Return collections by name, if the caller may do something in them all."""
    try:
        return [collection_open_to(call.db, call.caller, name, action) for name in names]
    except Problem as refused:
        if len(names) == 1:
            raise
        detail = "One of these collections does not exist, or is not open to you. Nothing was asked."
        raise Problem(refused.status_code, detail, type="not_found") from None


def _of_several(asked: OfSeveral, call: AnyCall) -> Asking:
    return ask_of(call, *collections_open_to(call, asked.collections))


Several = Annotated[Asking, Depends(_of_several)]


async def _stream(asked: QuestionToSeveral, asking: Several) -> AsyncIterator[Events]:
    async with asking.stream(asked) as events:
        yield events


@router.post("/ask")
async def ask_several(asked: QuestionToSeveral, asking: Several) -> Answer:
    """Answer a question from the documents of several collections."""
    return await asking.answer(asked)


@router.post("/ask/events", response_class=EventSourceResponse, responses=EVENTS)
async def ask_several_with_events(events: Annotated[Events, Depends(_stream)]) -> Events:
    """Answer a question to several collections with the events of a collection's /ask/events."""
    async for event in events:
        yield event


@router.post("/compare")
async def compare_in_several(asked: ComparedInSeveral, asking: Several) -> ComparisonShown:
    """Answer a question to several collections by two routes, as a collection's /compare does."""
    return await asking.compare(asked)
