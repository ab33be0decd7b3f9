"""Scores a ranking against the judged passages: relevance by `ir-measures`, coverage by aspects and stances.

The measures, for the first k passages of a ranking:

- ndcg, recall, mrr, precision as trec_eval defines them (gain = grade, discount log2(rank + 1)).
- alpha_ndcg: Clarke et al., "Novelty and diversity in information retrieval evaluation" (SIGIR 2008),
  alpha = 0.5: an aspect's gain halves each time it is met again.
- aspects: distinct aspects met / min(k, aspects there are).
- both: 1 where passages of two stances are among the k, else 0. An aspect is written "stance/name".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adaptive_rag.errors import import_extra
from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.state import Candidate

# A metric's value for one question; the keys are names such as "ndcg@10".
Scores = dict[str, float]
Ranking = Sequence[str]

# Where the top of the list matters most, whatever k is asked for.
SHORT = 5


def metric_names(k: int) -> tuple[str, ...]:
    """Return the names of the ranking metrics in the order in which they are reported."""
    return (f"ndcg@{k}", f"recall@{k}", f"mrr@{k}", f"precision@{k}", *coverage_names(k))


def coverage_names(k: int) -> tuple[str, ...]:
    """Return those that say how many aspects and stances a ranking covers."""
    return (f"alpha_ndcg@{k}", f"aspects@{k}", *dict.fromkeys((f"both@{SHORT}", f"both@{k}")))


def headline(k: int) -> str:
    """Return the metric that stands for quality where one number must."""
    return f"ndcg@{k}"


def ranked_ids(documents: Sequence[Candidate]) -> list[str]:
    """Return the ids as the data set names its passages, each once."""
    return list(dict.fromkeys(str(d["metadata"].get("_id", d["id"])) for d in documents))


def require_measures(questions: Sequence[Question]) -> None:
    """Import the packages that score these questions: fail now rather than after an hour.

    Raises:
        MissingExtraError: `ir-measures` or, where there are aspects, `pyndeval` is not installed.
    """
    if any(question.gold or question.quote for question in questions):
        _ir_measures()
    if any(question.aspects for question in questions):
        _pyndeval()


def score_rankings(
    questions: Sequence[Question], rankings: Mapping[str, Ranking], k: int
) -> dict[str, Scores]:
    """Score one ranking per question; a question without one scores 0, one without judgements nothing.

    Raises:
        MissingExtraError: `ir-measures` or, where there are aspects, `pyndeval` is not installed.
    """
    scores: dict[str, Scores] = {question.id: {} for question in questions}
    judged = [question for question in questions if question.gold]
    if judged:
        ir = _ir_measures()
        names = {
            ir.nDCG @ k: f"ndcg@{k}",
            ir.R @ k: f"recall@{k}",
            ir.RR @ k: f"mrr@{k}",
            ir.P @ k: f"precision@{k}",
        }
        qrels = [ir.Qrel(q.id, passage, grade) for q in judged for passage, grade in q.gold.items()]
        _add(ir, names, qrels, judged, rankings, scores)
    with_aspects = [question for question in questions if question.aspects]
    if with_aspects:
        ir = _ir_measures()
        _pyndeval()
        subtopics = [
            ir.Qrel(question.id, passage, 1, aspect)
            for question in with_aspects
            for passage, aspects in question.aspects.items()
            for aspect in aspects
        ]
        _add(ir, {ir.alpha_nDCG @ k: f"alpha_ndcg@{k}"}, subtopics, with_aspects, rankings, scores)
    for question in with_aspects:
        ranking = rankings.get(question.id, ())
        scores[question.id][f"aspects@{k}"] = aspects_at(question.aspects, ranking, k)
        if len(stances(question.aspects, question.aspects)) > 1:
            for depth in (SHORT, k):
                scores[question.id][f"both@{depth}"] = both_at(question.aspects, ranking, depth)
    return scores


def aspects_at(aspects: Mapping[str, Sequence[str]], ranking: Ranking, k: int) -> float:
    """Return the share of aspects that the first k passages cover, of those that k could cover."""
    known = {aspect for names in aspects.values() for aspect in names}
    met = {aspect for passage in ranking[:k] for aspect in aspects.get(passage, ())}
    return len(met) / min(k, len(known))


def both_at(aspects: Mapping[str, Sequence[str]], ranking: Ranking, k: int) -> float:
    """Return 1.0 where the first k passages hold two stances or more, else 0.0."""
    return float(len(stances(aspects, ranking[:k])) > 1)


def stances(aspects: Mapping[str, Sequence[str]], passages: Any) -> set[str]:
    """Return the stances that passages take."""
    return {
        aspect.partition("/")[0]
        for passage in passages
        for aspect in aspects.get(passage, ())
        if "/" in aspect
    }


def _add(
    ir: Any,
    names: Mapping[Any, str],
    qrels: list[Any],
    questions: Sequence[Question],
    rankings: Mapping[str, Ranking],
    scores: dict[str, Scores],
) -> None:
    for question in questions:
        scores[question.id].update(dict.fromkeys(names.values(), 0.0))
    # trec_eval breaks ties by id; falling scores keep our order.
    run = [
        ir.ScoredDoc(question.id, passage, -float(rank))
        for question in questions
        for rank, passage in enumerate(rankings.get(question.id, ()))
    ]
    if not run:
        return
    for found in ir.iter_calc(list(names), qrels, run):
        if not math.isnan(found.value):
            scores[found.query_id][names[found.measure]] = float(found.value)


def _ir_measures() -> Any:
    return import_extra("ir_measures", extra="eval", purpose="Scoring rankings")


def _pyndeval() -> None:
    import_extra("pyndeval", extra="eval", purpose="Measuring the coverage of aspects")
