"""Searches a source for candidates and fuses their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from adaptive_rag.context import Context
from adaptive_rag.context.groups import Fusion
from adaptive_rag.search.fusion import alpha_by_intent, bound_alpha, choose_alpha, fuse, with_scores
from adaptive_rag.search.views import WEIGHTS_BY_INTENT, ViewWeights, weigh_views
from adaptive_rag.search.words import EveryChunk, add_tfidf
from adaptive_rag.source import ChunkSource, ComparesTexts, PreparesSearch, SearchesChunks
from adaptive_rag.state import Candidate, Decision, Query, QueryAnalysis, SearchPlan
from adaptive_rag.text.vectors import Scores

POOL = 50  # candidates by vector and by words, each
PLAIN_ALPHA = 0.5
# Number of passages assumed if no k is set: the most that a strategy reads.
PLANNED = 24
# How many candidates a trace keeps, and which keys of each.
TRACED, TRACED_KEYS = 20, ("id", "source", "page", "scores", "labels")


def search(
    source: ChunkSource,
    queries: Sequence[Query],
    context: Context,
    analysis: QueryAnalysis,
    plan: SearchPlan | None = None,
) -> tuple[list[Candidate], Decision]:
    """Return the fused candidates of one search, best first, and how the scores were weighted."""
    settings = context.retrieval
    method = fusion_method(context)
    views = WEIGHTS_BY_INTENT[analysis["intent"]] if settings.qa_views else None
    limit = pool_size(context)
    only: Literal["dense", "sparse"] | None = None
    if method == "dense" or (method == "weighted" and plan is not None and plan["dense_only"]):
        only = "dense"
    elif method == "sparse":
        only = "sparse"
    every = EveryChunk(source) if settings.lexical == "okapi" and method != "dense" else None
    found = sum_scores(every or source, queries, limit=limit, only=only, views=views)
    if settings.tfidf and method != "dense":
        found = add_tfidf(found, queries, settings.tfidf, every.words.tfidf if every else None)
    alpha, why = weigh(found, context, analysis, plan)
    if method != "weighted":
        why = f"retrieval.fusion = {method!r}" if context.uses("fusion") else "without fusion"
    fused = fuse(found, method=method, alpha=alpha)
    chosen = f"alpha {alpha:.2f}" if method == "weighted" else method
    if every:
        fused, why = fused[:limit], f"{why}; BM25Okapi scored all {len(every.words)} chunks"
    if settings.tfidf and method != "dense":
        why = f"{why}; TF-IDF counts {settings.tfidf:g} of the score by words"
    return fused, Decision(what="fusion", chosen=chosen, why=why)


def fusion_method(context: Context) -> Fusion:
    """Return how the scores are fused: as the setting says, or by vector alone without fusion."""
    return context.retrieval.fusion if context.uses("fusion") else "dense"


def pool_size(context: Context) -> int:
    """Return how many candidates a query retrieves by vector, and as many by words."""
    pool = context.retrieval.pool
    if pool is not None:
        return pool * (context.k or PLANNED)
    # Without k, there are at least twice as many candidates as any strategy reads.
    return max(POOL, 3 * (context.k or 0))


def weigh(
    candidates: Sequence[Candidate], context: Context, analysis: QueryAnalysis, plan: SearchPlan | None
) -> tuple[float, str]:
    """Return alpha, the weight of the vector score, and why.

    The caller's setting comes first, then the table by intent if the settings ask for it, then the plan
    of an earlier step, and last the value computed from the word scores.
    """
    settings = context.retrieval
    if settings.alpha is not None:
        return settings.alpha, "set by the caller"
    if not context.uses("analysis"):
        return PLAIN_ALPHA, "no analysis: both count the same"
    by_intent = settings.alpha_by == "intent"
    if by_intent and (found := alpha_by_intent(analysis, settings.alpha_table)):
        return found
    if plan is not None:
        alpha, why = plan["alpha"], plan["why"]
    else:
        alpha, why = choose_alpha(np.array([c["scores"]["sparse"] for c in candidates]), analysis)
    if by_intent:
        return bound_alpha(alpha, f"the table has no alpha for a {analysis['intent']} question; {why}")
    return alpha, why


def prepare(source: ChunkSource, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
    """Tell a source what will be searched and compared next, so that it can start while the graph runs."""
    if isinstance(source, PreparesSearch):
        source.prepare(texts, also_compared)


def sum_scores(
    source: SearchesChunks,
    queries: Sequence[Query],
    *,
    limit: int,
    only: Literal["dense", "sparse"] | None = None,
    views: ViewWeights | None = None,
) -> list[Candidate]:
    """Return the candidates of several queries for the same thing, with their scores summed.

    Summing raw scores before fusion keeps one scale: a mean of cosines is the cosine with the mean of the
    texts, and a sum of BM25 is the BM25 of all their words. A chunk that only one query found is also
    compared with the other queries if the source can do that; otherwise it gets their lowest score.

    `limit` is the number of candidates of each query by vector, and as many by words. With `only`, just
    the best `limit` by that score are candidates; the other score may only help to order them. With
    `views`, the vector score of a question-answer pair is the weighted mean of its views.
    """
    found = source.search([query["text"] for query in queries], limit=limit)
    if views is not None:
        found = [weigh_views(candidates, views) for candidates in found]
    union: dict[str, Candidate] = {}
    for candidates in found:
        for candidate in candidates:
            union.setdefault(candidate["id"], {**candidate, "labels": []})
    row = {id_: i for i, id_ in enumerate(union)}
    dense, sparse = np.zeros(len(row)), np.zeros(len(row))
    for query, candidates in zip(queries, found, strict=True):
        dense += query.get("dense", 1.0) * _column(candidates, "dense", row)
        sparse += query.get("sparse", 1.0) * _column(candidates, "sparse", row)
    compared = [query for query in queries if query.get("dense", 1.0)]
    # Only the search itself compares the views of a pair.
    if len(compared) > 1 and row and views is None and isinstance(source, ComparesTexts):
        cosines = source.similarities([query["text"] for query in compared], list(row))
        dense = np.array([query.get("dense", 1.0) for query in compared]) @ cosines
    scored = [
        with_scores(candidate, dense=float(dense[i]), sparse=float(sparse[i]))
        for i, candidate in enumerate(union.values())
    ]
    if only is not None:
        scored = sorted(scored, key=lambda candidate: -candidate["scores"][only])[:limit]
    return scored


def summarise(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Return the first candidates in the form that a trace keeps."""
    return [{key: value for key, value in c.items() if key in TRACED_KEYS} for c in candidates[:TRACED]]


def _column(candidates: Sequence[Candidate], score: str, row: dict[str, int]) -> Scores:
    """Return one score for every row; a row that this query did not find gets its lowest score."""
    found = {candidate["id"]: candidate["scores"][score] for candidate in candidates}
    floor = min(found.values(), default=0.0)
    return np.array([found.get(id_, floor) for id_ in row])
