"""Asks a source for candidates and fuses their scores; what the retrieve step does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptive_rag.context import Context
from adaptive_rag.index.source import ChunkSource
from adaptive_rag.retrieval.alpha import choose_alpha
from adaptive_rag.retrieval.fusion import fuse
from adaptive_rag.state import Candidate, Decision, Query, QueryAnalysis

POOL = 50  # candidates by vector and by words, each
FEEDBACK_HITS = 10
TRACED = 20


def fused_search(
    source: ChunkSource, queries: Sequence[Query], context: Context, analysis: QueryAnalysis
) -> tuple[list[list[Candidate]], Decision]:
    """Return the fused candidates of each query, best first, and how they were weighed."""
    alpha, why = (context.alpha, "set by the caller") if context.alpha is not None else choose_alpha(analysis)
    limit = max(POOL, 3 * context.k)
    found = source.search([query["text"] for query in queries], limit=limit)
    lists = []
    for query, candidates in zip(queries, found, strict=True):
        labels = [query["label"]] if "label" in query else []
        labelled: list[Candidate] = [{**candidate, "labels": labels} for candidate in candidates]
        lists.append(fuse(labelled, method=context.fusion, alpha=alpha))
    chosen = f"alpha {alpha:.2f}" if context.fusion == "weighted" else context.fusion
    return lists, Decision(what="fusion", chosen=chosen, why=why)


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
