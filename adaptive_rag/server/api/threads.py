"""Conversations that the server stores, for their owner and those they are shared with."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Path, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse
from pydantic import AfterValidator, Field
from sqlalchemy import exists, select

from adaptive_rag.server.access import collections_of_thread, is_over, threads_open_to
from adaptive_rag.server.answering import BareQuestion
from adaptive_rag.server.api.ask import EVENTS, Answer, Asking, Events, ask_of
from adaptive_rag.server.api.feedback import FeedbackShown, feedback_in, leave_turn_out
from adaptive_rag.server.api.forms import Form, Page, WindowAsked, page_of
from adaptive_rag.server.api.several import OfSeveral, collections_open_to
from adaptive_rag.server.calls import (
    ASKING,
    CHANGING,
    AnyCall,
    AskCall,
    Call,
    OwnThreadCall,
    ReadableThreadCall,
    ThreadCall,
)
from adaptive_rag.server.conversations import TurnShown, marked, title_of
from adaptive_rag.server.database import let_go
from adaptive_rag.server.exports import FILE_KINDS
from adaptive_rag.server.gate import RETRY_AFTER_SECONDS
from adaptive_rag.server.problems import Problem, found
from adaptive_rag.server.quotas import check_number, check_turns
from adaptive_rag.server.search import Found, find_turn, with_words, words_of
from adaptive_rag.server.tables import Collection, OpenTo, Share, Thread, ThreadCollection, User
from adaptive_rag.text.visible import visible

router = APIRouter(tags=["threads"])
# MuPDF must not run in two threads at a time. Requests that wait for it hold no thread.
_one_file_at_a_time = CapacityLimiter(1)
# The callers for whom a file is written or waits its turn: one of each, so that nobody keeps others waiting.
_writing_for = set[str]()

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
    """A thread as its readers see it."""

    id: str
    title: str
    collection: str = Field(description="The first of its collections.")
    collections: list[str]
    created: datetime
    updated: datetime
    shared_by: str | None = Field(description="Its owner, if it is another's; then you can only read it.")
    is_shared: bool = Field(description="Whether others may read it too.")


class ThreadFound(ThreadShown):
    """A thread in a list."""

    found: Found | None = Field(description="Where it has the words of a search, if not in its title alone.")


class TurnWithFeedback(TurnShown):
    """A question of a thread with its answer, and what you think of it."""

    feedback: FeedbackShown | None = Field(description="Your newest feedback on the answer.")


class ThreadWithTurns(ThreadShown):
    """A thread with all that was asked and answered."""

    turns: list[TurnWithFeedback]


@router.post("/collections/{collection}/threads", status_code=201, dependencies=[CHANGING])
def create_thread(new: NewThread, call: AskCall) -> ThreadShown:
    """Begin a thread over a collection."""
    row = _begin(call, [call.collection], new.title)
    call.db.commit()
    return _shown(call, row)


@router.post("/threads", status_code=201, dependencies=[CHANGING])
def create_thread_of_several(new: NewThreadOfSeveral, call: AnyCall) -> ThreadShown:
    """Begin a thread over several collections. Without access to all of them it cannot be opened."""
    row = _begin(call, collections_open_to(call, new.collections), new.title)
    call.db.commit()
    return _shown(call, row)


def _begin(call: Call, collections: Sequence[Collection], title: str = "") -> Thread:
    check_number(call.db, call.caller, "threads")
    first, *others = (each.id for each in collections)
    row = Thread(owner_id=call.caller.id, collection_id=first, title=title)
    call.db.add(row)
    call.db.flush()
    call.db.add_all(ThreadCollection(thread_id=row.id, collection_id=other) for other in others)
    return row


@router.post("/threads/{thread}/branches", status_code=201, dependencies=[CHANGING])
def branch_thread(branch: Branch, call: ReadableThreadCall) -> ThreadShown:
    """Begin a thread of your own with the first questions and answers of another, which stays as it is."""
    row = _begin(call, collections_of_thread(call.db, call.thread))
    call.parts.conversations.copy(call.thread.id, branch.turns, row.id, is_own=call.is_own)
    call.parts.conversations.write_texts(call.db, row.id)
    call.db.commit()
    return _shown(call, row)


@router.get("/threads")
def list_threads(
    call: AnyCall,
    window: WindowAsked,
    collection: str | None = None,
    search: Annotated[
        str, Field(max_length=200, description="Words that the title, or a question with its answer, has.")
    ] = "",
) -> Page[ThreadFound]:
    """List your threads and those that are shared with you, the one that was continued last first."""
    words = words_of(search)
    if words:
        call.parts.rates.count_look(call.caller)
    query = with_words(threads_open_to(call.caller, OpenTo.COLLECTION), words)
    if collection is not None:
        query = query.where(is_over(call.db.scalar(select(Collection.id).filter_by(name=collection)) or ""))
    query = query.order_by(Thread.updated.desc(), Thread.id)
    return page_of(call.db, query, window, lambda row: _found(call, row, words))


@router.get("/threads/{thread}")
def show_thread(call: ReadableThreadCall) -> ThreadWithTurns:
    """Show a thread with its questions and answers; of another's, without their situation and feedback."""
    given = feedback_in(call.thread.id, call.db) if call.is_own else {}
    turns = [
        TurnWithFeedback(**dict(turn), feedback=given.get(turn.number))
        for turn in call.parts.conversations.turns(call.thread.id)
    ]
    for turn in turns if not call.is_own else ():
        turn.user_context, turn.decisions = "", marked(turn.decisions)
    return ThreadWithTurns(**_shown(call, call.thread).model_dump(), turns=turns)


