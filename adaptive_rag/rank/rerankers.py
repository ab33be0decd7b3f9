"""The table of rerankers; `retrieval.reranker` names one of them."""

from __future__ import annotations

from adaptive_rag.rank.scoring import (
    Rerank,
    cross_encode,
    keep_order,
    read_together,
    score_if_planned,
    score_locally,
    score_one_by_one,
    score_together,
)

RERANKERS: dict[str, Rerank] = {
    "auto": score_if_planned,
    "fused": score_locally,
    "listwise": score_together,
    "pointwise": score_one_by_one,
    "cross-encoder": cross_encode,
    "reader": read_together,
    "none": keep_order,
}
