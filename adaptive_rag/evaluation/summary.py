"""Folds a run's questions into rows: every arm, per data set and question type, and overall."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TypedDict

from adaptive_rag.evaluation.answers import ANSWER_METRICS, score_abstention
from adaptive_rag.evaluation.arms import ARM_NAMES, BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import headline, metric_names
from adaptive_rag.evaluation.records import ArmRecord, QuestionRecord
from adaptive_rag.evaluation.routing import Routed, RoutingReport, score_routing
from adaptive_rag.evaluation.statistics import bootstrap_interval, compare
from adaptive_rag.state import QUERY_TYPES

ALL = "all"
POOLED = "all data sets"


class DifferenceRow(TypedDict):
    """A metric's distance from the baseline, over the questions both answered."""

    n: int
    mean: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int


class Row(TypedDict):
    """One arm on the questions of one type in one data set; a metric that no question has is left out."""

    dataset: str
    arm: str
    type: str
    n: int
    metrics: dict[str, float]
    counts: dict[str, int]  # questions behind each metric
    intervals: dict[str, list[float]]  # 95 % bootstrap
    against_standard: dict[str, DifferenceRow]
    cost: dict[str, float]  # means per question


def summarise(records: Sequence[QuestionRecord], *, k: int, seed: int = 0) -> list[Row]:
    """Return the rows of each data set: "all" first, then the types that occur."""
    rows: list[Row] = []
    for dataset in dict.fromkeys(record["dataset"] for record in records):
        rows += _rows(dataset, [record for record in records if record["dataset"] == dataset], k, seed)
    return rows


def summarise_pooled(records: Sequence[QuestionRecord], *, k: int, seed: int = 0) -> list[Row]:
    """Return the rows of all data sets taken together, each question weighing the same."""
    return _rows(POOLED, records, k, seed)


def routing_of(records: Iterable[QuestionRecord], arm: str = SUBJECT) -> RoutingReport | None:
    """Score an arm's routes over the questions that carry a label."""
    routed = []
    for record in records:
        answered = record["arms"].get(arm)
        if record["type"] and answered and answered["route"] and answered["probability"] is not None:
            routed.append(Routed(record["type"], answered["route"], answered["probability"]))
    return score_routing(routed)


def step_times(records: Iterable[QuestionRecord]) -> dict[str, dict[str, float]]:
    """Return, for each arm, the mean milliseconds per question that each step took."""
    sums: dict[str, dict[str, float]] = {}
    counts: dict[str, int] = {}
    for record in records:
        for arm, answered in record["arms"].items():
            counts[arm] = counts.get(arm, 0) + 1
            for step in answered["trace"]:
                times = sums.setdefault(arm, {})
                times[step["step"]] = times.get(step["step"], 0.0) + step.get("ms", 0.0)
    return {
        arm: {step: round(ms / counts[arm], 3) for step, ms in times.items()} for arm, times in sums.items()
    }


def lost_questions(
    records: Iterable[QuestionRecord], *, k: int, arm: str = SUBJECT, baseline: str = BASELINE
) -> list[tuple[float, QuestionRecord]]:
    """Return the questions on which an arm scored below the baseline, the worst first."""
    name = headline(k)
    lost = []
    for record in records:
        if arm in record["arms"] and baseline in record["arms"]:
            ours, theirs = (record["arms"][a]["metrics"] for a in (arm, baseline))
            metric = name if name in ours else "quality"
            if metric in ours and metric in theirs and ours[metric] < theirs[metric] - 1e-9:
                lost.append((ours[metric] - theirs[metric], record))
    return sorted(lost, key=lambda pair: pair[0])


