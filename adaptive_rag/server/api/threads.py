"""Conversations that the server keeps: each is its owner's alone, while they may read its collection."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from adaptive_rag.server.access import CurrentCaller, OwnThread, ReadableCollection, threads_of
from adaptive_rag.server.answering import BareQuestion
from adaptive_rag.server.api.ask import (
    EVENTS,
    Answer,
    Chunks,
    answer_of,
    events_of,
    index_to_ask,
    unless_gone,
)
from adaptive_rag.server.api.feedback import FeedbackShown, feedback_in
from adaptive_rag.server.api.pages import Page, Part, page_of
from adaptive_rag.server.conversations import TurnShown, format_markdown
from adaptive_rag.server.database import Db
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.quotas import check_threads, check_turns
from adaptive_rag.server.rates import AskingCaller, ChangingCaller
from adaptive_rag.server.services import Parts
from adaptive_rag.server.tables import Collection, Thread
from adaptive_rag.text.visible import visible

router = APIRouter(tags=["threads"])

Title = Annotated[
    str,
    Field(max_length=200, examples=["Storms of 1953"]),
    AfterValidator(lambda title: visible(title).strip()),
]


class NewThread(BaseModel):
    """A thread that is begun."""

    model_config = ConfigDict(extra="forbid")

    title: Title = Field("", description="By default its first question.")


class Renamed(BaseModel):
    """A thread's new title."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[Title, Field(min_length=1)]


class Branch(BaseModel):
    """A thread that begins as another did."""

    model_config = ConfigDict(extra="forbid")

    turns: int = Field(ge=0, le=1000, description="So many questions, with their answers, are in both.")


class ThreadShown(BaseModel):
    """A thread as its owner sees it."""

    id: str
    title: str
    collection: str
    created: datetime
    updated: datetime


class TurnWithFeedback(TurnShown):
    """A question of a thread with its answer, and what you think of it."""

    feedback: FeedbackShown | None = Field(description="Your newest feedback on the answer.")


class ThreadWithTurns(ThreadShown):
    """A thread with all that was asked and answered."""

    turns: list[TurnWithFeedback]


@router.post("/collections/{collection}/threads", status_code=201)
def create_thread(new: NewThread, caller: ChangingCaller, found: ReadableCollection, db: Db) -> ThreadShown:
    """Begin a thread over a collection."""
    check_threads(db, caller)
    row = Thread(owner_id=caller.id, collection_id=found.id, title=new.title)
    db.add(row)
    db.commit()
    return _shown(db, row)


@router.post("/threads/{thread}/branches", status_code=201)
def branch_thread(
    branch: Branch, caller: ChangingCaller, found: OwnThread, db: Db, parts: Parts
) -> ThreadShown:
    """Begin a thread with the first questions and answers of another, which stays as it is."""
    check_threads(db, caller)
    row = Thread(owner_id=caller.id, collection_id=found.collection_id, title="")
    db.add(row)
    db.flush()
    parts.conversations.copy(found.id, branch.turns, row.id)
    db.commit()
    return _shown(db, row)


@router.get("/threads")
def list_threads(
    caller: CurrentCaller,
    db: Db,
    part: Part,
    collection: str | None = None,
    search: Annotated[str, Field(max_length=200, description="A part of the title.")] = "",
) -> Page[ThreadShown]:
    """List your threads, the one that was continued last first."""
    query = threads_of(caller).where(Thread.title.icontains(search, autoescape=True))
    if collection is not None:
        query = query.where(Collection.name == collection)
    query = query.order_by(Thread.updated.desc(), Thread.id)
    return page_of(db, query, part, lambda row: _shown(db, row))


@router.get("/threads/{thread}")
def show_thread(found: OwnThread, db: Db, parts: Parts) -> ThreadWithTurns:
    """Show a thread with its questions and answers."""
    given = feedback_in(found.id, db)
    turns = [
        TurnWithFeedback(**dict(turn), feedback=given.get(turn.number))
        for turn in parts.conversations.turns(found.id)
    ]
    return ThreadWithTurns(**_shown(db, found).model_dump(), turns=turns)


@router.patch("/threads/{thread}")
def rename_thread(renamed: Renamed, caller: ChangingCaller, found: OwnThread, db: Db) -> ThreadShown:
    """Give a thread another title."""
    found.title = renamed.title
    db.commit()
    return _shown(db, found)


@router.delete("/threads/{thread}", status_code=204)
def delete_thread(found: OwnThread, db: Db, parts: Parts) -> None:
    """Delete a thread with all that was said in it."""
    db.delete(found)
    db.commit()
    parts.conversations.forget(found.id)


@router.get(
    "/threads/{thread}/export",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {}, "application/json": {}}}},
)
def export_thread(
    found: OwnThread, db: Db, parts: Parts, form: Literal["markdown", "json"] = "markdown"
) -> Response:
    """Download a thread as a text or as data."""
    shown = show_thread(found, db, parts)
    name = quote(f"{_file_name(shown.title)}.{'json' if form == 'json' else 'md'}")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    if form == "json":
        return JSONResponse(shown.model_dump(mode="json"), headers=headers)
    text = format_markdown(shown.title, shown.turns)
    return PlainTextResponse(text, headers=headers, media_type="text/markdown")


def _file_name(title: str) -> str:
    """Return what a title is called as a file: its words, without what file systems do not take."""
    words = " ".join(re.sub(r'[\\/:*?"<>|\x00-\x1f]+', " ", title).split())
    return words[:80].strip(" .") or "thread"


def index_of_thread(found: OwnThread, db: Db, parts: Parts) -> Searched:
    """Return the index that a thread is about, and free the database while its question is answered.

    Raises:
        Problem: 413; the thread is as long as one may be.
    """
    check_turns(parts.conversations.turns(found.id))
    return index_to_ask(db.get_one(Collection, found.collection_id), db, parts)


IndexOfThread = Annotated[Searched, Depends(index_of_thread)]


async def _open_stream(
    asked: BareQuestion, found: OwnThread, index: IndexOfThread, caller: AskingCaller, parts: Parts
) -> AsyncIterator[Chunks]:
    async with parts.answering.stream(asked, index, caller.id, found.id) as chunks:
        yield chunks


@router.post("/threads/{thread}/ask")
async def ask_in_thread(
    asked: BareQuestion,
    found: OwnThread,
    index: IndexOfThread,
    caller: AskingCaller,
    parts: Parts,
    request: Request,
) -> Answer:
    """Answer a question in the light of what was said before it; one at a time."""
    return answer_of(await unless_gone(request, parts.answering.answer(asked, index, caller.id, found.id)))


@router.post(
    "/threads/{thread}/ask/events", response_class=EventSourceResponse, responses={200: {"content": EVENTS}}
)
async def ask_in_thread_with_events(
    chunks: Annotated[Chunks, Depends(_open_stream)],
) -> AsyncIterator[ServerSentEvent]:
    """Answer a question in a thread with the events of a collection's /ask/events."""
    async for event in events_of(chunks):
        yield event


def _shown(db: Db, row: Thread) -> ThreadShown:
    return ThreadShown(
        id=row.id,
        title=row.title,
        collection=db.get_one(Collection, row.collection_id).name,
        created=row.created,
        updated=row.updated,
    )
