"""Sweep alpha, the weight of vectors against words in plain fusion, for each question type."""

from __future__ import annotations

from adaptive_rag.evaluation.arms import Bench, by_fusion
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.metrics import headline, ranked_ids, score_ranking
from adaptive_rag.evaluation.summary import ALL
from adaptive_rag.search.search import POOL
from adaptive_rag.state import Candidate

ALPHAS = tuple(round(step / 10, 1) for step in range(11))
# Questions that are searched for together.
BATCH_SIZE = 64


def sweep_alpha(dataset: Dataset, bench: Bench) -> dict[str, dict[str, float]]:
    """Return the headline metric of plain fusion for each alpha, by question type and overall."""
    questions, texts = dataset.questions, [question.text for question in dataset.questions]
    pools: list[list[Candidate]] = []  # the candidates of each question, searched once for all alphas
    for start in range(0, len(texts), BATCH_SIZE):
        pools += bench.source.search(texts[start : start + BATCH_SIZE], limit=max(POOL, 3 * bench.k))
    by_type: dict[str, dict[str, float]] = {}
    for alpha in ALPHAS:
        scores = {
            question.id: score_ranking(question, ranked_ids(by_fusion(pool, alpha)[: bench.k]), bench.k)
            for question, pool in zip(questions, pools, strict=True)
        }
        for kind in (ALL, *sorted({question.type for question in questions if question.type})):
            judged = [q.id for q in questions if kind in (ALL, q.type) and q.gold]
            if judged:
                mean = sum(scores[id_][headline(bench.k)] for id_ in judged) / len(judged)
                by_type.setdefault(kind, {})[f"{alpha:.1f}"] = mean
    return by_type
