"""Threads: conversations that the server stores, for their owners and the people they are shared with."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse
from pydantic import AfterValidator, Field
from sqlalchemy import exists, select

from adaptive_rag.server.access import collections_of_thread, select_readable_threads, thread_asks
from adaptive_rag.server.answering import BareQuestion
from adaptive_rag.server.api.ask import EVENT_RESPONSES, Answer, AskContext, Events, ask_context
from adaptive_rag.server.api.feedback import FeedbackShown, load_feedback_by_turn, remove_turn_from_feedback
from adaptive_rag.server.api.forms import Form, Page, Window, WindowQuery, fetch_page
from adaptive_rag.server.api.several import WithCollections, require_collections
from adaptive_rag.server.calls import (
    AnyCall,
    AskCall,
    Call,
    OwnThreadCall,
    ReadableThreadCall,
    ThreadCall,
    count,
)
from adaptive_rag.server.conversations import TurnShown, make_title, public_decisions
from adaptive_rag.server.database import limit_statements, release_connection
from adaptive_rag.server.exports import FILE_KINDS
from adaptive_rag.server.gate import RETRY_AFTER_SECONDS, Turns
from adaptive_rag.server.problems import busy, require_found
from adaptive_rag.server.quotas import check_quota, check_turns
from adaptive_rag.server.roles import Action
from adaptive_rag.server.search import Found, filter_by_words, find_turn, split_words
from adaptive_rag.server.tables import Collection, OpenTo, Share, Thread, ThreadCollection, User
from adaptive_rag.text.visible import visible

router = APIRouter(tags=["threads"])
# MuPDF must not run in two threads at a time.
_exports = Turns(1)
# A search of many long threads takes seconds.
_searches = Turns(2)

Title = Annotated[
    str,
    Field(max_length=200, examples=["Storms of 1953"]),
    AfterValidator(lambda title: visible(title).strip()),
]


class NewThread(Form):
    """A new thread."""

    title: Title = Field("", description="By default the first question.")


class NewThreadOfSeveral(NewThread, WithCollections):
    """A new thread over several collections."""


class Renamed(Form):
    """A thread's new title."""

    title: Annotated[Title, Field(min_length=1)]


class Branch(Form):
    """A new thread that starts as a copy of another one's beginning."""

    turns: int = Field(ge=0, le=1000, description="How many questions, with their answers, are copied.")


class ThreadShown(Form):
    """A thread as its readers see it."""

    id: str
    title: str
    collection: str = Field(description="The first of its collections.")
    collections: list[str]
    created: datetime
    updated: datetime
    shared_by: str | None = Field(description="The owner, if it is not yours; then you can only read it.")
    is_shared: bool = Field(description="Whether others may read it too.")


class ThreadFound(ThreadShown):
    """A thread in a list."""

    found: Found | None = Field(description="Where the words of the search are, if not only in the title.")


class TurnWithFeedback(TurnShown):
    """A question of a thread with its answer, and your feedback."""

    feedback: FeedbackShown | None = Field(description="Your newest feedback on the answer.")


class ThreadWithTurns(ThreadShown):
    """A thread with its questions and answers."""

    turns: list[TurnWithFeedback]


@router.post("/collections/{collection}/threads", status_code=201, dependencies=[count("change")])
def create_thread(new: NewThread, call: AskCall) -> ThreadShown:
    """Create a thread over a collection."""
    row = _create_thread(call, [call.collection], new.title)
    call.db.commit()
    return _describe_thread(call, row)


@router.post("/threads", status_code=201, dependencies=[count("change")])
def create_thread_of_several(new: NewThreadOfSeveral, call: AnyCall) -> ThreadShown:
    """Create a thread over several collections. Only who has access to all of them can open it."""
    collections = require_collections(call, new.collections, Action.ASK)
    row = _create_thread(call, collections, new.title)
    call.db.commit()
    return _describe_thread(call, row)


def _create_thread(call: Call, collections: Sequence[Collection], title: str = "") -> Thread:
    check_quota(call.db, call.caller, "threads")
    first, *others = (collection.id for collection in collections)
    row = Thread(owner_id=call.caller.id, collection_id=first, title=title)
    call.db.add(row)
    call.db.flush()
    call.db.add_all(ThreadCollection(thread_id=row.id, collection_id=other) for other in others)
    return row


@router.post("/threads/{thread}/branches", status_code=201, dependencies=[count("change")])
def branch_thread(branch: Branch, call: ReadableThreadCall) -> ThreadShown:
    """Create a thread of your own from the first questions and answers of another, which stays unchanged."""
    row = _create_thread(call, collections_of_thread(call.db, call.thread))
    call.services.conversations.copy(call.thread.id, branch.turns, row.id, is_own=call.is_own)
    call.services.conversations.write_texts(call.db, row.id)
    call.db.commit()
    return _describe_thread(call, row)


@router.get("/threads")
async def list_threads(
    call: AnyCall,
    window: WindowQuery,
    collection: str | None = None,
    search: Annotated[
        str,
        Field(max_length=200, description="Words to find in the title, or in a question with its answer."),
    ] = "",
) -> Page[ThreadFound]:
    """List your threads and those that are shared with you, the most recently continued first."""
    words = split_words(search)
    if not words:
        return await run_in_threadpool(_find_threads, call, window, collection, words)
    call.services.rates.count("heavy read", call.caller)
    return await _searches.run(call.caller.id, _find_threads, call, window, collection, words)