@router.patch("/threads/{thread}", dependencies=[CHANGING])
def rename_thread(renamed: Renamed, call: OwnThreadCall) -> ThreadShown:
    """Give a thread another title."""
    call.thread.title = renamed.title
    call.db.commit()
    return _shown(call, call.thread)


@router.delete("/threads/{thread}", status_code=204)
def delete_thread(call: OwnThreadCall) -> None:
    """Delete a thread with all that was said in it."""
    call.db.delete(call.thread)
    call.db.commit()
    call.parts.conversations.forget(call.thread.id)


@router.delete("/threads/{thread}/turns/{turn}", status_code=204)
async def delete_turn(turn: Annotated[str, Path(max_length=100)], call: OwnThreadCall) -> None:
    """Delete a question with its answer from a thread. Later questions do not know of it."""
    removed = found(await call.parts.conversations.remove_turn(call.thread.id, turn), "turn")
    await run_in_threadpool(_leave_out, call, removed)


def _leave_out(call: ThreadCall, removed: TurnShown) -> None:
    """Leave a deleted turn out of what else is kept of its thread: its title, and opinions on later turns."""
    leave_turn_out(call.db, call.thread.id, removed.number)
    call.db.refresh(call.thread)
    if call.thread.title == title_of(removed.question):
        turns = call.parts.conversations.turns(call.thread.id)
        call.thread.title = title_of(turns[0].question) if turns else ""
    call.db.commit()


@router.get(
    "/threads/{thread}/export",
    response_class=Response,
    responses={
        200: {"content": {kind.media_type: {} for kind in FILE_KINDS.values()} | {"application/json": {}}}
    },
    dependencies=[CHANGING],
)
async def export_thread(
    call: ReadableThreadCall, form: Literal["markdown", "json", "docx", "pdf"] = "markdown"
) -> Response:
    """Download a thread: as Markdown, as data, as a document of Word or as a PDF."""
    shown = await run_in_threadpool(show_thread, call)
    await run_in_threadpool(let_go, call.db)
    if form == "json":
        ending, kind, content = "json", "application/json", shown.model_dump_json().encode()
    else:
        ending, kind, write = (chosen := FILE_KINDS[form]).ending, chosen.media_type, chosen.write
        if (person := call.caller.id) in _writing_for:
            said = "A file is being written for you already. Try again when it has come."
            raise Problem(429, said, {"Retry-After": str(RETRY_AFTER_SECONDS)}, type="busy")
        _writing_for.add(person)
        try:
            content = await to_thread.run_sync(write, shown.title, shown.turns, limiter=_one_file_at_a_time)
        finally:
            _writing_for.discard(person)
    name = quote(f"{_file_name(shown.title)}.{ending}")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(content, headers=headers, media_type=kind)


def _file_name(title: str) -> str:
    """Return a file name for a title: its words, without characters that file systems do not accept."""
    words = " ".join(re.sub(r'[\\/:*?"<>|\x00-\x1f]+', " ", title).split())
    return words[:80].strip(" .") or "thread"


def _of_thread(call: OwnThreadCall) -> Asking:
    check_turns(call.parts.conversations.turns(call.thread.id))
    return ask_of(call, *collections_of_thread(call.db, call.thread), thread_id=call.thread.id)


OfThread = Annotated[Asking, Depends(_of_thread)]


async def _stream(asked: BareQuestion, asking: OfThread) -> AsyncIterator[Events]:
    async with asking.stream(asked) as events:
        yield events


@router.post("/threads/{thread}/ask", dependencies=[ASKING])
async def ask_in_thread(asked: BareQuestion, asking: OfThread) -> Answer:
    """Answer a question in the light of what was said before it; one at a time."""
    return await asking.answer(asked)


@router.post(
    "/threads/{thread}/ask/events",
    response_class=EventSourceResponse,
    responses=EVENTS,
    dependencies=[ASKING],
)
async def ask_in_thread_with_events(events: Annotated[Events, Depends(_stream)]) -> Events:
    """Answer a question in a thread with the events of a collection's /ask/events."""
    async for event in events:
        yield event


def _shown(call: Call, row: Thread) -> ThreadShown:
    is_own = row.owner_id == call.caller.id
    by_name = call.db.scalar(select(exists().where(Share.thread_id == row.id)))
    names = [each.name for each in collections_of_thread(call.db, row)]
    return ThreadShown(
        id=row.id,
        title=row.title,
        collection=names[0],
        collections=names,
        created=row.created,
        updated=row.updated,
        shared_by=None if is_own else call.db.get_one(User, row.owner_id).name,
        is_shared=row.open_to is not OpenTo.PEOPLE or bool(by_name),
    )


def _found(call: Call, row: Thread, words: list[str]) -> ThreadFound:
    return ThreadFound(**_shown(call, row).model_dump(), found=find_turn(call.db, row.id, words))
