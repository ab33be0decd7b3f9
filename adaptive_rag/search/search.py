"""Asks a source for candidates and fuses their scores; what the retrieve step does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adaptive_rag.context import Context
from adaptive_rag.query.expansion import QueryPart
from adaptive_rag.rank.features import Scores
from adaptive_rag.search.alpha import choose_alpha
from adaptive_rag.search.fusion import fuse, with_scores
from adaptive_rag.search.views import WEIGHTS_BY_INTENT, ViewWeights, weigh_views
from adaptive_rag.source import ChunkSource, ComparesTexts, PreparesSearch
from adaptive_rag.state import Candidate, Decision, Query, QueryAnalysis, SearchPlan

POOL = 50  # candidates by vector and by words, each
FEEDBACK_HITS = 10
TRACED = 20


def search(
    source: ChunkSource,
    queries: Sequence[Query],
    context: Context,
    analysis: QueryAnalysis,
    plan: SearchPlan | None = None,
) -> tuple[list[Candidate], Decision]:
    """Return the fused candidates of one search, best first, and how the scores were weighed."""
    parts = [QueryPart(q["text"], q.get("dense", 1.0), q.get("sparse", 1.0)) for q in queries]
    by_meaning = plan is not None and plan["by_meaning"] and context.fusion == "weighted"
    views = WEIGHTS_BY_INTENT[analysis["intent"]] if context.qa_views else None
    found = search_parts(source, parts, context, by_meaning=by_meaning, views=views)
    if context.alpha is not None:
        alpha, why = context.alpha, "set by the caller"
    elif plan is not None:
        alpha, why = plan["alpha"], plan["why"]
    else:
        alpha, why = choose_alpha(np.array([c["scores"]["sparse"] for c in found]), analysis)
    chosen = f"alpha {alpha:.2f}" if context.fusion == "weighted" else context.fusion
    return fuse(found, method=context.fusion, alpha=alpha), Decision(what="fusion", chosen=chosen, why=why)


def prepare(source: ChunkSource, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
    """Tell a source what will be searched and compared next, so that it works while the graph goes on."""
    if isinstance(source, PreparesSearch):
        source.prepare(texts, also_compared)


def search_parts(
    source: ChunkSource,
    parts: Sequence[QueryPart],
    context: Context,
    *,
    by_meaning: bool = False,
    views: ViewWeights | None = None,
) -> list[Candidate]:
    """Return the candidates of several texts that ask for one thing, their scores summed.

    Summing raw scores before fusing keeps one scale: a mean of cosines is the cosine with the mean of the
    texts, and a sum of BM25 is the BM25 of all their words. A chunk that only one text found is compared
    with the others too where the source can do that; else it gets the lowest score that they gave. With
    `by_meaning` only the best by vector become candidates, and words merely help to order them. With
    `views` the dense score of a question-answer pair is the weighted mean of its views.
    """
    limit = max(POOL, 3 * context.k)
    found = source.search([part.text for part in parts], limit=limit)
    if views is not None:
        found = [weigh_views(candidates, views) for candidates in found]
    union: dict[str, Candidate] = {}
    for candidates in found:
        for candidate in candidates:
            union.setdefault(candidate["id"], {**candidate, "labels": []})
    row = {id_: i for i, id_ in enumerate(union)}
    dense, sparse = np.zeros(len(row)), np.zeros(len(row))
    for part, candidates in zip(parts, found, strict=True):
        dense += part.dense * _column(candidates, "dense", row)
        sparse += part.sparse * _column(candidates, "sparse", row)
    heard = [part for part in parts if part.dense]
    # The views of a pair are compared by the search alone.
    if len(heard) > 1 and views is None and isinstance(source, ComparesTexts):
        cosines = source.similarities([part.text for part in heard], list(row))
        dense = np.array([part.dense for part in heard]) @ cosines
    scored = [
        with_scores(candidate, dense=float(dense[i]), sparse=float(sparse[i]))
        for i, candidate in enumerate(union.values())
    ]
    if by_meaning:
        scored = sorted(scored, key=lambda candidate: -candidate["scores"]["dense"])[:limit]
    return scored


def first_hits(source: ChunkSource, question: str) -> list[Candidate]:
    """Return the first hits for a question, for stand-ins that learn from them."""
    [found] = source.search([question], limit=FEEDBACK_HITS)
    return fuse(found, method="weighted", alpha=0.5)[:FEEDBACK_HITS]


def summarise(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Return the first candidates as a trace keeps them: what they are and every score."""
    return [
        {
            "id": c["id"],
            "source": c["source"],
            "page": c["page"],
            "scores": c["scores"],
            "labels": c["labels"],
        }
        for c in candidates[:TRACED]
    ]


def _column(candidates: Sequence[Candidate], score: str, row: dict[str, int]) -> Scores:
    """Return one score of every row; a row that this query did not find can score no more than its last."""
    found = {candidate["id"]: candidate["scores"][score] for candidate in candidates}
    floor = min(found.values(), default=0.0)
    return np.array([found.get(id_, floor) for id_ in row])
