"""Aggregate a run's questions to rows, one per arm, data set and type, and format them for display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any, NamedTuple, TypedDict

from adaptive_rag.evaluation.arms import ARMS, BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import ABSTENTION, ANSWER_METRICS, headline, metric_names
from adaptive_rag.evaluation.records import ArmRecord, Cost, QuestionRecord
from adaptive_rag.evaluation.routing import RoutedQuestion, RoutingReport, score_routing
from adaptive_rag.evaluation.statistics import TIE, compare_all, intervals
from adaptive_rag.state import ROUTED_TYPES

ALL = "all"
POOLED = "all data sets"
COSTS = tuple(Cost.__annotations__)
# A difference must also have a p below this: the bootstrap interval of a single question has no width.
SIGNIFICANT = 0.05
SURE = "where the interval leaves out zero and p < .05; nothing is corrected for the number of comparisons"


# The fields of `statistics.Difference`: a metric's difference from the baseline on the same questions.
DifferenceRow = dict[str, Any]


class SummaryRow(TypedDict):
    """The scores of one arm on the questions of one type in one data set, without metrics of no question."""

    dataset: str
    arm: str
    type: str
    n: int
    metrics: dict[str, float]
    counts: dict[str, int]  # questions that have the metric
    intervals: dict[str, list[float]]  # 95 % bootstrap
    against_standard: dict[str, DifferenceRow]
    cost: dict[str, float]  # means per question


class _Sample(NamedTuple):
    """The results behind a row."""

    dataset: str
    arm: str
    type: str
    results: Sequence[ArmRecord]
    baseline: Sequence[ArmRecord]  # those of the baseline for the same questions; empty if there are none


def compare_arms(
    records: Iterable[QuestionRecord], *, k: int, seed: int = 0, pooled: bool = False
) -> list[SummaryRow]:
    """Return the rows of each data set: first for all types, then for each type that occurs.

    `pooled` treats all data sets as one, in which each question has the same weight.
    """
    if pooled:
        records = [{**record, "dataset": POOLED} for record in records]
    samples = []
    for dataset, kind, group in _groups(records):
        # Leave out arms that did not answer every question, so that comparisons stay paired.
        arms = [arm for arm in ARMS if all(arm in record["arms"] for record in group)]
        for arm in arms:
            is_compared = BASELINE in arms and arm != BASELINE
            baseline = [record["arms"][BASELINE] for record in group] if is_compared else []
            results = [record["arms"][arm] for record in group]
            samples.append(_Sample(dataset, arm, kind, results, baseline))
    return _summarise(samples, k, seed)


def score_routes(records: Sequence[QuestionRecord]) -> dict[str, RoutingReport]:
    """Score the subject's routes of labelled questions, for all data sets together and for each."""
    routed: dict[str, list[RoutedQuestion]] = {}
    for record in records:
        result = record["arms"].get(SUBJECT)
        if record["type"] and result and result["route"] and result["probability"] is not None:
            question = RoutedQuestion(record["type"], result["route"], result["probability"])
            for name in (POOLED, record["dataset"]):
                routed.setdefault(name, []).append(question)
    return {name: report for name, group in routed.items() if (report := score_routing(group))}


def step_times(records: Iterable[QuestionRecord]) -> dict[str, dict[str, float]]:
    """Return the mean milliseconds per question of each step: arm -> step -> milliseconds."""
    sums: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    for record in records:
        for arm, result in record["arms"].items():
            counts[arm] += 1
            for step in result["trace"]:
                sums.setdefault(arm, Counter())[step["step"]] += step.get("ms", 0.0)  # type: ignore[assignment]
    return {arm: {step: round(ms / counts[arm], 3) for step, ms in sums[arm].items()} for arm in sums}


