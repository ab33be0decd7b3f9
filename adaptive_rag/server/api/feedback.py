"""What callers thought of answers: given, read by who administers the collection, learned from."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from adaptive_rag.analysis.learning import QuestionLine
from adaptive_rag.evaluation.labels import format_question
from adaptive_rag.server.access import (
    Administrator,
    Caller,
    CurrentCaller,
    OwnCollection,
    OwnThread,
    ReadableCollection,
)
from adaptive_rag.server.api.pages import Page, Part, page_of
from adaptive_rag.server.database import Db
from adaptive_rag.server.problems import not_found
from adaptive_rag.server.quotas import check_opinions
from adaptive_rag.server.rates import ChangingCaller
from adaptive_rag.server.services import Parts
from adaptive_rag.server.tables import Feedback, User
from adaptive_rag.state import QUERY_TYPES, QueryType, Turn

router = APIRouter(tags=["feedback"])


class Opinion(BaseModel):
    """What you think of an answer."""

    model_config = ConfigDict(extra="forbid")

    is_good: bool | None = Field(None, description="Whether the answer was good.")
    better_route: QueryType | None = Field(None, description="The route that answers this question better.")
    comment: str = Field("", max_length=2000)


class OpinionOfQuestion(Opinion):
    """What you think of an answer outside of threads."""

    question: str = Field(max_length=20_000, pattern=r"\S")
    user_context: str = Field("", max_length=20_000)
    route: QueryType = Field(description="The route that was taken.")


class FeedbackShown(BaseModel):
    """What somebody thought of an answer."""

    id: str
    by: str = Field(description="The user's name.")
    question: str
    route: str
    is_good: bool | None
    better_route: str | None
    comment: str
    created: datetime


@router.post("/collections/{collection}/feedback", status_code=201)
def give_feedback(
    opinion: OpinionOfQuestion, caller: ChangingCaller, found: ReadableCollection, db: Db
) -> FeedbackShown:
    """Say what you think of the answer to a question of yours."""
    return _keep(db, caller, Feedback(owner_id=caller.id, collection_id=found.id, **opinion.model_dump()))


@router.post("/threads/{thread}/turns/{number}/feedback", status_code=201)
def give_feedback_on_turn(
    opinion: Opinion,
    caller: ChangingCaller,
    found: OwnThread,
    number: Annotated[int, Path(ge=1, le=1_000_000)],
    db: Db,
    parts: Parts,
) -> FeedbackShown:
    """Say what you think of an answer in a thread of yours."""
    turns = parts.conversations.turns(found.id)
    if number > len(turns):
        raise not_found("turn")
    turn, earlier = turns[number - 1], turns[: number - 1]
    said = [(("user", before.question), ("agent", before.answer)) for before in earlier]
    row = Feedback(
        owner_id=caller.id,
        collection_id=found.collection_id,
        thread_id=found.id,
        question=turn.question,
        history=[{"role": role, "text": text} for pair in said for role, text in pair],
        route=turn.route,
        **opinion.model_dump(),
    )
    return _keep(db, caller, row)


@router.get("/collections/{collection}/feedback")
def list_feedback(found: OwnCollection, db: Db, part: Part) -> Page[FeedbackShown]:
    """List what was thought of a collection's answers, the newest first."""
    query = select(Feedback).where(Feedback.collection_id == found.id)
    query = query.order_by(Feedback.created.desc(), Feedback.id)
    return page_of(db, query, part, lambda row: _shown(db, row))


@router.delete("/feedback/{feedback}", status_code=204)
def delete_feedback(feedback: Annotated[str, Path(max_length=32)], caller: CurrentCaller, db: Db) -> None:
    """Take back feedback of your own."""
    row = db.scalar(select(Feedback).where(Feedback.id == feedback, Feedback.owner_id == caller.id))
    if row is None:
        raise not_found("feedback")
    db.delete(row)
    db.commit()


@router.get(
    "/feedback/export",
    response_class=Response,
    responses={200: {"content": {"application/jsonl": {"example": '{"text": "Who?", "type": "factual"}\n'}}}},
)
def export_feedback(caller: Administrator, db: Db) -> Response:
    """Download the questions whose right route is known, as `adaptive-rag route --learn` reads them.

    Of one question's several opinions the newest counts.
    """
    lines = "".join(f"{format_question(line)}\n" for line in known_questions(db))
    return PlainTextResponse(lines, media_type="application/jsonl")


def known_questions(db: Session) -> list[QuestionLine]:
    """Return the questions whose right route is known; of several opinions on one the newest counts."""
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
    """Return what its owner thinks of the answers of a thread, by the number of the turn.

    Of one answer's several opinions the newest counts.
    """
    rows = db.scalars(select(Feedback).where(Feedback.thread_id == thread).order_by(Feedback.created))
    # Its history has a question and an answer of each turn before it.
    return {len(row.history) // 2 + 1: _shown(db, row) for row in rows}


def _keep(db: Db, caller: Caller, row: Feedback) -> FeedbackShown:
    check_opinions(db, caller, row)
    db.add(row)
    db.commit()
    return _shown(db, row)


def _shown(db: Session, row: Feedback) -> FeedbackShown:
    return FeedbackShown(
        id=row.id,
        by=db.get_one(User, row.owner_id).name,
        question=row.question,
        route=row.route,
        is_good=row.is_good,
        better_route=row.better_route,
        comment=row.comment,
        created=row.created,
    )
