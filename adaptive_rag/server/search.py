"""Finds threads by what was asked and answered in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Select, and_, exists, or_, select
from sqlalchemy.orm import Session

from adaptive_rag.server.tables import Thread, TurnText
from adaptive_rag.text.markers import strip_markers

# The threads that were continued last are searched, and the first words of a search count.
MOST_THREADS_SEARCHED, MOST_WORDS = 2000, 10
# Characters of an excerpt, and those before its first match.
_LENGTH, _BEFORE = 200, 50
# What Markdown writes around words.
_SIGNS = re.compile(r"[*#`|>]+")


class Piece(BaseModel):
    """A part of an excerpt."""

    text: str
    is_match: bool = Field(description="Whether it is one of the words that were searched.")


class Found(BaseModel):
    """The first turn of a thread with all words of a search."""

    turn: str = Field(description="The turn's id.")
    excerpt: list[Piece] = Field(description="The part of its question or answer with these words.")


# Letters of a word that are searched for: the time grows with them.
LONGEST_WORD = 40


def words_of(search: str) -> list[str]:
    """Return the words to search for: each must occur, in any order and within longer words."""
    return [word[:LONGEST_WORD] for word in search.casefold().split()[:MOST_WORDS]]


def with_words(threads: Select[Thread], words: Sequence[str]) -> Select[Thread]:
    """Return the threads that have all words in their title or in one of their turns."""
    if not words:
        return threads
    newest = threads.order_by(Thread.updated.desc(), Thread.id).limit(MOST_THREADS_SEARCHED)
    ids = newest.with_only_columns(Thread.id).subquery()
    in_title = and_(*(Thread.title.icontains(word, autoescape=True) for word in words))
    in_turn = exists().where(TurnText.thread_id == Thread.id, _has(words))
    return threads.where(Thread.id.in_(select(ids.c.id)), or_(in_title, in_turn))


def _has(words: Sequence[str]) -> ColumnElement[Any]:
    return and_(*(TurnText.folded.contains(word, autoescape=True) for word in words))


def find_turn(db: Session, thread_id: str, words: Sequence[str]) -> Found | None:
    """Return the first turn of a thread that has all words; None if only the title has them."""
    if not words:
        return None
    query = select(TurnText).where(TurnText.thread_id == thread_id, _has(words))
    turn = db.scalars(query.order_by(TurnText.asked, TurnText.id).limit(1)).first()
    if turn is None:
        return None
    excerpts = [excerpt_of(text, words) for text in (turn.answer, turn.question)]
    return Found(turn=turn.id, excerpt=max(excerpts, key=_matches))


def _matches(excerpt: list[Piece]) -> int:
    return len({piece.text.casefold() for piece in excerpt if piece.is_match})


def excerpt_of(text: str, words: Sequence[str]) -> list[Piece]:
    """Return the part of a text around the first of the words, without the signs of Markdown."""
    plain = " ".join(_SIGNS.sub(" ", strip_markers(text)).split())
    pattern = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))), re.IGNORECASE)
    first = pattern.search(plain)
    start = max(0, first.start() - _BEFORE) if first else 0
    start = plain.find(" ", start) + 1 if start else 0  # at the beginning of a word
    start = min(start, first.start()) if first else start
    shown = plain[start : start + _LENGTH]
    pieces, end = [Piece(text="… ", is_match=False)] if start else [], 0
    for match in pattern.finditer(shown):
        pieces.append(Piece(text=shown[end : match.start()], is_match=False))
        pieces.append(Piece(text=match[0], is_match=True))
        end = match.end()
    rest = shown[end:] + ("…" if start + _LENGTH < len(plain) else "")
    pieces.append(Piece(text=rest, is_match=False))
    return [piece for piece in pieces if piece.text]
