"""Write a finished run to its files: summary.json, details.json, report.html and, on demand, Markdown.

The templates hold the texts of the HTML and the Markdown page; this module collects the values for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from adaptive_rag.evaluation import metrics, plots, summary
from adaptive_rag.evaluation.arms import ARMS, BASELINE, SUBJECT
from adaptive_rag.evaluation.judge import JudgeReport
from adaptive_rag.evaluation.records import DETAILS, REPORT, SUMMARY, QuestionRecord, write_json
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.run import FinishedRun
from adaptive_rag.evaluation.summary import ALL, POOLED, DifferenceRow, SummaryRow
from adaptive_rag.evaluation.templates import render
from adaptive_rag.private import replace_text

# A type with fewer questions gets no bars or line of its own, because its intervals are too wide.
MIN_QUESTIONS = 10
# Arms that a plot has room for, and groups of bars side by side.
MAX_ARMS_DRAWN, GROUPS_PER_ROW = 7, 4
# The least half width of the axis of differences, so that noise does not look large.
MIN_REACH = 0.05


# A metric and the rows that have it.
_Bars: TypeAlias = tuple[str, Sequence[SummaryRow]]
# A heading, and plots of groups of bars, each with the name of its axis and a description.
_Panel: TypeAlias = tuple[str, list[tuple[dict[str, _Bars], str, str]]]


@dataclass(frozen=True)
class Report:
    """The content of a run's reports."""

    run: FinishedRun
    k: int
    rows: Sequence[SummaryRow]
    pooled: Sequence[SummaryRow]
    routing_by_dataset: Mapping[str, RoutingReport]  # POOLED holds that of all data sets together
    steps: Mapping[str, Mapping[str, float]]
    lost: Sequence[tuple[float, QuestionRecord]]
    judge: JudgeReport | None

    @property
    def routing(self) -> RoutingReport | None:
        """Return the router's scores on all data sets; None if no question has a label."""
        return self.routing_by_dataset.get(POOLED)

    @property
    def metric(self) -> str:
        """Return the metric by which arms are compared: "quality" if no ranking is judged."""
        headline = metrics.headline(self.k)
        return headline if any(headline in row["metrics"] for row in self.rows) else "quality"

    @property
    def datasets(self) -> list[str]:
        """Return the names of the data sets."""
        return list(dict.fromkeys(row["dataset"] for row in self.rows))


def write_reports(
    run: FinishedRun,
    out: Path,
    *,
    verdicts: JudgeReport | None = None,
    markdown: Path | None = None,
    command: str = "adaptive-rag eval",
) -> Report:
    """Write every file of a run except its questions, and return the report.

    Raises:
        MissingExtraError: a package that the reports need is not installed.
    """
    k, seed = run.about["settings"]["k"], run.about["settings"]["seed"]
    report = Report(
        run=run,
        k=k,
        rows=summary.compare_arms(run.records, k=k, seed=seed),
        pooled=summary.compare_arms(run.records, k=k, seed=seed, pooled=True),
        routing_by_dataset=summary.score_routes(run.records),
        steps=summary.step_times(run.records),
        lost=summary.lost_questions(run.records, k=k),
        judge=verdicts,
    )
    details = {
        "pooled": report.pooled,
        "routing": {name: asdict(scores) for name, scores in report.routing_by_dataset.items()},
        "alpha": report.run.about["alpha"],
        "ms_by_step": report.steps,
        "lost": [{"dataset": r["dataset"], "id": r["id"], "by": round(loss, 6)} for loss, r in report.lost],
        "judge": verdicts,
    }
    write_json(out / SUMMARY, report.rows)
    write_json(out / DETAILS, details)
    replace_text(out / REPORT, render_page(report))
    if markdown is not None:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        markdown.write_text(render_markdown(report, command), encoding="utf-8")
    return report


def render_page(report: Report) -> str:
    """Return the HTML page. It loads nothing from other hosts, and text from data sets is never markup."""
    arms = list(dict.fromkeys(row["arm"] for row in report.rows))
    coverage = _compare_with_baseline(report.pooled, metrics.coverage_names(report.k))
    rankings = (*metrics.RANKING_METRICS, *metrics.COVERAGE_METRICS)
    retrieval = metrics.labels((metric for metric in rankings if metric.tabled), report.k)
    answers = (*metrics.ANSWER_METRICS, *metrics.ABSTENTION)
    page = _render(
        "report.html.j2",
        report,
        arms=arms,
        arms_drawn=arms[:MAX_ARMS_DRAWN],
        arm_table=ARMS,
        cards=_compare_with_baseline(report.pooled, [report.metric]),
        coverage=[change for change in coverage if change[1]["type"] == "opinion"],
        tables=[
            (name, _table(report.rows, name, retrieval), _table(report.rows, name, answers))
            for name in report.datasets
        ],
        metrics=metrics,
        plots=plots,
        reach_of=_reach_of,
        **_draw(report, arms[:MAX_ARMS_DRAWN]),
    )
    return page.lstrip()


