"""The router of this server: taught by the votes of its users, and put back to what it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from threading import Lock

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.analysis.learning import (
    LEAST_QUESTIONS,
    LearningResult,
    forget,
    learn_from,
    read_result,
)
from adaptive_rag.server.access import Administrator
from adaptive_rag.server.api.feedback import known_questions
from adaptive_rag.server.audit import note
from adaptive_rag.server.database import Db, let_go
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.services import Parts

router = APIRouter(prefix="/router", tags=["feedback"])

# Of more votes the newest are learned from: time and memory grow with their square.
MOST_QUESTIONS = 2000
_teaching = Lock()


@contextmanager
def _alone() -> Iterator[None]:
    """Let one request at a time change the router: teaching takes minutes of every core."""
    if not _teaching.acquire(blocking=False):
        raise Problem(409, "The router is being taught already. Try again when that is done.")
    try:
        yield
    finally:
        _teaching.release()


class Quality(BaseModel):
    """How well the questions that were kept aside are routed."""

    accuracy: float = Field(description="Share that goes the right way.")
    log_loss: float = Field(description="Lower is better.")


class Lesson(BaseModel):
    """What teaching did, measured on questions that were not learned from."""

    model_config = ConfigDict(from_attributes=True)

    is_kept: bool = Field(description="Whether it helped, and is kept.")
    learned_from: int = Field(description="Questions that were learned from.")
    kept_aside: int = Field(description="Questions that were kept aside to measure on.")
    before: Quality = Field(description="Of the router as shipped.")
    after: Quality


class RouterShown(BaseModel):
    """The router, and what it could learn from."""

    is_learned: bool = Field(description="Whether questions are routed by what the votes taught.")
    votes: int = Field(description="Questions whose right route is known from votes.")
    routes: int = Field(description="Routes among them.")
    least: int = Field(description="Questions that teaching takes, of two routes or more.")
    lesson: Lesson | None = Field(description="What the teaching did that was asked for, or that holds.")
    learned: datetime | None = Field(description="When it learned what it knows from votes.")


@router.get("")
def show_router(caller: Administrator, db: Db, parts: Parts) -> RouterShown:
    """Show whether the router has learned from votes, and how many there are to learn from."""
    return _shown(db, parts, read_result(parts.settings.learned_router))


@router.post("/learn")
def teach_router(caller: Administrator, request: Request, db: Db, parts: Parts) -> RouterShown:
    """Teach the router by the votes so far. It is kept where it routes other questions better.

    The next question is routed by it. DELETE takes it back.
    """
    questions = known_questions(db)
    routes = {line.type for line in questions}
    if len(questions) < LEAST_QUESTIONS or len(routes) < 2:
        raise Problem(
            409,
            f"Teaching takes votes on at least {LEAST_QUESTIONS} questions, of two routes or more. There are "
            f"{len(questions)} so far, of {len(routes)}.",
        )
    let_go(db)
    with _alone():
        found = learn_from(questions[-MOST_QUESTIONS:], parts.settings.learned_router, "The feedback")
    note(db, request, caller, "router.learn", "kept" if found.file else "did not help")
    db.commit()
    return _shown(db, parts, found)


@router.delete("", status_code=204)
def put_router_back(caller: Administrator, request: Request, db: Db, parts: Parts) -> None:
    """Take back what the votes taught: the next question is routed as before."""
    with _alone():
        forgot = forget(parts.settings.learned_router)
    if forgot:
        note(db, request, caller, "router.forget")
        db.commit()


def _shown(db: Db, parts: Parts, found: LearningResult | None) -> RouterShown:
    questions, file = known_questions(db), parts.settings.learned_router
    is_learned = file.exists()
    return RouterShown(
        is_learned=is_learned,
        votes=len(questions),
        routes=len({line.type for line in questions}),
        least=LEAST_QUESTIONS,
        lesson=Lesson(is_kept=found.file is not None, **asdict(found)) if found else None,
        learned=datetime.fromtimestamp(file.stat().st_mtime, UTC) if is_learned else None,
    )
