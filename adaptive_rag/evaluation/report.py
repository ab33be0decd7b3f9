"""Turns a finished run into its files: summary.json, details.json, report.html, and Markdown on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.judge import judge_run, judgeable
from adaptive_rag.evaluation.page import Report, render_markdown, render_page
from adaptive_rag.evaluation.records import DETAILS, REPORT, SUMMARY, QuestionRecord, write_json, write_text
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.run import FinishedRun, OpenBar, no_bar
from adaptive_rag.evaluation.summary import (
    POOLED,
    compare_runs,
    lost_questions,
    routing_of,
    step_times,
    summarise,
    summarise_pooled,
)


def write_reports(
    run: FinishedRun,
    datasets: Sequence[Dataset],
    out: Path,
    *,
    judge: tuple[BaseChatModel, Sequence[str]] | None = None,
    earlier: tuple[str, Sequence[QuestionRecord]] | None = None,
    markdown: Path | None = None,
    command: str = "adaptive-rag eval",
    open_bar: OpenBar = no_bar,
) -> Report:
    """Write every file of a run but its questions, and return what they say.

    `judge` is a chat model and the arms that it compares, `earlier` the name and the questions of a run to
    compare with.

    Raises:
        MissingExtraError: a package that reports is not installed.
    """
    k, seed = run.about["settings"]["k"], run.about["settings"]["seed"]
    verdicts = None
    if judge is not None:
        model, arms = judge
        with open_bar("Judging", len(judgeable(run.records, arms))) as advance:
            verdicts = judge_run(model, run.records, arms, advance=advance)
    report = Report(
        about=run.about,
        k=k,
        rows=summarise(run.records, k=k, seed=seed),
        pooled=summarise_pooled(run.records, k=k, seed=seed),
        routing_by_dataset=_routing(run.records),
        alpha=run.alpha,
        steps=step_times(run.records),
        lost=lost_questions(run.records, k=k),
        texts={(dataset.name, p["id"]): p["text"] for dataset in datasets for p in dataset.passages},
        notes=run.notes,
        judge=verdicts,
        against=compare_runs(run.records, earlier[1], k=k, seed=seed) if earlier else [],
        against_name=earlier[0] if earlier else "",
    )
    details = {
        "pooled": report.pooled,
        "routing": {name: asdict(one) for name, one in report.routing_by_dataset.items()},
        "alpha": report.alpha,
        "ms_by_step": report.steps,
        "lost": [{"dataset": r["dataset"], "id": r["id"], "by": round(loss, 6)} for loss, r in report.lost],
        "judge": verdicts,
        "against": {"run": report.against_name, "rows": report.against} if earlier else None,
    }
    write_json(out / SUMMARY, report.rows)
    write_json(out / DETAILS, details)
    write_text(out / REPORT, render_page(report))
    if markdown is not None:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        write_text(markdown, render_markdown(report, command))
    return report


def _routing(records: Sequence[QuestionRecord]) -> dict[str, RoutingReport]:
    """Return the router's scores over all data sets, and for each."""
    groups = {POOLED: list(records)}
    for record in records:
        groups.setdefault(record["dataset"], []).append(record)
    return {name: scored for name, group in groups.items() if (scored := routing_of(group)) is not None}
