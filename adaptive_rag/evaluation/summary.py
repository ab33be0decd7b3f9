"""Folds a run's questions into rows, every arm by data set and type, with the words that show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, TypedDict

from adaptive_rag.evaluation.arms import ARMS, BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import ANSWER_METRICS, headline, metric_names, score_abstention
from adaptive_rag.evaluation.records import ArmRecord, QuestionRecord
from adaptive_rag.evaluation.routing import Routed, RoutingReport, score_routing
from adaptive_rag.evaluation.statistics import TIE, compare_all, intervals
from adaptive_rag.state import QUERY_TYPES

ALL = "all"
POOLED = "all data sets"
COSTS = ("model_calls", "rounds", "ms", "tokens")
SHORT_NAMES = {
    "alpha_ndcg": "α-ndcg",
    "semantic_similarity": "similarity",
    "context_relevance": "context",
    "citation_correctness": "citations",
    "abstention_precision": "abst. P",
    "abstention_recall": "abst. R",
}


# The fields of `statistics.Difference`: how far a metric lies from the baseline's on the same questions.
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
    """What becomes a row: an arm's answers, and the baseline's to the same questions; none without one."""

    dataset: str
    arm: str
    type: str
    answers: Sequence[ArmRecord]
    baseline: Sequence[ArmRecord]
    abstention: Mapping[str, float] = {}


def summarise(records: Sequence[QuestionRecord], *, k: int, seed: int = 0) -> list[SummaryRow]:
    """Return the rows of each data set: "all" first, then the types that occur."""
    names = dict.fromkeys(record["dataset"] for record in records)
    return _rows({name: [r for r in records if r["dataset"] == name] for name in names}, k, seed)


def summarise_pooled(records: Sequence[QuestionRecord], *, k: int, seed: int = 0) -> list[SummaryRow]:
    """Return the rows of all data sets taken together, each question weighing the same."""
    return _rows({POOLED: records}, k, seed)


def compare_runs(
    ours: Sequence[QuestionRecord], theirs: Sequence[QuestionRecord], *, k: int, seed: int = 0
) -> list[SummaryRow]:
    """Return, for arms and questions that two runs share, rows whose baseline is the earlier run.

    The key `against_standard` keeps its name and holds the difference "this run minus the earlier one".
    """
    earlier = {(record["dataset"], record["id"]): record["arms"] for record in theirs}
    shared = [record for record in ours if (record["dataset"], record["id"]) in earlier]
    samples = []
    for dataset in dict.fromkeys(record["dataset"] for record in shared):
        for kind, group in _by_type([record for record in shared if record["dataset"] == dataset]):
            for arm in _complete_arms(group):
                pairs = [
                    (record["arms"][arm], earlier[dataset, record["id"]][arm])
                    for record in group
                    if arm in earlier[dataset, record["id"]]
                ]
                if pairs:
                    new, old = zip(*pairs, strict=True)
                    samples.append(_Sample(dataset, arm, kind, new, old))
    return _measure(samples, k, seed)


def score_routes(records: Sequence[QuestionRecord]) -> dict[str, RoutingReport]:
    """Score the subject's routes over the questions with a label: of all data sets, and of each."""
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
    """Leave out the overall rows of a data set of one type, which say what that type's rows say."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        kinds.setdefault(row["dataset"], set()).add(row["type"])
    return [row for row in rows if row["type"] != ALL or len(kinds[row["dataset"]]) != 2]


def label_of(kind: str) -> str:
    """Return a type as a reader sees it."""
    return "all types" if kind == ALL else kind


def format_p(p: float) -> str:
    """Return the p of a test as tables have room for it."""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def tone(d: DifferenceRow) -> str:
    """Return how a difference is marked: "good" or "bad" where its interval leaves out zero, else "flat"."""
    return "good" if d["low"] > 0 else "bad" if d["high"] < 0 else "flat"


def short_name(name: str) -> str:
    """Return a metric's name as a column has room for it."""
    for long, short in SHORT_NAMES.items():
        name = name.replace(long, short)
    return name.replace("_", " ")


def _rows(groups: Mapping[str, Sequence[QuestionRecord]], k: int, seed: int) -> list[SummaryRow]:
    samples = []
    for dataset, records in groups.items():
        for kind, group in _by_type(records):
            arms = _complete_arms(group)
            for arm in arms:
                compared = group if BASELINE in arms and arm != BASELINE else []
                baseline = [record["arms"][BASELINE] for record in compared]
                answers = [record["arms"][arm] for record in group]
                samples.append(_Sample(dataset, arm, kind, answers, baseline, _abstention(group, arm)))
    return _measure(samples, k, seed)


def _by_type(records: Sequence[QuestionRecord]) -> list[tuple[str, list[QuestionRecord]]]:
    groups: list[tuple[str, list[QuestionRecord]]] = [(ALL, list(records))]
    groups += [(kind, [record for record in records if record["type"] == kind]) for kind in QUERY_TYPES]
    return [(kind, group) for kind, group in groups if group]


def _complete_arms(records: Sequence[QuestionRecord]) -> list[str]:
    """Return the arms that answered every question, so that comparisons stay paired."""
    return [arm for arm in ARMS if all(arm in record["arms"] for record in records)]


def _measure(samples: Sequence[_Sample], k: int, seed: int) -> list[SummaryRow]:
    """Return a row a sample; the statistics of all rows are drawn together, which shares their resamples."""
    rows = []
    values: dict[tuple[int, str], list[float]] = {}
    pairs: dict[tuple[int, str], tuple[list[float], list[float]]] = {}
    for number, (dataset, arm, kind, answers, baseline, _) in enumerate(samples):
        cost = {name: _mean([dict[str, Any](one)[name] for one in answers]) for name in COSTS}
        empty: dict[str, Any] = {"metrics": {}, "counts": {}, "intervals": {}, "against_standard": {}}
        rows.append(SummaryRow(dataset=dataset, arm=arm, type=kind, n=len(answers), **empty, cost=cost))  # type: ignore[typeddict-item]
        for name in (*metric_names(k), *ANSWER_METRICS):
            if scored := [one["metrics"][name] for one in answers if name in one["metrics"]]:
                values[number, name] = scored
            both = [
                (one["metrics"][name], other["metrics"][name])
                for one, other in zip(answers, baseline, strict=False)
                if name in one["metrics"] and name in other["metrics"]
            ]
            if both:
                pairs[number, name] = [a for a, _ in both], [b for _, b in both]
    bounds = intervals(list(values.values()), seed)
    for ((number, name), scored), interval in zip(values.items(), bounds, strict=True):
        rows[number]["metrics"][name] = _mean(scored)
        rows[number]["counts"][name] = len(scored)
        rows[number]["intervals"][name] = [round(bound, 6) for bound in interval]
    for (number, name), difference in zip(pairs, compare_all(list(pairs.values()), seed), strict=True):
        rows[number]["against_standard"][name] = {
            key: round(value, 6) if isinstance(value, float) else value
            for key, value in asdict(difference).items()
        }
    for row, sample in zip(rows, samples, strict=True):
        row["metrics"] |= sample.abstention
    return rows


def _abstention(records: Sequence[QuestionRecord], arm: str) -> dict[str, float]:
    known = [r for r in records if r["has_answer"] is not None and "abstained" in r["arms"][arm]]
    abstained = [record["arms"][arm]["abstained"] for record in known]
    return score_abstention(abstained, [bool(record["has_answer"]) for record in known])


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6)