def _find_threads(call: Call, window: Window, collection: str | None, words: list[str]) -> Page[ThreadFound]:
    limit_statements(call.db)
    query = filter_by_words(select_readable_threads(call.caller, OpenTo.COLLECTION), words)
    if collection is not None:
        query = query.where(
            thread_asks(call.db.scalar(select(Collection.id).filter_by(name=collection)) or "")
        )
    query = query.order_by(Thread.updated.desc(), Thread.id)
    return fetch_page(call.db, query, window, lambda row: _describe_match(call, row, words))


@router.get("/threads/{thread}")
def show_thread(call: ReadableThreadCall) -> ThreadWithTurns:
    """Show a thread with its questions and answers; another user's without their context and feedback."""
    feedback = load_feedback_by_turn(call.thread.id, call.db) if call.is_own else {}
    turns = [
        TurnWithFeedback(**dict(turn), feedback=feedback.get(turn.number))
        for turn in call.services.conversations.turns(call.thread.id)
    ]
    for turn in turns if not call.is_own else ():
        turn.user_context, turn.decisions = "", public_decisions(turn.decisions)
    return ThreadWithTurns(**_describe_thread(call, call.thread).model_dump(), turns=turns)


@router.patch("/threads/{thread}", dependencies=[count("change")])
def rename_thread(renamed: Renamed, call: OwnThreadCall) -> ThreadShown:
    """Change the title of a thread."""
    call.thread.title = renamed.title
    call.db.commit()
    return _describe_thread(call, call.thread)


@router.delete("/threads/{thread}", status_code=204)
def delete_thread(call: OwnThreadCall) -> None:
    """Delete a thread with its questions and answers."""
    call.db.delete(call.thread)
    call.db.flush()  # a question in progress waits for the commit, and then deletes its own messages
    # Before the commit, because nobody could repeat it without the thread.
    call.services.conversations.forget(call.thread.id)
    call.db.commit()


@router.delete("/threads/{thread}/turns/{turn}", status_code=204)
async def delete_turn(turn: Annotated[str, Path(max_length=100)], call: OwnThreadCall) -> None:
    """Delete a question with its answer from a thread. Later answers do not take it into account."""
    deleted = require_found(await call.services.conversations.remove_turn(call.thread.id, turn), "turn")
    await run_in_threadpool(_forget_turn, call, deleted)


def _forget_turn(call: ThreadCall, deleted: TurnShown) -> None:
    """Remove a deleted turn from what else is stored of its thread: the title and later feedback."""
    remove_turn_from_feedback(call.db, call.thread.id, deleted.number)
    thread = require_found(call.db.get(Thread, call.thread.id, populate_existing=True), "thread")
    if thread.title == make_title(deleted.question):
        turns = call.services.conversations.turns(thread.id)
        thread.title = make_title(turns[0].question) if turns else ""
    call.db.commit()


@router.get(
    "/threads/{thread}/export",
    response_class=Response,
    responses={
        200: {"content": {kind.media_type: {} for kind in FILE_KINDS.values()} | {"application/json": {}}}
    },
    dependencies=[count("change")],
)
async def export_thread(
    call: ReadableThreadCall, form: Literal["markdown", "json", "docx", "pdf"] = "markdown"
) -> Response:
    """Download a thread as Markdown, JSON, a Word document or a PDF."""
    shown = await run_in_threadpool(show_thread, call)
    await run_in_threadpool(release_connection, call.db)
    if form == "json":
        ending, media_type, content = "json", "application/json", shown.model_dump_json().encode()
    else:
        kind = FILE_KINDS[form]
        ending, media_type = kind.ending, kind.media_type
        if _exports.has_turn(call.caller.id):
            detail = "A file is being written for you already. Try again when it has come."
            raise busy(detail, RETRY_AFTER_SECONDS)
        content = await _exports.run(call.caller.id, kind.write, shown.title, shown.turns)
    name = quote(f"{_file_name(shown.title)}.{ending}")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(content, headers=headers, media_type=media_type)


def _file_name(title: str) -> str:
    """Return a file name for a title, without characters that file systems do not accept."""
    words = " ".join(re.sub(r'[\\/:*?"<>|\x00-\x1f]+', " ", title).split())
    return words[:80].strip(" .") or "thread"


def _thread_context(call: OwnThreadCall) -> AskContext:
    check_turns(call.services.conversations.turns(call.thread.id))
    return ask_context(call, *collections_of_thread(call.db, call.thread), thread_id=call.thread.id)


ThreadContext = Annotated[AskContext, Depends(_thread_context)]


async def _stream(question: BareQuestion, context: ThreadContext) -> AsyncIterator[Events]:
    async with context.stream(question) as events:
        yield events


@router.post("/threads/{thread}/ask", dependencies=[count("question")])
async def ask_in_thread(question: BareQuestion, context: ThreadContext) -> Answer:
    """Answer a question with the earlier turns as its conversation; one question at a time."""
    return await context.answer(question)


@router.post(
    "/threads/{thread}/ask/events",
    response_class=EventSourceResponse,
    responses=EVENT_RESPONSES,
    dependencies=[count("question")],
)
async def ask_in_thread_with_events(events: Annotated[Events, Depends(_stream)]) -> Events:
    """Answer a question in a thread, with the same events as a collection's /ask/events."""
    async for event in events:
        yield event


def _describe_thread(call: Call, row: Thread) -> ThreadShown:
    is_own = row.owner_id == call.caller.id
    by_name = call.db.scalar(select(exists().where(Share.thread_id == row.id)))
    names = [collection.name for collection in collections_of_thread(call.db, row)]
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


def _describe_match(call: Call, row: Thread, words: list[str]) -> ThreadFound:
    return ThreadFound(**_describe_thread(call, row).model_dump(), found=find_turn(call.db, row.id, words))
