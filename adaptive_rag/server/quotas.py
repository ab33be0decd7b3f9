"""Quotas: everything that a reader may write is limited per person, and one more is refused (413)."""

from __future__ import annotations

from functools import reduce
from operator import add

from sqlalchemy import Select, Text, cast, func, select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import Caller
from adaptive_rag.server.conversations import TurnShown
from adaptive_rag.server.machine import THIS_MACHINE
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.tables import Feedback, Note, Share, Thread, Token

MOST_THREADS = 1000
# Limits of one thread: each of its questions reads all earlier turns.
MOST_TURNS, MOST_CHARACTERS_OF_TURNS = 500, 1_000_000
MOST_OPINIONS = 5000
# An opinion on a turn stores the turns before it.
MOST_CHARACTERS_OF_OPINIONS = 20_000_000
MOST_TOKENS = 100
# People that one thread is shared with by name.
MOST_SHARES = 100
MOST_NOTES = 2000


def check_threads(db: Session, caller: Caller) -> None:
    """Check that a caller may begin one more thread."""
    own = select(func.count() + 1).select_from(Thread).where(Thread.owner_id == caller.id)
    _check(db, caller, own, MOST_THREADS, "threads")


def check_tokens(db: Session, caller: Caller) -> None:
    """Check that a caller may make one more API token."""
    own = select(func.count() + 1).select_from(Token).where(Token.user_id == caller.id, ~Token.is_session)
    _check(db, caller, own, MOST_TOKENS, "tokens")


def check_notes(db: Session, caller: Caller) -> None:
    """Check that a caller may write one more note."""
    own = select(func.count() + 1).select_from(Note).where(Note.owner_id == caller.id)
    _check(db, caller, own, MOST_NOTES, "notes")


def check_opinions(db: Session, caller: Caller, new: Feedback) -> None:
    """Check that a caller may give one more opinion, and that their texts together are not too long."""
    own = Feedback.owner_id == caller.id
    number = select(func.count() + 1).select_from(Feedback).where(own)
    _check(db, caller, number, MOST_OPINIONS, "opinions on answers")
    texts = (Feedback.question, Feedback.user_context, Feedback.comment, cast(Feedback.history, Text))
    lengths = [func.coalesce(func.sum(func.length(text)), 0) for text in texts]
    added = len(new.question) + len(new.user_context or "") + len(new.comment or "")
    added += sum(len(turn["text"]) for turn in new.history or ())
    total = select(reduce(add, lengths) + added).where(own)
    _check(db, caller, total, MOST_CHARACTERS_OF_OPINIONS, "characters of opinions on answers")


def check_shares(db: Session, thread: Thread) -> None:
    """Check that a thread may be shared with one more person."""
    query = select(func.count() + 1).select_from(Share).where(Share.thread_id == thread.id)
    if (db.scalar(query) or 0) > MOST_SHARES:
        raise Problem(413, f"A thread may be shared with {MOST_SHARES:,} people. Open it to its collection.")


def check_turns(turns: list[TurnShown]) -> None:
    """Check that a thread may have one more question."""
    characters = sum(len(turn.question) + len(turn.user_context) + len(turn.answer) for turn in turns)
    if len(turns) >= MOST_TURNS or characters >= MOST_CHARACTERS_OF_TURNS:
        raise Problem(
            413,
            f"This thread is as long as one may be: {MOST_TURNS:,} questions, or "
            f"{MOST_CHARACTERS_OF_TURNS:,} characters. Begin another one.",
        )


def _check(db: Session, caller: Caller, query: Select[int], most: int, what: str) -> None:
    # Without users, everybody at this machine is one user, and it is their disk.
    if caller.name != THIS_MACHINE and (db.scalar(query) or 0) > most:
        raise Problem(413, f"A person may keep {most:,} {what} here. Delete some, and try again.")
