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
from adaptive_rag.server.access import collection_open_to
from adaptive_rag.server.answering import QuestionText, Situation
from adaptive_rag.server.api.forms import Form, Page, Route, WindowAsked, page_of
from adaptive_rag.server.calls import (
    CHANGING,
    AdminCall,
    AnyCall,
    Call,
    ManageCall,
    OwnThreadCall,
    RowId,
    VoteCall,
)
from adaptive_rag.server.database import let_go
from adaptive_rag.server.problems import Problem, found, not_found
from adaptive_rag.server.quotas import check_opinions
from adaptive_rag.server.roles import Action
from adaptive_rag.server.tables import Collection, Feedback
from adaptive_rag.state import QUERY_TYPES, Turn

router = APIRouter(tags=["feedback"])
# The newest votes to learn from, at most: time and memory grow with the square of their number.
MOST_QUESTIONS = 2000
_teaching = Lock()


class Opinion(Form):
    """What you think of an answer."""

    is_good: bool | None = Field(None, description="Whether the answer was good.")
    better_route: Route | None = Field(None, description="The route that answers this question better.")
    comment: str = Field("", max_length=2000)


class OpinionOfQuestion(Opinion):
    """What you think of an answer outside of threads."""

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
    """How well the questions that were kept aside are routed."""

    accuracy: float = Field(description="Share that goes the right way.")
    log_loss: float = Field(description="Lower is better.")


class Lesson(Form):
    """What teaching did, measured on questions that were not learned from."""

    is_kept: Annotated[bool, BeforeValidator(bool)] = Field(
        validation_alias="file", description="Whether it helped, and is kept."
    )
    learned_from: int = Field(description="Questions that were learned from.")
    kept_aside: int = Field(description="Questions that were kept aside to measure on.")
    before: RoutingQuality = Field(description="Of the router as shipped.")
    after: RoutingQuality
    others_before: float = Field(
        validation_alias=AliasPath("built_in", "before"),
        description="Share of built-in questions of other kinds that goes right.",
    )
    others_after: float = Field(validation_alias=AliasPath("built_in", "after"))


class RouterShown(Form):
    """The router, and what it could learn from."""

    is_learned: bool = Field(description="Whether questions are routed by what the votes taught.")
    votes: int = Field(description="Questions whose right route is known from votes.")
    routes: int = Field(description="Routes among them.")
    least: int = Field(description="Questions that teaching takes, of two routes or more.")
    lesson: Lesson | None = Field(description="What the teaching did that was asked for, or that holds.")
    learned: datetime | None = Field(description="When it learned what it knows from votes.")


@router.post("/collections/{collection}/feedback", status_code=201, dependencies=[CHANGING])
def give_feedback(opinion: OpinionOfQuestion, call: VoteCall) -> FeedbackShown:
    """Say what you think of the answer to a question of yours."""
    return _keep(call, Feedback(collection_id=call.collection.id, **opinion.model_dump()))


@router.post("/threads/{thread}/turns/{number}/feedback", status_code=201, dependencies=[CHANGING])
def give_feedback_on_turn(
    opinion: Opinion, call: OwnThreadCall, number: Annotated[int, Path(ge=1, le=1_000_000)]
) -> FeedbackShown:
    """Say what you think of an answer in a thread of yours."""
    asked = call.db.get_one(Collection, call.thread.collection_id)
    collection_open_to(call.db, call.caller, asked.name, Action.VOTE)
    turns = call.parts.conversations.turns(call.thread.id)
    if number > len(turns):
        raise not_found("turn")
    turn, earlier = turns[number - 1], turns[: number - 1]
    said = [(("user", before.question), ("agent", before.answer)) for before in earlier]
    row = Feedback(
        collection_id=call.thread.collection_id,
        thread_id=call.thread.id,
        question=turn.question,
        history=[{"role": role, "text": text} for pair in said for role, text in pair],
        route=turn.route,
        **opinion.model_dump(),
    )
    return _keep(call, row)


@router.get("/collections/{collection}/feedback")
def list_feedback(call: ManageCall, window: WindowAsked) -> Page[FeedbackShown]:
    """List what was thought of a collection's answers, the newest first."""
    query = select(Feedback).where(Feedback.collection_id == call.collection.id)
    query = query.order_by(Feedback.created.desc(), Feedback.id)
    return page_of(call.db, query, window, FeedbackShown.model_validate)


@router.delete("/feedback/{feedback}", status_code=204)
def delete_feedback(feedback: RowId, call: AnyCall) -> None:
    """Take back feedback of your own."""
    own = select(Feedback).where(Feedback.id == feedback, Feedback.owner_id == call.caller.id)
    call.db.delete(found(call.db.scalar(own), "feedback"))
    call.db.commit()


