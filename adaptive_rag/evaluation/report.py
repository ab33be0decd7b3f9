"""Turns a finished run into its files: summary.json, details.json, report.html, and Markdown on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.judge import JudgeReport, judge_run, judgeable
from adaptive_rag.evaluation.markdown import render_markdown
from adaptive_rag.evaluation.page import Report, render_page
from adaptive_rag.evaluation.records import (
    DETAILS,
    REPORT,
    SUMMARY,
    QuestionRecord,
    write_json,
    write_text,
)
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.run import FinishedRun, no_bar
from adaptive_rag.evaluation.summary import (
    POOLED,
    Row,
    compare_runs,
    lost_questions,
    routing_of,
    step_times,
    summarise,
    summarise_pooled,
)


@dataclass(frozen=True)
class Written:
    """What the files say, for a caller that goes on with it."""

    rows: list[Row]
    pooled: list[Row]
    routing: RoutingReport | None
    against: list[Row]
    judge: JudgeReport | None


def write_reports(
    run: FinishedRun,
    datasets: Sequence[Dataset],
    out: Path,
    *,
    judge: tuple[BaseChatModel, Sequence[str]] | None = None,
    earlier: tuple[str, Sequence[QuestionRecord]] | None = None,
    markdown: Path | None = None,
    command: str = "adaptive-rag eval",
    open_bar: Callable[[str, int], Any] = no_bar,
) -> Written:
    """Write every file of a run but its questions, and return what they say."""
    k, seed = run.about["settings"]["k"], run.about["settings"]["seed"]
    rows = summarise(run.records, k=k, seed=seed)
    pooled = summarise_pooled(run.records, k=k, seed=seed)
    routing = _routing(run.records)
    verdicts = None
    if judge is not None:
        model, arms = judge
        with open_bar("Judging", len(judgeable(run.records, arms))) as advance:
            verdicts = judge_run(model, run.records, arms, advance=advance)
    against = compare_runs(run.records, earlier[1], k=k, seed=seed) if earlier else []
    lost = lost_questions(run.records, k=k)
    steps = step_times(run.records)
    write_json(out / SUMMARY, rows)
    write_json(
        out / DETAILS,
        {
            "pooled": pooled,
            "routing": {name: asdict(one) for name, one in routing.items()},
            "alpha": run.alpha,
            "ms_by_step": steps,
            "lost": [{"dataset": r["dataset"], "id": r["id"], "by": round(loss, 6)} for loss, r in lost],
            "judge": verdicts,
            "against": {"run": earlier[0], "rows": against} if earlier else None,
        },
    )
    page = Report(
        about=run.about,
        k=k,
        rows=rows,
        pooled=pooled,
        routing=routing,
        alpha=run.alpha,
        steps=steps,
        lost=lost,
        texts={(dataset.name, p["id"]): p["text"] for dataset in datasets for p in dataset.passages},
        notes=run.notes,
        judge=verdicts,
        against=against,
        against_name=earlier[0] if earlier else "",
    )
    write_text(out / REPORT, render_page(page))
    if markdown is not None:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        text = render_markdown(run.about, rows, pooled, k=k, routing=routing.get(POOLED), command=command)
        write_text(markdown, text)
    return Written(rows, pooled, routing.get(POOLED), against, verdicts)


def _routing(records: Sequence[QuestionRecord]) -> dict[str, RoutingReport]:
    """Return the router's scores over all data sets, and for each."""
    groups = {POOLED: list(records)}
    for record in records:
        groups.setdefault(record["dataset"], []).append(record)
    found = {name: routing_of(group) for name, group in groups.items()}
    return {name: report for name, report in found.items() if report is not None}
