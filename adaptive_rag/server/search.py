"""Finds threads by the words of their questions and answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Select, and_, exists, or_, select
from sqlalchemy.orm import Session

from adaptive_rag.server.tables import Thread, TurnText
from adaptive_rag.text.markers import strip_markers

# Only the most recently continued threads are searched, for the first words of a search.
MOST_THREADS_SEARCHED, MOST_WORDS = 2000, 10
# So many letters of a word are searched for, since the time grows with their number.
LONGEST_WORD = 40
# Characters of an excerpt, and those before its first match.
_EXCERPT_LENGTH, _LENGTH_BEFORE = 200, 50
# Signs of Markdown around words.
_MARKDOWN_SIGNS = re.compile(r"[*#`|>]+")


class Piece(BaseModel):
    """A part of an excerpt."""

    text: str
    is_match: bool = Field(description="Whether it is one of the words of the search.")


class Found(BaseModel):
    """The first turn of a thread with all words of a search."""

    turn: str = Field(description="The turn's id.")
    excerpt: list[Piece] = Field(description="The part of its question or answer with these words.")


def split_words(search: str) -> list[str]:
    """Return the words to search for. All must occur, in any order, also as parts of longer words."""
    return [word[:LONGEST_WORD] for word in search.split()[:MOST_WORDS]]


def filter_by_words(threads: Select[Thread], words: Sequence[str]) -> Select[Thread]:
    """Limit a query to the threads that have all words in their title or in one of their turns."""
    if not words:
        return threads
    newest = threads.order_by(Thread.updated.desc(), Thread.id).limit(MOST_THREADS_SEARCHED)
    ids = newest.with_only_columns(Thread.id).subquery()
    in_title = and_(*(Thread.title.icontains(word, autoescape=True) for word in words))
    in_turn = exists().where(TurnText.thread_id == Thread.id, _contains_words(words))
    return threads.where(Thread.id.in_(select(ids.c.id)), or_(in_title, in_turn))


def _contains_words(words: Sequence[str]) -> ColumnElement[Any]:
    return and_(*(TurnText.folded.contains(word.casefold(), autoescape=True) for word in words))


def find_turn(db: Session, thread_id: str, words: Sequence[str]) -> Found | None:
    """Return the first turn of a thread that has all words; None if only the title has them."""
    if not words:
        return None
    query = select(TurnText).where(TurnText.thread_id == thread_id, _contains_words(words))
    turn = db.scalars(query.order_by(TurnText.asked, TurnText.id).limit(1)).first()
    if turn is None:
        return None
    excerpts = [make_excerpt(text, words) for text in (turn.answer, turn.question)]
    return Found(turn=turn.id, excerpt=max(excerpts, key=_count_matches))


def _count_matches(excerpt: list[Piece]) -> int:
    return len({piece.text.casefold() for piece in excerpt if piece.is_match})


def make_excerpt(text: str, words: Sequence[str]) -> list[Piece]:
    """Return the part of a text around the first match of any of the words, without signs of Markdown."""
    plain_text = " ".join(_MARKDOWN_SIGNS.sub(" ", strip_markers(text)).split())
    pattern = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))), re.IGNORECASE)
    first = pattern.search(plain_text)
    start = max(0, first.start() - _LENGTH_BEFORE) if first else 0
    start = plain_text.find(" ", start) + 1 if start else 0  # at the beginning of a word
    start = min(start, first.start()) if first else start
    excerpt = plain_text[start : start + _EXCERPT_LENGTH]
    pieces, end = [Piece(text="… ", is_match=False)] if start else [], 0
    for match in pattern.finditer(excerpt):
        pieces.append(Piece(text=excerpt[end : match.start()], is_match=False))
        pieces.append(Piece(text=match[0], is_match=True))
        end = match.end()
    rest = excerpt[end:] + ("…" if start + _EXCERPT_LENGTH < len(plain_text) else "")
    pieces.append(Piece(text=rest, is_match=False))
    return [piece for piece in pieces if piece.text]
