"""Sweeps alpha over plain fusion: how much the meaning should weigh beside the words, type by type."""

from __future__ import annotations

from adaptive_rag.evaluation.arms import Bench, by_fusion
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.metrics import headline, ranked_ids, score_rankings
from adaptive_rag.evaluation.summary import ALL
from adaptive_rag.state import Candidate

ALPHAS = tuple(round(step / 10, 1) for step in range(11))
# Questions that are embedded together.
BATCH = 64


def sweep_alpha(dataset: Dataset, bench: Bench) -> dict[str, dict[str, float]]:
    """Return the headline metric of plain fusion for each alpha, by question type and overall."""
    pools = _search(dataset, bench)
    kinds = (ALL, *sorted({question.type for question in dataset.questions if question.type}))
    by_type: dict[str, dict[str, float]] = {}
    for alpha in ALPHAS:
        rankings = {
            question.id: ranked_ids(by_fusion(pool, alpha)[: bench.k])
            for question, pool in zip(dataset.questions, pools, strict=True)
        }
        scores = score_rankings(dataset.questions, rankings, bench.k)
        for kind in kinds:
            values = [
                scores[question.id][headline(bench.k)]
                for question in dataset.questions
                if kind in (ALL, question.type) and question.gold
            ]
            if values:
                by_type.setdefault(kind, {})[f"{alpha:.1f}"] = sum(values) / len(values)
    return by_type


def _search(dataset: Dataset, bench: Bench) -> list[list[Candidate]]:
    """Return the candidates of each question, found once for all alphas."""
    limit = max(50, 3 * bench.k)
    texts = [question.text for question in dataset.questions]
    pools: list[list[Candidate]] = []
    for start in range(0, len(texts), BATCH):
        pools += bench.source.search(texts[start : start + BATCH], limit=limit)
    return pools
