"""Analytical questions: sub-questions that together cover the aspects of the question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from pydantic import BaseModel, Field

from adaptive_rag.llm.replies import exactly, texts
from adaptive_rag.llm.request import Asking, Request
from adaptive_rag.state import Candidate
from adaptive_rag.text.words import STOP_WORDS, terms

# What an analytical question may be about, where neither its parts nor its first hits say it.
FACETS = ("causes", "effects", "examples", "history", "comparison", "limits", "purpose", "parts")

_WORD = re.compile(r"[^\W\d_][\w'-]{3,}")


class SubQuestions(BaseModel):
    """Questions that together cover the main one."""

    sub_questions: list[str] = Field(min_length=1, max_length=8, description="The sub-questions.")


def decompose(question: str, n: int, first_hits: Callable[[], list[Candidate]]) -> Asking[list[str]]:
    """Return n sub-questions: the model's, else those that the question and its first hits suggest."""
    [reply] = yield [ask_to_decompose(question, n)]
    if reply.result is not None:
        found: list[str] = reply.result.sub_questions
        return found
    return aspect_queries(question, first_hits(), n)


def ask_to_decompose(question: str, n: int) -> Request[SubQuestions]:
    """Ask the model for exactly n different sub-questions."""
    return Request(
        "decompose",
        SubQuestions,
        values=lambda: {"question": question, "n": str(n)},
        read=lambda value: {"sub_questions": exactly(n, texts(value, "sub-questions"), "sub-questions")},
        check=lambda result: SubQuestions(sub_questions=exactly(n, result.sub_questions, "sub-questions")),
        bounds={"sub_questions": {"minItems": n, "maxItems": n}},
    )


def aspect_queries(question: str, hits: Sequence[Candidate], n: int) -> list[str]:
    """Return n sub-questions: the coordinated parts, then salient terms of the first hits, then facets."""
    parts = [part.strip(" ?.") for part in re.split(r"\band\b|\bversus\b|\bvs\b\.?|[,;]", question)]
    parts = [part for part in parts if len(terms(part)) >= 2]
    asked = question.rstrip(" ?.")
    grown = [f"{asked} {word}" for word in (*salient_terms(question, hits, n), *FACETS)]
    return list(dict.fromkeys([*(parts if len(parts) > 1 else []), *grown]))[:n]


def salient_terms(question: str, hits: Sequence[Candidate], n: int) -> list[str]:
    """Return n words that several hits share, most shared first, which the question lacks.

    A word that nearly all hits hold tells the aspects apart no better than one that a single hit holds;
    so words count by how near to half of the hits hold them.
    """
    known = set(terms(question))
    counts = Counter(
        word for hit in hits for word in {w.lower() for w in _WORD.findall(hit["text"])} - STOP_WORDS
    )
    ranked = sorted(
        counts.items(), key=lambda pair: (-pair[1] * (len(hits) - pair[1] + 1) if pair[1] > 1 else 0, pair[0])
    )
    chosen: dict[str, str] = {}
    for word, _ in ranked:
        if len(chosen) >= n:
            break
        stems = terms(word)
        if not known.intersection(stems):
            chosen.setdefault("".join(stems) or word, word)
    return list(chosen.values())
