"""Feedback on answers: given by callers, read by the collection's managers, and used to teach the router."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import PlainTextResponse
from pydantic import AliasPath, BeforeValidator, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from adaptive_rag.analysis.learning import (
    MIN_QUESTIONS,
    LearningResult,
    QuestionLine,
    forget,
    learn_from,
    read_result,
)
from adaptive_rag.evaluation.labels import format_question
from adaptive_rag.server.answering import QuestionText, Situation
from adaptive_rag.server.api.forms import Form, Page, Route, WindowQuery, fetch_page
from adaptive_rag.server.calls import (
    AdminCall,
    AnyCall,
    Call,
    ManageCall,
    OwnThreadCall,
    RowId,
    VoteCall,
    count,
)
from adaptive_rag.server.database import release_connection
from adaptive_rag.server.problems import Problem, not_found, require_found
from adaptive_rag.server.quotas import check_opinions
from adaptive_rag.server.roles import Action
from adaptive_rag.server.tables import Collection, Feedback
from adaptive_rag.state import ROUTED_TYPES, Turn

router = APIRouter(tags=["feedback"])
# Only the newest votes are learned from: time and memory grow with the square of their number.
MOST_QUESTIONS = 2000
_teaching = Lock()


class Opinion(Form):
    """What you think of an answer."""

    is_good: bool | None = Field(None, description="Whether the answer was good.")
    better_route: Route | None = Field(None, description="The route that answers this question better.")
    comment: str = Field("", max_length=2000)


class OpinionOfQuestion(Opinion):
    """What you think of an answer that was given outside of threads."""

    question: QuestionText
    user_context: Situation = ""
    route: Route = Field(description="The route that was taken.")


class FeedbackShown(Form):
    """What somebody thought of an answer."""

    id: str
    by: str = Field(validation_alias=AliasPath("owner", "name"), description="The user's name.")
    question: str
    route: str
    is_good: bool | None
    better_route: str | None
    comment: str
    created: datetime


class RoutingQuality(Form):
    """How well the held-out questions are routed."""

    accuracy: float = Field(description="Share of questions with the right route.")
    log_loss: float = Field(description="Lower is better.")


class Lesson(Form):
    """The result of teaching, measured on held-out questions."""

    is_kept: Annotated[bool, BeforeValidator(bool)] = Field(
        validation_alias="file", description="Whether it improved the routing, and is used."
    )
    learned_from: int = Field(description="Questions that were learned from.")
    kept_aside: int = Field(description="Questions that were held out to measure on.")
    before: RoutingQuality = Field(description="The router as shipped.")
    after: RoutingQuality
    others_before: float = Field(
        validation_alias=AliasPath("built_in", "before"),
        description="Share of built-in questions of other kinds with the right route.",
    )
    others_after: float = Field(validation_alias=AliasPath("built_in", "after"))


class RouterShown(Form):
    """The state of the router, and the votes that it could learn from."""

    is_learned: bool = Field(description="Whether the router uses what it learned from votes.")
    votes: int = Field(description="Questions whose right route is known from votes.")
    routes: int = Field(description="Routes among them.")
    least: int = Field(description="Questions that teaching needs, of at least two routes.")
    lesson: Lesson | None = Field(description="The result of this teaching, or of the last one that is used.")
    learned: datetime | None = Field(description="When the router learned from votes.")


@router.post("/collections/{collection}/feedback", status_code=201, dependencies=[count("change")])
def give_feedback(opinion: OpinionOfQuestion, call: VoteCall) -> FeedbackShown:
    """Give feedback on the answer to a question."""
    return _store_feedback(call, Feedback(collection_id=call.collection.id, **opinion.model_dump()))


@router.post("/threads/{thread}/turns/{number}/feedback", status_code=201, dependencies=[count("change")])
def give_feedback_on_turn(
    opinion: Opinion, call: OwnThreadCall, number: Annotated[int, Path(ge=1, le=1_000_000)]
) -> FeedbackShown:
    """Give feedback on an answer in a thread of yours."""
    call.open_collection(call.db.get_one(Collection, call.thread.collection_id).name, Action.VOTE)
    turns = call.services.conversations.turns(call.thread.id)
    if number > len(turns):
        raise not_found("turn")
    rated = turns[number - 1]
    history = [
        {"role": role, "text": text}
        for turn in turns[: number - 1]
        for role, text in (("user", turn.question), ("agent", turn.answer))
    ]
    row = Feedback(
        collection_id=call.thread.collection_id,
        thread_id=call.thread.id,
        question=rated.question,
        user_context=rated.user_context,
        history=history,
        route=rated.route,
        **opinion.model_dump(),
    )
    return _store_feedback(call, row)


@router.get("/collections/{collection}/feedback")
def list_feedback(call: ManageCall, window: WindowQuery) -> Page[FeedbackShown]:
    """List the feedback on a collection's answers, the newest first."""
    query = select(Feedback).where(Feedback.collection_id == call.collection.id)
    query = query.order_by(Feedback.created.desc(), Feedback.id)
    return fetch_page(call.db, query, window, FeedbackShown.model_validate)


