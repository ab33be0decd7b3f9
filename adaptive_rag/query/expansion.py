"""Makes queries of a question: feedback terms, aspects, stances, and what context and history add."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.models.onnx import Vectors
from adaptive_rag.query.history import read_talk
from adaptive_rag.rank.features import Scores
from adaptive_rag.state import Candidate, Turn
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.words import STOP_WORDS, terms

STANCES = ("benefits and arguments for", "risks and arguments against", "who is affected and how")
MORE_STANCES = ("costs", "alternatives", "experience so far", "fairness", "long-term effects")
FACETS = ("causes", "effects", "examples", "history", "comparison", "limits", "purpose", "parts")

LAST_TURNS = 6
TURN_CHARACTERS = 500
JOINED_ALPHA, FOLLOW_UP_ALPHA = 0.5, 0.9
# Above this share of what was told, only the best by vector become candidates.
MOSTLY_TOLD = 0.5
FEEDBACK_HITS, FEEDBACK_WEIGHT = 3, 0.5

_WORD = re.compile(r"[^\W\d_][\w'-]{3,}")
# How people ask for views; what follows is the matter itself.
_FRAME = re.compile(
    r"^\s*(?:is it (?:right|true|fair|correct) (?:to say )?that|do you (?:agree|think|believe) that|"
    r"what do (?:people|you|others) think (?:of|about)(?: the (?:claim|idea) that)?|"
    r"what are (?:the |some )?(?:\w+ )?(?:views|opinions|perspectives|arguments) "
    r"(?:for and against|on|about))\s+",
    re.IGNORECASE,
)


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
    # None where nothing but the question is known: what the search finds then decides
    alpha: float | None
    by_meaning: bool
    reason: str
    situation: str = ""


def plan_contextual(
    question: str, user_context: str, history: Sequence[Turn], *, situated: bool = True
) -> ContextualPlan:
    """Decide what of the context and the history goes into the queries.

    What is known of the asker's need (the situation, questions of the agent with their answers) is joined
    to the question. What was told has been answered already: words of it would find the same passages
    again, so it is averaged, the question with it and the question without. The share of what was told,
    by content words, leads from the one way to the other:

        dense = (1 - share) * joined + share * (without + with) / 2

    The question always stands first and the last turn next, since an encoder cuts at the end. Unless
    `situated`, the asker's situation stays out of the texts.
    """
    talk = read_talk(question, user_context, history)
    told = [text[:TURN_CHARACTERS] for text in reversed(talk.told[-LAST_TURNS:])]
    if not (talk.situation or talk.settled or told):
        return ContextualPlan([QueryPart(question, 1.0, 1.0)], None, False, "no context is given")
    situation = talk.situation if situated else ""
    weight = len(terms(" ".join(told)))
    share = weight / max(1, weight + len(terms(" ".join([situation, *talk.settled]))))
    joined = _lines(question, situation, *talk.settled)
    bare = _lines(question, *talk.settled)
    # BM25 is a sum over words, so two halves give the situation's own words half a weight.
    half = (1 - share) / 2
    weights = [(joined, 1 - share, half), (bare, share / 2, 1 - half)]
    if told:
        weights.append((_lines(bare, *told), share / 2, 0.0))
    alpha = JOINED_ALPHA + (FOLLOW_UP_ALPHA - JOINED_ALPHA) * share
    why = f"{share:.0%} of what is known besides the question was told, the rest is about the asker's need"
    return ContextualPlan(_merged(weights), alpha, share > MOSTLY_TOLD, why, talk.situation)


def contextual_query(question: str, user_context: str, history: Sequence[Turn]) -> str:
    """Return the one text that says most: the question, what is known of the need, the last turns."""
    talk = read_talk(question, user_context, history)
    told = [text[:TURN_CHARACTERS] for text in reversed(talk.told[-LAST_TURNS:])]
    return _lines(question, talk.situation, *talk.settled, *told)


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


def matter(question: str) -> str:
    """Return what views are asked for, without the frame: no opinion says "what do people think of"."""
    return _FRAME.sub("", question) or question


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


def aspect_queries(question: str, hits: Sequence[Candidate], n: int) -> list[str]:
    """Return n sub-questions: the coordinated parts, then salient terms of the first hits, then facets."""
    parts = [part.strip(" ?.") for part in re.split(r"\band\b|\bversus\b|\bvs\b\.?|[,;]", question)]
    parts = [part for part in parts if len(terms(part)) >= 2]
    asked = question.rstrip(" ?.")
    grown = [f"{asked} {word}" for word in (*salient_terms(question, hits, n), *FACETS)]
    return list(dict.fromkeys([*(parts if len(parts) > 1 else []), *grown]))[:n]


def stance_viewpoints(n: int) -> list[str]:
    """Return n general stances."""
    return [*STANCES, *MORE_STANCES][:n]


def _lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)


def _merged(weights: Sequence[tuple[str, float, float]]) -> list[QueryPart]:
    """Return one part for each text that counts, its weights summed."""
    sums: dict[str, tuple[float, float]] = {}
    for text, dense, sparse in weights:
        known = sums.get(text, (0.0, 0.0))
        sums[text] = (known[0] + dense, known[1] + sparse)
    return [QueryPart(text, dense, sparse) for text, (dense, sparse) in sums.items() if dense or sparse]
