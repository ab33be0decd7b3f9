"""Quotas per person for everything that a reader may write; more is refused (413)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, Text, cast, func, select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import Caller
from adaptive_rag.server.conversations import TurnShown
from adaptive_rag.server.machine import THIS_MACHINE
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.tables import Feedback, Note, Share, Thread, Token


class Quota(NamedTuple):
    """How many of a kind one person may keep, and the condition on those of a user."""

    most: int
    owned_by: Callable[[str], ColumnElement[bool]]


# A new quota is a row here, and a `check_quota` where one is kept.
QUOTAS = {
    "threads": Quota(1000, lambda user: Thread.owner_id == user),
    "tokens": Quota(100, lambda user: (Token.user_id == user) & ~Token.is_session),
    "notes": Quota(2000, lambda user: Note.owner_id == user),
    "opinions on answers": Quota(5000, lambda user: Feedback.owner_id == user),
}
# Limits of one thread, since each question reads all earlier turns.
MOST_TURNS, MOST_CHARACTERS_OF_TURNS = 500, 1_000_000
# Limit of all feedback of a person together: feedback on a turn stores the turns before it.
MOST_CHARACTERS_OF_OPINIONS = 20_000_000
# People with whom one thread can be shared by name.
MOST_SHARES = 100


def check_quota(db: Session, caller: Caller, kind: str) -> None:
    """Check that a caller may keep one more of a kind in `QUOTAS`."""
    quota = QUOTAS[kind]
    _check(db, caller, select(func.count() + 1).where(quota.owned_by(caller.id)), quota.most, kind)


def check_opinions(db: Session, caller: Caller, new: Feedback) -> None:
    """Check the number and the total length of a caller's feedback, with a new one."""
    check_quota(db, caller, "opinions on answers")
    texts = (Feedback.question, Feedback.user_context, Feedback.comment, cast(Feedback.history, Text))
    lengths = [func.coalesce(func.sum(func.length(text)), 0) for text in texts]
    added = len(new.question) + len(new.user_context or "") + len(new.comment or "")
    added += sum(len(turn["text"]) for turn in new.history or ())
    total = select(reduce(add, lengths) + added).where(Feedback.owner_id == caller.id)
    _check(db, caller, total, MOST_CHARACTERS_OF_OPINIONS, "characters of opinions on answers")


def check_shares(db: Session, thread: Thread) -> None:
    """Check that a thread can be shared with one more person."""
    query = select(func.count() + 1).select_from(Share).where(Share.thread_id == thread.id)
    if (db.scalar(query) or 0) > MOST_SHARES:
        raise Problem(413, f"A thread may be shared with {MOST_SHARES:,} people. Open it to its collection.")


def check_turns(turns: list[TurnShown]) -> None:
    """Check that a thread can have one more question."""
    characters = sum(len(turn.question) + len(turn.user_context) + len(turn.answer) for turn in turns)
    if len(turns) >= MOST_TURNS or characters >= MOST_CHARACTERS_OF_TURNS:
        raise Problem(
            413,
            f"This thread is full: a thread may have {MOST_TURNS:,} questions, or "
            f"{MOST_CHARACTERS_OF_TURNS:,} characters. Begin another one.",
        )


def _check(db: Session, caller: Caller, query: Select[int], limit: int, kind: str) -> None:
    # A server without users has no quotas: it is the disk of the person at this machine.
    if caller.name != THIS_MACHINE and (db.scalar(query) or 0) > limit:
        raise Problem(413, f"A person may keep {limit:,} {kind} here. Delete some, and try again.")