def render_markdown(report: Report, command: str) -> str:
    """Return the Markdown page: the origin of the figures, the result by type, the losses, and every arm."""
    rows, names = report.rows, (*metrics.metric_names(report.k), *metrics.ANSWER_METRICS)
    # Pooled rows repeat the others for a type that occurs in only one data set.
    occurrences = Counter(kind for _, kind in {(row["dataset"], row["type"]) for row in rows})
    shown = [*summary.without_repeats(rows), *(row for row in report.pooled if occurrences[row["type"]] > 1)]
    coverage = _compare_with_baseline(rows, metrics.coverage_names(report.k))
    return _render(
        "results.md.j2",
        report,
        command=command,
        verdict=_compare_with_baseline(shown, [report.metric]),
        coverage=[change for change in coverage if change[1]["type"] == "opinion"],
        losses=[
            change
            for change in _compare_with_baseline(rows, names)
            if change[1]["type"] != ALL and change[3]["mean"] < 0
        ],
        tables=[
            (dataset, *_table(rows, dataset, (*names, *metrics.ABSTENTION))) for dataset in report.datasets
        ],
    )


def _render(template: str, report: Report, **values: Any) -> str:
    model = report.run.about.get("settings", {}).get("settings", {}).get("model")
    shared = {"report": report, "model": model, "baseline": BASELINE, "subject": SUBJECT, "words": summary}
    return render(template, **shared, **values)


def _compare_with_baseline(
    rows: Iterable[SummaryRow], names: Sequence[str]
) -> list[tuple[SummaryRow, SummaryRow, str, DifferenceRow]]:
    """Return, for each compared metric: the baseline's row, the subject's row, its name, the difference."""
    row_of = {(row["arm"], row["dataset"], row["type"]): row for row in rows}
    return [
        (row_of[BASELINE, dataset, kind], row, name, row["against_standard"][name])
        for (arm, dataset, kind), row in row_of.items()
        for name in names
        if arm == SUBJECT and name in row["against_standard"]
    ]


def _table(
    rows: Sequence[SummaryRow], dataset: str, names: Sequence[str]
) -> tuple[list[str], list[SummaryRow]]:
    """Return the metrics that occur in a data set, and its rows, type by type."""
    of_dataset = [row for row in summary.without_repeats(rows) if row["dataset"] == dataset]
    return [name for name in names if any(name in row["metrics"] for row in of_dataset)], of_dataset


def _draw(report: Report, arms: Sequence[str]) -> dict[str, Any]:
    """Return what the page draws for each type, and which types have too few questions for that."""
    by_type: dict[tuple[str, str], list[SummaryRow]] = {}
    for row in report.rows:
        if row["type"] != ALL and row["arm"] in arms:
            by_type.setdefault((row["type"], row["dataset"]), []).append(row)
    sizes = {key: rows[0]["n"] for key, rows in by_type.items()}
    large = {"\n".join(key): rows for key, rows in by_type.items() if sizes[key] >= MIN_QUESTIONS}
    return {
        "panels": _panels(report, large, arms),
        "few": [f"{kind} in {dataset} (n={n})" for (kind, dataset), n in sizes.items() if n < MIN_QUESTIONS],
        "steps": {arm: report.steps[arm] for arm in arms if arm in report.steps},
        "sweep": {
            f"{kind}, {dataset}": values
            for dataset, kinds in report.run.about["alpha"].items()
            for kind, values in kinds.items()
            if sizes.get((kind, dataset), 0) >= MIN_QUESTIONS
        },
    }


def _panels(report: Report, by_type: Mapping[str, Sequence[SummaryRow]], arms: Sequence[str]) -> list[_Panel]:
    """Return a panel of bars for each drawn metric with a bar for each type, and one for coverage."""
    drawn, covering = (
        metrics.labels((metric for metric in table if metric.drawn), report.k)
        for table in (metrics.RANKING_METRICS, metrics.COVERAGE_METRICS)
    )
    panels: list[_Panel] = []
    for name in dict.fromkeys((report.metric, *drawn)):
        if bars := _bars([(label, name, rows) for label, rows in by_type.items()]):
            lines = [dict(bars[i : i + GROUPS_PER_ROW]) for i in range(0, len(bars), GROUPS_PER_ROW)]
            plotted = [(line, name, f"{name} by type, {n}") for n, line in enumerate(lines, start=1)]
            panels.append((name, plotted))
    opinion = [row for row in report.pooled if row["type"] == "opinion" and row["arm"] in arms]
    covered = _bars([(name, name, opinion) for name in covering])
    if panels and covered:
        panels.append(("Coverage, opinion questions", [(dict(covered), "share", "Coverage of aspects")]))
    return panels


def _bars(groups: Iterable[tuple[str, str, Sequence[SummaryRow]]]) -> list[tuple[str, _Bars]]:
    """Return groups of bars, each a label, a metric and its rows; those without such rows are left out."""
    with_metric = (
        (label, name, [row for row in rows if name in row["intervals"]]) for label, name, rows in groups
    )
    return [(label, (name, rows)) for label, name, rows in with_metric if rows]


def _reach_of(differences: Iterable[DifferenceRow]) -> float:
    """Return how far from zero the intervals of a table reach."""
    return max(MIN_REACH, *(abs(float(d[bound])) for d in differences for bound in ("low", "high")), 0.0)
