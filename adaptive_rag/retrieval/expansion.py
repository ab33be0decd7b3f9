"""Makes queries of a question: feedback terms, aspects, stances, and what context and history add."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.answering.terms import STOP_WORDS, terms
from adaptive_rag.models.cosines import cosines
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.retrieval.alpha import BASE_ALPHA
from adaptive_rag.retrieval.features import Scores
from adaptive_rag.state import Candidate, Turn

STANCES = ("benefits and arguments for", "risks and arguments against", "who is affected and how")
MORE_STANCES = ("costs", "alternatives", "experience so far", "fairness", "long-term effects")
FACETS = ("causes", "effects", "examples", "history", "comparison", "limits", "purpose", "parts")

LAST_TURNS = 4
TURN_CHARACTERS = 500
# A context whose words stand in the history up to this share repeats it and is no scenario.
ECHO = 0.8
JOINED_ALPHA, FOLLOW_UP_ALPHA = 0.5, 0.9
FEEDBACK_HITS, FEEDBACK_WEIGHT = 3, 0.5

_WORD = re.compile(r"[^\W\d_][\w'-]{3,}")
_SPEAKER = re.compile(r"^(user|human|assistant|agent|ai|bot)\s*:\s*", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class QueryPart:
    """One text sent to the index, and how much its dense and its sparse scores count."""

    text: str
    dense: float
    sparse: float


@dataclass(frozen=True)
class ContextualPlan:
    """How a question is asked in its context: the parts, their dense weight, who may be a candidate, why."""

    parts: list[QueryPart]
    alpha: float
    by_meaning: bool
    reason: str
    situation: str = ""


def plan_contextual(question: str, user_context: str, history: Sequence[Turn]) -> ContextualPlan:
    """Decide what of the context and the history goes into the queries.

    An agent's turn that asks is about the present need: with the scenario it is joined to the question.
    An agent's turn that tells has been answered already: words of it would find the same passages again,
    so a follow-up averages the dense scores of the question alone and of the question with the last turns,
    and words come from the question only. The question always stands first, since an encoder cuts at the end.
    """
    turns = list(history) or _turns_of(user_context)
    scenario = "" if _echoes(user_context, turns) else user_context.strip()
    told = any(turn["role"] == "agent" and not _asks(turn["text"]) for turn in turns)
    if told:
        talk = [turn["text"][:TURN_CHARACTERS] for turn in turns[-LAST_TURNS:]]
        with_talk = "\n".join(part for part in (question, scenario, *talk) if part)
        parts = [QueryPart(question, 0.5, 1.0), QueryPart(with_talk, 0.5, 0.0)]
        reason = "a follow-up: the question alone and with the last turns"
        return ContextualPlan(parts, FOLLOW_UP_ALPHA, True, reason, scenario)
    asked = [turn["text"] for turn in turns]
    joined = "\n".join(part for part in (question, scenario, *asked) if part)
    if not scenario:
        alpha, why = (JOINED_ALPHA, "clarifying turns") if asked else (BASE_ALPHA, "no context is given")
        return ContextualPlan([QueryPart(joined, 1.0, 1.0)], alpha, False, why)
    # BM25 is a sum over words, so two halves give the scenario's own words half a weight.
    bare = "\n".join(part for part in (question, *asked) if part)
    parts = [QueryPart(joined, 1.0, 0.5), QueryPart(bare, 0.0, 0.5)]
    why = "question, scenario and clarifying turns in one"
    return ContextualPlan(parts, JOINED_ALPHA, False, why, scenario)


def contextual_query(question: str, user_context: str, history: Sequence[Turn]) -> str:
    """Return the one text that says most: the question, then what the plan joins to it."""
    return max((part.text for part in plan_contextual(question, user_context, history).parts), key=len)


def feedback_scores(
    dense: Scores, vectors: Vectors, ranked: Sequence[int], *, weight: float = FEEDBACK_WEIGHT
) -> Scores:
    """Return dense scores as a query moved towards its first hits would give them, up to a constant.

    Rocchio's formula (1971) without negative examples: cos(q + w * mean, x) is proportional to
    dense + w * mean . x, so the query's own vector is not needed.

    Args:
        dense: cosine of the question with each candidate.
        vectors: the candidates' unit vectors, in the same order.
        ranked: indices of the first hits.
        weight: how far the query moves; 0 leaves it.
    """
    if not len(ranked):
        return dense
    mean = vectors[list(ranked)].mean(axis=0, keepdims=True)
    return np.asarray(dense + weight * cosines(vectors, mean)[:, 0])


def keywords(question: str) -> str:
    """Return the question's content words in order, as a query without the form of a question."""
    words = re.findall(r"[\w'-]+", question)
    return " ".join(word for word in words if word.lower() not in STOP_WORDS) or question


def salient_terms(question: str, hits: Sequence[Candidate], n: int) -> list[str]:
    """Return n words that several hits share, most shared first, which the question lacks.

    A word that nearly all hits hold tells the aspects apart no better than one that a single hit holds;
    so words count by how near to half of the hits hold them.
    """
    known = set(terms(question))
    counts = Counter(
        word for hit in hits for word in {w.lower() for w in _WORD.findall(hit["text"])} - STOP_WORDS
    )
    fresh = [(word, count) for word, count in counts.items() if not known.intersection(terms(word))]
    fresh.sort(key=lambda pair: (-pair[1] * (len(hits) - pair[1] + 1) if pair[1] > 1 else 0, pair[0]))
    chosen: dict[str, str] = {}
    for word, _ in fresh:
        chosen.setdefault("".join(terms(word)) or word, word)
    return list(chosen.values())[:n]


def aspect_queries(question: str, hits: Sequence[Candidate], n: int) -> list[str]:
    """Return n sub-questions: the coordinated parts, then salient terms of the first hits, then facets."""
    parts = [part.strip(" ?.") for part in re.split(r"\band\b|\bversus\b|\bvs\b\.?|[,;]", question)]
    parts = [part for part in parts if len(terms(part)) >= 2]
    asked = question.rstrip(" ?.")
    grown = [f"{asked} {word}" for word in (*salient_terms(question, hits, n), *FACETS)]
    return list(dict.fromkeys([*(parts if len(parts) > 1 else []), *grown]))[:n]


def stance_viewpoints(question: str, n: int) -> list[str]:
    """Return n general stances."""
    return [*STANCES, *MORE_STANCES][:n]


def _asks(text: str) -> bool:
    return text.rstrip(" \"')»”").endswith("?")


def _echoes(user_context: str, turns: Sequence[Turn]) -> bool:
    said = {term for turn in turns for term in terms(turn["text"])}
    words = set(terms(_SPEAKER.sub("", user_context)))
    return bool(words) and len(words & said) >= ECHO * len(words)


def _turns_of(user_context: str) -> list[Turn]:
    """Read a transcript ("User: ... Assistant: ...") that was passed as context; empty where it is none."""
    found = list(_SPEAKER.finditer(user_context))
    ends = [match.start() for match in found[1:]] + [len(user_context)] * bool(found)
    return [
        Turn(
            role="user" if match[1].lower() in ("user", "human") else "agent",
            text=user_context[match.end() : end].strip(),
        )
        for match, end in zip(found, ends, strict=True)
    ]
