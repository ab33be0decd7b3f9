"""Makes queries of a question: feedback terms, aspects, stances, and what the context adds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from adaptive_rag.state import Candidate, Turn

STANCES = ("benefits and arguments for", "risks and arguments against", "who is affected and how")
_WORD = re.compile(r"[^\W\d_][\w'-]{3,}")


def feedback_query(question: str, hits: Sequence[Candidate]) -> str:
    """Return the question itself: feedback terms are added only where they help."""
    return question


def salient_terms(question: str, hits: Sequence[Candidate], n: int) -> list[str]:
    """Return the n words that most hits share and the question lacks."""
    known = {word.lower() for word in _WORD.findall(question)}
    counts = Counter(word for hit in hits for word in {w.lower() for w in _WORD.findall(hit["text"])} - known)
    return [word for word, _ in counts.most_common(n)]


def aspect_queries(question: str, hits: Sequence[Candidate], n: int) -> list[str]:
    """Return n sub-questions: the coordinated parts, then salient terms of the first hits."""
    parts = [part.strip(" ?") for part in re.split(r"\band\b|,|;", question) if len(part.split()) >= 3]
    aspects = [f"{question} {term}" for term in salient_terms(question, hits, n)]
    queries = list(dict.fromkeys([*(parts if len(parts) > 1 else []), *aspects]))
    return (queries + [f"{question} ({i})" for i in range(n)])[:n]


def stance_viewpoints(question: str, n: int) -> list[str]:
    """Return n general stances."""
    more = ("costs", "alternatives", "experience so far", "fairness", "long-term effects")
    return [*STANCES, *more][:n]


def contextual_query(question: str, user_context: str, history: Sequence[Turn]) -> str:
    """Return context, last turns and question in one text."""
    turns = [turn["text"] for turn in history[-2:]]
    return " ".join([user_context, *turns, question]).strip()