@router.delete("/feedback/{feedback}", status_code=204)
def delete_feedback(feedback: RowId, call: AnyCall) -> None:
    """Delete feedback of yours."""
    query = select(Feedback).where(Feedback.id == feedback, Feedback.owner_id == call.caller.id)
    call.db.delete(require_found(call.db.scalar(query), "feedback"))
    call.db.commit()


@router.get(
    "/feedback/export",
    response_class=Response,
    responses={200: {"content": {"application/jsonl": {"example": '{"text": "Who?", "type": "factual"}\n'}}}},
)
def export_feedback(call: AdminCall) -> Response:
    """Download the questions whose right route is known, in the format of `adaptive-rag route --learn`.

    If there are several opinions on a question, the newest counts.
    """
    lines = "".join(f"{format_question(line)}\n" for line in load_voted_questions(call.db))
    return PlainTextResponse(lines, media_type="application/jsonl")


@router.get("/router")
def show_router(call: AdminCall) -> RouterShown:
    """Show whether the router has learned from votes, and how many votes there are."""
    return _describe_router(call, read_result(call.services.settings.learned_router))


@router.post("/router/learn")
def teach_router(call: AdminCall) -> RouterShown:
    """Teach the router from the votes so far; the result is used only if it routes held-out questions better.

    It applies from the next question on. DELETE undoes it.
    """
    questions = load_voted_questions(call.db)
    routes = {line.type for line in questions}
    if len(questions) < MIN_QUESTIONS or len(routes) < 2:
        raise Problem(
            409,
            f"Teaching takes votes on at least {MIN_QUESTIONS} questions, of two routes or more. There are "
            f"{len(questions)} so far, of {len(routes)}.",
        )
    release_connection(call.db)
    with _lock_router():
        file = call.services.settings.learned_router
        result = learn_from(questions[-MOST_QUESTIONS:], file, "The feedback")
    call.commit("router.learn", "kept" if result.file else "did not help")
    return _describe_router(call, result)


@router.delete("/router", status_code=204)
def put_router_back(call: AdminCall) -> None:
    """Undo what the router learned from votes, from the next question on."""
    with _lock_router():
        was_learned = forget(call.services.settings.learned_router)
    if was_learned:
        call.commit("router.forget")


@contextmanager
def _lock_router() -> Iterator[None]:
    """Refuse (409) a second change of the router at the same time: teaching takes minutes of all cores."""
    if not _teaching.acquire(blocking=False):
        raise Problem(409, "The router is being taught already. Try again when that is done.")
    try:
        yield
    finally:
        _teaching.release()


def load_voted_questions(db: Session) -> list[QuestionLine]:
    """Return the questions whose right route is known from votes; the newest of several opinions counts."""
    label_column = func.coalesce(Feedback.better_route, Feedback.route)
    has_label = Feedback.better_route.is_not(None) | Feedback.is_good.is_(True)
    rows = db.scalars(
        select(Feedback).where(has_label, label_column.in_(ROUTED_TYPES)).order_by(Feedback.created)
    )
    lines: dict[str, QuestionLine] = {}
    for row in rows:
        history: list[Turn] = [{"role": turn["role"], "text": turn["text"]} for turn in row.history]
        label = next(name for name in ROUTED_TYPES if name == (row.better_route or row.route))
        line = QuestionLine(row.question, row.user_context, history, label)
        lines[format_question(line._replace(type=None))] = line
    return list(lines.values())


def load_feedback_by_turn(thread: str, db: Session) -> dict[int, FeedbackShown]:
    """Return the owner's newest feedback on each answer of a thread, by the number of the turn."""
    rows = db.scalars(select(Feedback).where(Feedback.thread_id == thread).order_by(Feedback.created))
    # The history has a question and an answer for each earlier turn.
    return {len(row.history) // 2 + 1: FeedbackShown.model_validate(row) for row in rows}


def remove_turn_from_feedback(db: Session, thread: str, number: int) -> None:
    """Remove a deleted turn from the history of later feedback, and detach feedback on the turn itself."""
    for row in db.scalars(select(Feedback).where(Feedback.thread_id == thread)):
        start = 2 * (number - 1)
        if len(row.history) == start:
            row.thread_id = None
        row.history = row.history[:start] + row.history[start + 2 :]


def _store_feedback(call: Call, row: Feedback) -> FeedbackShown:
    row.owner_id = call.caller.id
    check_opinions(call.db, call.caller, row)
    call.db.add(row)
    call.db.commit()
    return FeedbackShown.model_validate(row)


def _describe_router(call: Call, result: LearningResult | None) -> RouterShown:
    questions, file = load_voted_questions(call.db), call.services.settings.learned_router
    is_learned = file.exists()
    return RouterShown(
        is_learned=is_learned,
        votes=len(questions),
        routes=len({line.type for line in questions}),
        least=MIN_QUESTIONS,
        lesson=Lesson.model_validate(result) if result else None,
        learned=datetime.fromtimestamp(file.stat().st_mtime, UTC) if is_learned else None,
    )