def lost_questions(records: Iterable[QuestionRecord], *, k: int) -> list[tuple[float, QuestionRecord]]:
    """Return the questions on which the subject scored below the baseline, with the loss; the worst first."""
    lost = []
    for record in records:
        if SUBJECT in record["arms"] and BASELINE in record["arms"]:
            scores, baseline = (record["arms"][arm]["metrics"] for arm in (SUBJECT, BASELINE))
            metric = headline(k) if headline(k) in scores else "quality"
            if metric in scores and metric in baseline and scores[metric] < baseline[metric] - TIE:
                lost.append((scores[metric] - baseline[metric], record))
    return sorted(lost, key=lambda pair: pair[0])


def without_repeats(rows: Sequence[SummaryRow]) -> list[SummaryRow]:
    """Leave out the rows for all types of a data set with one type, which repeat the rows of that type."""
    types: dict[str, set[str]] = {}
    for row in rows:
        types.setdefault(row["dataset"], set()).add(row["type"])
    return [row for row in rows if row["type"] != ALL or len(types[row["dataset"]]) != 2]


def label_of(kind: str) -> str:
    """Return a type's name for display."""
    return "all types" if kind == ALL else kind


def format_p(p: float) -> str:
    """Format a p-value for a table."""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def tone(d: DifferenceRow) -> str:
    """Return how a difference is marked: "good" or "bad" if it meets the condition `SURE`, else "flat"."""
    if d["p"] >= SIGNIFICANT:
        return "flat"
    return "good" if d["low"] > 0 else "bad" if d["high"] < 0 else "flat"


def figure(row: SummaryRow, name: str) -> str:
    """Format a metric of a row, with the number of questions that have it if not all do."""
    n = row["counts"][name]
    return f"{row['metrics'][name]:.3f}" + (f" ({n})" if n != row["n"] else "")


def _groups(records: Iterable[QuestionRecord]) -> Iterator[tuple[str, str, list[QuestionRecord]]]:
    """Yield the questions of each data set: all of them, then those of each type that occurs."""
    by_dataset: dict[str, list[QuestionRecord]] = {}
    for record in records:
        by_dataset.setdefault(record["dataset"], []).append(record)
    for dataset, questions in by_dataset.items():
        for kind in (ALL, *ROUTED_TYPES):
            if group := [record for record in questions if kind in (ALL, record["type"])]:
                yield dataset, kind, group


def _summarise(samples: Sequence[_Sample], k: int, seed: int) -> list[SummaryRow]:
    """Return a row for each sample; all statistics are computed together, so that they share resamples."""
    names = (*metric_names(k), *ANSWER_METRICS, *ABSTENTION)
    scores = [_columns(names, sample.results) for sample in samples]
    pairs = [_columns(names, sample.results, sample.baseline) for sample in samples]
    bounds = iter(intervals([column for columns in scores for [column] in columns.values()], seed))
    differences = iter(compare_all([(new, old) for columns in pairs for new, old in columns.values()], seed))
    return [
        SummaryRow(
            dataset=sample.dataset,
            arm=sample.arm,
            type=sample.type,
            n=len(sample.results),
            metrics={name: round(fmean(column), 6) for name, [column] in own_scores.items()},
            counts={name: len(column) for name, [column] in own_scores.items()},
            intervals={name: [round(bound, 6) for bound in next(bounds)] for name in own_scores},
            against_standard={
                name: {key: round(value, 6) for key, value in vars(next(differences)).items()}
                for name in own_pairs
            },
            cost={
                name: round(fmean(dict[str, Any](result)[name] for result in sample.results), 6)
                for name in COSTS
            },
        )
        for sample, own_scores, own_pairs in zip(samples, scores, pairs, strict=True)
    ]


def _columns(names: Iterable[str], *systems: Sequence[ArmRecord]) -> dict[str, list[list[float]]]:
    """Return, for each metric, one list of values per system, over the questions scored for all of them."""
    questions = [[result["metrics"] for result in results] for results in zip(*systems, strict=False)]
    columns = {}
    for name in names:
        rows = [[scores[name] for scores in q] for q in questions if all(name in scores for scores in q)]
        if rows:
            columns[name] = [list(column) for column in zip(*rows, strict=True)]
    return columns
