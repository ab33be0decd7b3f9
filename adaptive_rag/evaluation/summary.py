"""Aggregates a run's questions to rows, each arm by data set and type, and formats them for display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any, NamedTuple, TypedDict

from adaptive_rag.evaluation.arms import ARMS, BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import ABSTENTION, ANSWER_METRICS, headline, metric_names
from adaptive_rag.evaluation.records import ArmRecord, Cost, QuestionRecord
from adaptive_rag.evaluation.routing import Routed, RoutingReport, score_routing
from adaptive_rag.evaluation.statistics import TIE, compare_all, intervals
from adaptive_rag.state import QUERY_TYPES

ALL = "all"
POOLED = "all data sets"
COSTS = tuple(Cost.__annotations__)
# Beside an interval that leaves out zero: the bootstrap of a single question has no width.
SIGNIFICANT = 0.05
SURE = "where the interval leaves out zero and p < .05; nothing is corrected for the number of comparisons"
SHORT_NAMES = {
    "alpha_ndcg": "α-ndcg",
    "semantic_similarity": "similarity",
    "context_relevance": "context",
    "citation_correctness": "citations",
    "quoted_aspects": "aspects quoted",
    "quoted_both": "both quoted",
    "abstention_precision": "abst. P",
    "abstention_recall": "abst. R",
}


# The fields of `statistics.Difference`: a metric's difference from the baseline on the same questions.
DifferenceRow = dict[str, Any]


class SummaryRow(TypedDict):
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


class _Sample(NamedTuple):
    """The data of a row: an arm's answers, and the baseline's to the same questions, empty without one."""

    dataset: str
    arm: str
    type: str
    answers: Sequence[ArmRecord]
    baseline: Sequence[ArmRecord]


def compare_arms(
    records: Iterable[QuestionRecord], *, k: int, seed: int = 0, pooled: bool = False
) -> list[SummaryRow]:
    """Return the rows of each data set: "all" first, then the types that occur.

    `pooled` takes all data sets together, each question weighing the same.
    """
    if pooled:
        records = [{**record, "dataset": POOLED} for record in records]
    samples = []
    for dataset, kind, group in _groups(records):
        # Only arms that answered every question, so that comparisons stay paired.
        arms = [arm for arm in ARMS if all(arm in record["arms"] for record in group)]
        for arm in arms:
            compared = BASELINE in arms and arm != BASELINE
            baseline = [record["arms"][BASELINE] for record in group if compared]
            answers = [record["arms"][arm] for record in group]
            samples.append(_Sample(dataset, arm, kind, answers, baseline))
    return _measure(samples, k, seed)


def score_routes(records: Sequence[QuestionRecord]) -> dict[str, RoutingReport]:
    """Score the subject's routes over the questions with a label: for all data sets, and for each."""
    routed: dict[str, list[Routed]] = {}
    for record in records:
        ours = record["arms"].get(SUBJECT)
        if record["type"] and ours and ours["route"] and ours["probability"] is not None:
            for name in (POOLED, record["dataset"]):
                routed.setdefault(name, []).append(Routed(record["type"], ours["route"], ours["probability"]))
    return {name: report for name, group in routed.items() if (report := score_routing(group))}


def step_times(records: Iterable[QuestionRecord]) -> dict[str, dict[str, float]]:
    """Return, for each arm, the mean milliseconds per question that each step took."""
    sums: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    for record in records:
        for arm, answered in record["arms"].items():
            counts[arm] += 1
            for step in answered["trace"]:
                sums.setdefault(arm, Counter())[step["step"]] += step.get("ms", 0.0)  # type: ignore[assignment]
    return {arm: {step: round(ms / counts[arm], 3) for step, ms in sums[arm].items()} for arm in sums}