@router.get(
    "/feedback/export",
    response_class=Response,
    responses={200: {"content": {"application/jsonl": {"example": '{"text": "Who?", "type": "factual"}\n'}}}},
)
def export_feedback(call: AdminCall) -> Response:
    """Download the questions whose right route is known, as `adaptive-rag route --learn` reads them.

    Of one question's several opinions the newest counts.
    """
    lines = "".join(f"{format_question(line)}\n" for line in known_questions(call.db))
    return PlainTextResponse(lines, media_type="application/jsonl")


@router.get("/router")
def show_router(call: AdminCall) -> RouterShown:
    """Show whether the router has learned from votes, and how many there are to learn from."""
    return _router_shown(call, read_result(call.parts.settings.learned_router))


@router.post("/router/learn")
def teach_router(call: AdminCall) -> RouterShown:
    """Teach the router by the votes so far. It is kept where it routes other questions better.

    The next question is routed by it. DELETE takes it back.
    """
    questions = known_questions(call.db)
    routes = {line.type for line in questions}
    if len(questions) < MIN_QUESTIONS or len(routes) < 2:
        raise Problem(
            409,
            f"Teaching takes votes on at least {MIN_QUESTIONS} questions, of two routes or more. There are "
            f"{len(questions)} so far, of {len(routes)}.",
        )
    let_go(call.db)
    with _alone():
        file = call.parts.settings.learned_router
        result = learn_from(questions[-MOST_QUESTIONS:], file, "The feedback")
    call.commit("router.learn", "kept" if result.file else "did not help")
    return _router_shown(call, result)


@router.delete("/router", status_code=204)
def put_router_back(call: AdminCall) -> None:
    """Take back what the votes taught: the next question is routed as before."""
    with _alone():
        forgot = forget(call.parts.settings.learned_router)
    if forgot:
        call.commit("router.forget")


@contextmanager
def _alone() -> Iterator[None]:
    """Let only one request at a time change the router: teaching takes minutes of every core."""
    if not _teaching.acquire(blocking=False):
        raise Problem(409, "The router is being taught already. Try again when that is done.")
    try:
        yield
    finally:
        _teaching.release()


def known_questions(db: Session) -> list[QuestionLine]:
    """Return the questions whose right route is known; the newest of several opinions on one counts."""
    right = func.coalesce(Feedback.better_route, Feedback.route)
    known = Feedback.better_route.is_not(None) | Feedback.is_good.is_(True)
    rows = db.scalars(select(Feedback).where(known, right.in_(QUERY_TYPES)).order_by(Feedback.created))
    lines: dict[str, QuestionLine] = {}
    for row in rows:
        history: list[Turn] = [{"role": turn["role"], "text": turn["text"]} for turn in row.history]
        label = next(name for name in QUERY_TYPES if name == (row.better_route or row.route))
        line = QuestionLine(row.question, row.user_context, history, label)
        lines[format_question(line._replace(type=None))] = line
    return list(lines.values())


def feedback_in(thread: str, db: Session) -> dict[int, FeedbackShown]:
    """Return the owner's feedback on the answers of a thread, by the number of the turn.

    The newest of several opinions on one answer counts.
    """
    rows = db.scalars(select(Feedback).where(Feedback.thread_id == thread).order_by(Feedback.created))
    # The history has a question and an answer for each earlier turn.
    return {len(row.history) // 2 + 1: FeedbackShown.model_validate(row) for row in rows}


def leave_turn_out(db: Session, thread: str, number: int) -> None:
    """Leave a deleted turn of a thread out of opinions on later turns; those on itself leave the thread."""
    for row in db.scalars(select(Feedback).where(Feedback.thread_id == thread)):
        place = 2 * (number - 1)
        if len(row.history) == place:
            row.thread_id = None
        row.history = row.history[:place] + row.history[place + 2 :]


def _keep(call: Call, row: Feedback) -> FeedbackShown:
    row.owner_id = call.caller.id
    check_opinions(call.db, call.caller, row)
    call.db.add(row)
    call.db.commit()
    return FeedbackShown.model_validate(row)


def _router_shown(call: Call, result: LearningResult | None) -> RouterShown:
    questions, file = known_questions(call.db), call.parts.settings.learned_router
    is_learned = file.exists()
    return RouterShown(
        is_learned=is_learned,
        votes=len(questions),
        routes=len({line.type for line in questions}),
        least=MIN_QUESTIONS,
        lesson=Lesson.model_validate(result) if result else None,
        learned=datetime.fromtimestamp(file.stat().st_mtime, UTC) if is_learned else None,
    )
