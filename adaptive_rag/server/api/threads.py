"""Conversations that the server stores: each is open to its owner while they may read its collection."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import AfterValidator, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import collections_of_thread, is_over, threads_of
from adaptive_rag.server.answering import BareQuestion
from adaptive_rag.server.api.ask import EVENTS, Answer, Chunks, answer_of, events_of, unless_gone
from adaptive_rag.server.api.feedback import FeedbackShown, feedback_in
from adaptive_rag.server.api.forms import Form, Page, WindowAsked, page_of
from adaptive_rag.server.api.several import OfSeveral, collections_open_to
from adaptive_rag.server.calls import ASKING, CHANGING, AnyCall, Call, OwnThreadCall, ReadCall
from adaptive_rag.server.conversations import TurnShown, format_markdown
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.quotas import check_threads, check_turns
from adaptive_rag.server.tables import Collection, Thread, ThreadCollection
from adaptive_rag.text.visible import visible

router = APIRouter(tags=["threads"])

Title = Annotated[
    str,
    Field(max_length=200, examples=["Storms of 1953"]),
    AfterValidator(lambda title: visible(title).strip()),
]


class NewThread(Form):
    """A thread that is begun."""

    title: Title = Field("", description="By default its first question.")


class NewThreadOfSeveral(NewThread, OfSeveral):
    """A thread that is begun over several collections."""


class Renamed(Form):
    """A thread's new title."""

    title: Annotated[Title, Field(min_length=1)]


class Branch(Form):
    """A thread that begins as another did."""

    turns: int = Field(ge=0, le=1000, description="So many questions, with their answers, are in both.")


class ThreadShown(Form):
    """A thread as its owner sees it."""

    id: str
    title: str
    collection: str = Field(description="The first of its collections.")
    collections: list[str]
    created: datetime
    updated: datetime


class TurnWithFeedback(TurnShown):
    """A question of a thread with its answer, and what you think of it."""

    feedback: FeedbackShown | None = Field(description="Your newest feedback on the answer.")


class ThreadWithTurns(ThreadShown):
    """A thread with all that was asked and answered."""

    turns: list[TurnWithFeedback]


@router.post("/collections/{collection}/threads", status_code=201, dependencies=[CHANGING])
def create_thread(new: NewThread, call: ReadCall) -> ThreadShown:
    """Begin a thread over a collection."""
    row = _begin(call, [call.collection], new.title)
    call.db.commit()
    return _shown(call.db, row)


@router.post("/threads", status_code=201, dependencies=[CHANGING])
def create_thread_of_several(new: NewThreadOfSeveral, call: AnyCall) -> ThreadShown:
    """Begin a thread over several collections. Who loses one of them can no longer open it."""
    row = _begin(call, collections_open_to(call.db, call.caller, new.collections), new.title)
    call.db.commit()
    return _shown(call.db, row)


def _begin(call: Call, collections: Sequence[Collection], title: str = "") -> Thread:
    check_threads(call.db, call.caller)
    first, *others = (each.id for each in collections)
    row = Thread(owner_id=call.caller.id, collection_id=first, title=title)
    call.db.add(row)
    call.db.flush()
    call.db.add_all(ThreadCollection(thread_id=row.id, collection_id=other) for other in others)
    return row


@router.post("/threads/{thread}/branches", status_code=201, dependencies=[CHANGING])
def branch_thread(branch: Branch, call: OwnThreadCall) -> ThreadShown:
    """Begin a thread with the first questions and answers of another, which stays as it is."""
    row = _begin(call, collections_of_thread(call.db, call.thread))
    call.parts.conversations.copy(call.thread.id, branch.turns, row.id)
    call.db.commit()
    return _shown(call.db, row)