def lost_questions(records: Iterable[QuestionRecord], *, k: int) -> list[tuple[float, QuestionRecord]]:
    """Return the questions on which the subject scored below the baseline, the worst first."""
    lost = []
    for record in records:
        if SUBJECT in record["arms"] and BASELINE in record["arms"]:
            ours, theirs = (record["arms"][arm]["metrics"] for arm in (SUBJECT, BASELINE))
            metric = headline(k) if headline(k) in ours else "quality"
            if metric in ours and metric in theirs and ours[metric] < theirs[metric] - TIE:
                lost.append((ours[metric] - theirs[metric], record))
    return sorted(lost, key=lambda pair: pair[0])


def without_repeats(rows: Sequence[SummaryRow]) -> list[SummaryRow]:
    """Leave out the overall rows of a data set with one type, which repeat the rows of that type."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        kinds.setdefault(row["dataset"], set()).add(row["type"])
    return [row for row in rows if row["type"] != ALL or len(kinds[row["dataset"]]) != 2]


def label_of(kind: str) -> str:
    """Return a type's name for display."""
    return "all types" if kind == ALL else kind


def format_p(p: float) -> str:
    """Format a p-value for a table."""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def tone(d: DifferenceRow) -> str:
    """Return how a difference is marked: "good" or "bad" if it is `SURE`, else "flat"."""
    if d["p"] >= SIGNIFICANT:
        return "flat"
    return "good" if d["low"] > 0 else "bad" if d["high"] < 0 else "flat"


def figure(row: SummaryRow, name: str) -> str:
    """Format a metric of a row, with the number of its questions if that is not the row's."""
    n = row["counts"][name]
    return f"{row['metrics'][name]:.3f}" + (f" ({n})" if n != row["n"] else "")


def short_name(name: str) -> str:
    """Return a short name of a metric, for the heading of a column."""
    for long, short in SHORT_NAMES.items():
        name = name.replace(long, short)
    return name.replace("_", " ")


def _groups(records: Iterable[QuestionRecord]) -> Iterator[tuple[str, str, list[QuestionRecord]]]:
    """Yield the questions of each data set: all of them, then those of each type that occurs."""
    by_dataset: dict[str, list[QuestionRecord]] = {}
    for record in records:
        by_dataset.setdefault(record["dataset"], []).append(record)
    for dataset, questions in by_dataset.items():
        for kind in (ALL, *QUERY_TYPES):
            if group := [record for record in questions if kind in (ALL, record["type"])]:
                yield dataset, kind, group


def _measure(samples: Sequence[_Sample], k: int, seed: int) -> list[SummaryRow]:
    """Return a row for each sample; all statistics are computed together, so that they share resamples."""
    names = (*metric_names(k), *ANSWER_METRICS, *ABSTENTION)
    scored = [_values(names, sample.answers) for sample in samples]
    paired = [_values(names, sample.answers, sample.baseline) for sample in samples]
    bounds = iter(intervals([column for one in scored for [column] in one.values()], seed))
    differences = iter(compare_all([(new, old) for one in paired for new, old in one.values()], seed))
    return [
        SummaryRow(
            dataset=sample.dataset,
            arm=sample.arm,
            type=sample.type,
            n=len(sample.answers),
            metrics={name: round(fmean(column), 6) for name, [column] in own.items()},
            counts={name: len(column) for name, [column] in own.items()},
            intervals={name: [round(bound, 6) for bound in next(bounds)] for name in own},
            against_standard={
                name: {key: round(value, 6) for key, value in vars(next(differences)).items()}
                for name in pairs
            },
            cost={name: round(fmean(dict[str, Any](a)[name] for a in sample.answers), 6) for name in COSTS},
        )
        for sample, own, pairs in zip(samples, scored, paired, strict=True)
    ]


def _values(names: Iterable[str], *answers: Sequence[ArmRecord]) -> dict[str, list[list[float]]]:
    """Return, for each metric, the values of those questions for which all of these answers have one."""
    questions = [[one["metrics"] for one in together] for together in zip(*answers, strict=False)]
    shared = {name: [[s[name] for s in q] for q in questions if all(name in s for s in q)] for name in names}
    return {
        name: [list(column) for column in zip(*rows, strict=True)] for name, rows in shared.items() if rows
    }
