import math
from collections.abc import Sequence

import pytest

from adaptive_rag.evaluation import metrics
from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.evaluation.metrics import (
    RANKING_METRICS,
    RankingMetric,
    aspects_at,
    both_at,
    labels,
    metric_names,
    score_ranking,
)


def question(gold: dict[str, int], **more: object) -> Question:
    return Question(id="q", text="?", gold=gold, **more)  # type: ignore[arg-type]


def test_relevance_metrics_agree_with_a_calculation_by_hand() -> None:
    scores = score_ranking(question({"a": 2, "b": 1, "c": 1}), ["x", "a", "y", "b"], 4)
    gained = 2 / math.log2(3) + 1 / math.log2(5)
    ideal = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert scores["ndcg@4"] == pytest.approx(gained / ideal)
    assert scores["recall@4"] == pytest.approx(2 / 3)
    assert scores["mrr@4"] == pytest.approx(1 / 2)
    assert scores["precision@4"] == pytest.approx(2 / 4)


@pytest.mark.parametrize("metric", RANKING_METRICS, ids=lambda metric: metric.name)
def test_every_metric_of_the_table_is_calculated(metric: RankingMetric) -> None:
    scores = score_ranking(question({"a": 1}), ["a", "b"], 2)
    assert 0 < scores[metric.label(2)] <= 1


def test_a_function_in_the_table_is_calculated_from_the_grades(monkeypatch: pytest.MonkeyPatch) -> None:
    def gain(grades: dict[str, int], ranking: Sequence[str], k: int) -> float:
        return float(sum(grades.get(passage, 0) for passage in ranking[:k]))

    monkeypatch.setattr(metrics, "RANKING_METRICS", [RankingMetric("gain", gain)])
    assert score_ranking(question({"a": 2, "b": 1}), ["a", "x", "b"], 2) == {"gain@2": 2.0}


def test_a_metric_has_its_own_cutoff_or_that_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        metrics, "RANKING_METRICS", [RankingMetric("recall", "R", cutoff=1), RankingMetric("recall", "R")]
    )
    assert score_ranking(question({"b": 1}), ["a", "b"], 2) == {"recall@1": 0.0, "recall@2": 1.0}
    assert metric_names(2)[:2] == ("recall@1", "recall@2") and metric_names(1)[:2] == (
        "recall@1",
        "alpha_ndcg@1",
    )


@pytest.mark.parametrize(
    ("gold", "ranking", "mrr"),
    [
        ({"a": 1}, ["x", "y", "a"], 0.0),
        ({"z": 1}, ["z", "a", "b"], 1.0),
        ({"a": 1}, [], 0.0),
        ({}, ["a"], None),
    ],
    ids=["beyond k", "the order and not the ids", "nothing found", "nothing judged"],
)
def test_what_counts_is_the_place_in_the_ranking(
    gold: dict[str, int], ranking: list[str], mrr: float | None
) -> None:
    scores = score_ranking(question(gold), ranking, 2)
    assert scores.get("mrr@2") == mrr and len(scores) == (4 if gold else 0)
    if mrr == 0:
        assert scores == dict.fromkeys(labels(RANKING_METRICS, 2), 0.0)


def test_alpha_ndcg_halves_the_gain_of_an_aspect_that_returns() -> None:
    # Gains: 1 for s/1, 0.5 for s/1 again, 1 for u/1; ideal order s/1, u/1, s/1 again.
    aspects = {"a": ("s/1",), "b": ("s/1",), "c": ("u/1",)}
    scores = score_ranking(question(dict.fromkeys("abc", 1), aspects=aspects), ["a", "b", "c"], 3)
    gained = 1 + 0.5 / math.log2(3) + 1 / math.log2(4)
    ideal = 1 + 1 / math.log2(3) + 0.5 / math.log2(4)
    assert scores["alpha_ndcg@3"] == pytest.approx(gained / ideal)


def test_aspects_are_counted_against_those_that_k_could_hold() -> None:
    aspects = {"a": ["s/1"], "b": ["s/1"], "c": ["u/1"], "d": ["u/2"]}
    assert aspects_at(aspects, ["a", "b", "c"], 10) == pytest.approx(2 / 3)
    assert aspects_at(aspects, ["a", "b", "c"], 2) == pytest.approx(1 / 2)
    assert aspects_at({"a": ["s/1", "u/1"]}, ["a"], 1) == 1.0


def test_both_asks_for_two_stances_and_not_for_two_aspects() -> None:
    aspects = {"a": ["support/1"], "b": ["support/2"], "c": ["undermine/1"]}
    assert both_at(aspects, ["a", "b", "x", "c"], 3) == 0.0
    assert both_at(aspects, ["a", "b", "x", "c"], 4) == 1.0


def test_both_is_left_out_where_the_data_know_one_stance_only() -> None:
    one_sided = question({"a": 1}, aspects={"a": ("support/1",), "b": ("support/2",)})
    scores = score_ranking(one_sided, ["a"], 10)
    assert "both@10" not in scores
    assert "aspects@10" in scores