@router.get("/threads")
def list_threads(
    call: AnyCall,
    window: WindowAsked,
    collection: str | None = None,
    search: Annotated[str, Field(max_length=200, description="A part of the title.")] = "",
) -> Page[ThreadShown]:
    """List your threads, the one that was continued last first."""
    query = threads_of(call.caller).where(Thread.title.icontains(search, autoescape=True))
    if collection is not None:
        query = query.where(is_over(call.db.scalar(select(Collection.id).filter_by(name=collection)) or ""))
    query = query.order_by(Thread.updated.desc(), Thread.id)
    return page_of(call.db, query, window, lambda row: _shown(call.db, row))


@router.get("/threads/{thread}")
def show_thread(call: OwnThreadCall) -> ThreadWithTurns:
    """Show a thread with its questions and answers."""
    given = feedback_in(call.thread.id, call.db)
    turns = [
        TurnWithFeedback(**dict(turn), feedback=given.get(turn.number))
        for turn in call.parts.conversations.turns(call.thread.id)
    ]
    return ThreadWithTurns(**_shown(call.db, call.thread).model_dump(), turns=turns)


@router.patch("/threads/{thread}", dependencies=[CHANGING])
def rename_thread(renamed: Renamed, call: OwnThreadCall) -> ThreadShown:
    """Give a thread another title."""
    call.thread.title = renamed.title
    call.db.commit()
    return _shown(call.db, call.thread)


@router.delete("/threads/{thread}", status_code=204)
def delete_thread(call: OwnThreadCall) -> None:
    """Delete a thread with all that was said in it."""
    call.db.delete(call.thread)
    call.db.commit()
    call.parts.conversations.forget(call.thread.id)


@router.get(
    "/threads/{thread}/export",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {}, "application/json": {}}}},
)
def export_thread(call: OwnThreadCall, form: Literal["markdown", "json"] = "markdown") -> Response:
    """Download a thread as a text or as data."""
    shown = show_thread(call)
    name = quote(f"{_file_name(shown.title)}.{'json' if form == 'json' else 'md'}")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    if form == "json":
        return JSONResponse(shown.model_dump(mode="json"), headers=headers)
    text = format_markdown(shown.title, shown.turns)
    return PlainTextResponse(text, headers=headers, media_type="text/markdown")


def _file_name(title: str) -> str:
    """Return a file name for a title: its words, without characters that file systems do not accept."""
    words = " ".join(re.sub(r'[\\/:*?"<>|\x00-\x1f]+', " ", title).split())
    return words[:80].strip(" .") or "thread"


def index_of_thread(call: OwnThreadCall) -> Searched:
    """Return the index of a thread's collections, and release the database connection meanwhile."""
    check_turns(call.parts.conversations.turns(call.thread.id))
    collections = collections_of_thread(call.db, call.thread)
    call.db.close()
    return call.parts.index_of(*collections)


IndexOfThread = Annotated[Searched, Depends(index_of_thread)]


async def _open_stream(
    asked: BareQuestion, index: IndexOfThread, call: OwnThreadCall
) -> AsyncIterator[Chunks]:
    async with call.parts.answering.stream(asked, index, call.caller.id, call.thread.id) as chunks:
        yield chunks


@router.post("/threads/{thread}/ask", dependencies=[ASKING])
async def ask_in_thread(asked: BareQuestion, index: IndexOfThread, call: OwnThreadCall) -> Answer:
    """Answer a question in the light of what was said before it; one at a time."""
    work = call.parts.answering.answer(asked, index, call.caller.id, call.thread.id)
    return answer_of(await unless_gone(call.request, work))


@router.post(
    "/threads/{thread}/ask/events",
    response_class=EventSourceResponse,
    responses=EVENTS,
    dependencies=[ASKING],
)
async def ask_in_thread_with_events(
    chunks: Annotated[Chunks, Depends(_open_stream)],
) -> AsyncIterator[ServerSentEvent]:
    """Answer a question in a thread with the events of a collection's /ask/events."""
    async for event in events_of(chunks):
        yield event


def _shown(db: Session, row: Thread) -> ThreadShown:
    names = [each.name for each in collections_of_thread(db, row)]
    return ThreadShown(
        id=row.id,
        title=row.title,
        collection=names[0],
        collections=names,
        created=row.created,
        updated=row.updated,
    )
