"""Questions to several collections, which must all be open to the caller and are searched as one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.sse import EventSourceResponse
from pydantic import AfterValidator, BaseModel, Field

from adaptive_rag.server.answering import Question
from adaptive_rag.server.api.ask import (
    EVENT_RESPONSES,
    Answer,
    AskContext,
    ComparedQuestion,
    ComparisonShown,
    Events,
    ask_context,
)
from adaptive_rag.server.calls import AnyCall, Call, count
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.roles import Action
from adaptive_rag.server.selection import MOST_COLLECTIONS
from adaptive_rag.server.tables import Collection

router = APIRouter(tags=["questions"], dependencies=[count("question")])

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


class WithCollections(BaseModel):
    """A request over several collections."""

    collections: Names


class QuestionToSeveral(Question, WithCollections):
    """A question to several collections."""


class ComparedInSeveral(ComparedQuestion, WithCollections):
    """A question to several collections, for two routes."""


def require_collections(call: Call, names: list[str], action: Action) -> list[Collection]:
    """Return collections in which the caller may do an action; a refusal does not tell which one is meant."""
    try:
        return [call.open_collection(name, action).collection for name in names]
    except Problem as refused:
        if len(names) == 1:
            raise
        detail = "One of these collections does not exist, or is not open to you. Nothing was asked."
        raise Problem(refused.status_code, detail, type="not_found") from None


def _several_context(question: WithCollections, call: AnyCall) -> AskContext:
    return ask_context(call, *require_collections(call, question.collections, Action.ASK))


SeveralContext = Annotated[AskContext, Depends(_several_context)]


async def _stream(question: QuestionToSeveral, context: SeveralContext) -> AsyncIterator[Events]:
    async with context.stream(question) as events:
        yield events


@router.post("/ask")
async def ask_several(question: QuestionToSeveral, context: SeveralContext) -> Answer:
    """Answer a question from the documents of several collections."""
    return await context.answer(question)


@router.post("/ask/events", response_class=EventSourceResponse, responses=EVENT_RESPONSES)
async def ask_several_with_events(events: Annotated[Events, Depends(_stream)]) -> Events:
    """Answer a question to several collections with the events of a collection's /ask/events."""
    async for event in events:
        yield event


@router.post("/compare")
async def compare_in_several(question: ComparedInSeveral, context: SeveralContext) -> ComparisonShown:
    """Answer a question to several collections by two routes, as a collection's /compare does."""
    return await context.compare(question)
