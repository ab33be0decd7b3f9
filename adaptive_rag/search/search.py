"""Searches a source for candidates and fuses their scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
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
    uses_words = method != "dense"
    only: Literal["dense", "sparse"] | None = None
    by_plan = plan is not None and plan["dense_only"] and settings.alpha is None
    if not uses_words or (method == "weighted" and by_plan):
        only = "dense"
    elif method == "sparse":
        only = "sparse"
    all_chunks = EveryChunk(source) if settings.lexical == "okapi" and uses_words else None
    candidates = sum_scores(all_chunks or source, queries, limit=limit, only=only, views=views)
    if settings.tfidf and uses_words:
        tfidf = all_chunks.words.tfidf if all_chunks else None
        candidates = add_tfidf(candidates, queries, settings.tfidf, tfidf)
    alpha, why = weigh(candidates, context, analysis, plan)
    if method != "weighted":
        why = f"retrieval.fusion = {method!r}" if context.uses("fusion") else "without fusion"
    fused = fuse(candidates, method=method, alpha=alpha)
    if all_chunks:
        fused, why = fused[:limit], f"{why}; BM25Okapi scored all {len(all_chunks.words)} chunks"
    if settings.tfidf and uses_words:
        why = f"{why}; TF-IDF counts {settings.tfidf:g} of the score by words"
    if method != "weighted":
        return fused, Decision(what="fusion", chosen=method, why=why)
    return fused, Decision(what="fusion", chosen=f"alpha {alpha:.2f}", why=why, alpha=round(alpha, 4))


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
    if by_intent and (from_table := alpha_by_intent(analysis, settings.alpha_table)):
        return from_table
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
    results = source.search([query["text"] for query in queries], limit=limit)
    if views is not None:
        results = [[weigh_views(each, views) for each in candidates] for candidates in results]
    union: dict[str, Candidate] = {}
    for candidate in chain(*results):
        union.setdefault(candidate["id"], {**candidate, "labels": []})
    ids = list(union)
    dense, sparse = np.zeros(len(ids)), np.zeros(len(ids))
    for query, candidates in zip(queries, results, strict=True):
        dense += query.get("dense", 1.0) * _scores_of(ids, candidates, "dense")
        sparse += query.get("sparse", 1.0) * _scores_of(ids, candidates, "sparse")
    compared = [query for query in queries if query.get("dense", 1.0)]
    # Only the search itself compares the views of a pair.
    if len(compared) > 1 and ids and views is None and isinstance(source, ComparesTexts):
        cosines = source.similarities([query["text"] for query in compared], ids)
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


def _scores_of(ids: Sequence[str], candidates: Sequence[Candidate], name: str) -> Scores:
    """Return a query's scores for chunks by their ids; a chunk that it did not find gets its lowest score."""
    scores = {candidate["id"]: candidate["scores"][name] for candidate in candidates}
    lowest = min(scores.values(), default=0.0)
    return np.array([scores.get(id_, lowest) for id_ in ids])