def compare_runs(
    ours: Sequence[QuestionRecord], theirs: Sequence[QuestionRecord], *, k: int, seed: int = 0
) -> list[Row]:
    """Return, for arms and questions that two runs share, rows whose baseline is the earlier run.

    The key `against_standard` keeps its name and holds the difference "this run minus the earlier one".
    """
    earlier = {(record["dataset"], record["id"]): record for record in theirs}
    shared = [record for record in ours if (record["dataset"], record["id"]) in earlier]
    rows: list[Row] = []
    for dataset in dict.fromkeys(record["dataset"] for record in shared):
        for kind, group in _by_type([record for record in shared if record["dataset"] == dataset]):
            for arm in _complete_arms(group):
                pairs = [
                    (record["arms"][arm], earlier[record["dataset"], record["id"]]["arms"][arm])
                    for record in group
                    if arm in earlier[record["dataset"], record["id"]]["arms"]
                ]
                if pairs:
                    new, old = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
                    rows.append(_row(dataset, arm, kind, new, old, k, seed))
    return rows


def _rows(dataset: str, records: Sequence[QuestionRecord], k: int, seed: int) -> list[Row]:
    rows = []
    for kind, group in _by_type(records):
        for arm in _complete_arms(group):
            baseline = [r["arms"][BASELINE] for r in group] if BASELINE in _complete_arms(group) else None
            row = _row(dataset, arm, kind, [record["arms"][arm] for record in group], baseline, k, seed)
            row["metrics"] |= _abstention(group, arm)
            rows.append(row)
    return rows


def _by_type(records: Sequence[QuestionRecord]) -> list[tuple[str, list[QuestionRecord]]]:
    groups: list[tuple[str, list[QuestionRecord]]] = [(ALL, list(records))]
    for kind in QUERY_TYPES:
        group = [record for record in records if record["type"] == kind]
        if group:
            groups.append((kind, group))
    return groups


def _complete_arms(records: Sequence[QuestionRecord]) -> list[str]:
    """Return the arms that answered every question, so that comparisons stay paired."""
    return [arm for arm in ARM_NAMES if all(arm in record["arms"] for record in records)]


def _row(
    dataset: str,
    arm: str,
    kind: str,
    answered: Sequence[ArmRecord],
    baseline: Sequence[ArmRecord] | None,
    k: int,
    seed: int,
) -> Row:
    row = Row(
        dataset=dataset,
        arm=arm,
        type=kind,
        n=len(answered),
        metrics={},
        counts={},
        intervals={},
        against_standard={},
        cost={
            "model_calls": _mean([one["model_calls"] for one in answered]),
            "rounds": _mean([one["rounds"] for one in answered]),
            "ms": _mean([one["ms"] for one in answered]),
            "tokens": _mean([one["tokens"] for one in answered]),
        },
    )
    for name in (*metric_names(k), *ANSWER_METRICS):
        values = [one["metrics"][name] for one in answered if name in one["metrics"]]
        if not values:
            continue
        row["metrics"][name] = _mean(values)
        row["counts"][name] = len(values)
        row["intervals"][name] = [round(bound, 6) for bound in bootstrap_interval(values, seed)]
        if baseline is not None and baseline is not answered and not _same(answered, baseline):
            pairs = [
                (one["metrics"][name], other["metrics"][name])
                for one, other in zip(answered, baseline, strict=True)
                if name in one["metrics"] and name in other["metrics"]
            ]
            if pairs:
                difference = compare([a for a, _ in pairs], [b for _, b in pairs], seed)
                rounded = {
                    key: round(value, 6) if isinstance(value, float) else value
                    for key, value in asdict(difference).items()
                }
                row["against_standard"][name] = DifferenceRow(**rounded)  # type: ignore[typeddict-item]
    return row


def _same(answered: Sequence[ArmRecord], baseline: Sequence[ArmRecord]) -> bool:
    return all(one is other for one, other in zip(answered, baseline, strict=True))


def _abstention(records: Sequence[QuestionRecord], arm: str) -> dict[str, float]:
    known = [
        record
        for record in records
        if record["has_answer"] is not None and "abstained" in record["arms"][arm]
    ]
    abstained = [record["arms"][arm]["abstained"] for record in known]
    return score_abstention(abstained, [bool(record["has_answer"]) for record in known]) if known else {}


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6)
