"""Writes a run as a page of Markdown; `results.md.j2` holds its words and its shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adaptive_rag.evaluation.answer_metrics import ANSWER_METRICS
from adaptive_rag.evaluation.arms import BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import coverage_names, metric_names
from adaptive_rag.evaluation.page import model_of, open_templates
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import ALL, Row
from adaptive_rag.evaluation.wording import count_questions, headline_of, types_shown, without_repeats


def render_markdown(
    about: Mapping[str, Any],
    rows: Sequence[Row],
    pooled: Sequence[Row],
    *,
    k: int,
    routing: RoutingReport | None,
    command: str,
) -> str:
    """Return the page: where the figures come from, the verdict by type, the losses, every arm.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    metric, ours = headline_of(rows, k), [row for row in rows if row["arm"] == SUBJECT]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    # A type that occurs in one data set has nothing to pool.
    kinds = [kind for _, kind in {(row["dataset"], row["type"]) for row in rows}]
    shown = [*without_repeats(rows), *(row for row in pooled if kinds.count(row["type"]) > 1)]
    theirs = {(row["dataset"], row["type"]): row for row in (*rows, *pooled) if row["arm"] == BASELINE}
    names = (*metric_names(k), *ANSWER_METRICS)
    page: str = (
        open_templates(escape=False)
        .get_template("results.md.j2")
        .render(
            about=about,
            command=command,
            model=model_of(about),
            questions=count_questions(rows),
            datasets=datasets,
            metric=metric,
            baseline=BASELINE,
            subject=SUBJECT,
            verdict=[
                (theirs[row["dataset"], row["type"]], row)
                for row in shown
                if row["arm"] == SUBJECT and metric in row["against_standard"]
            ],
            coverage=[
                (row, name, row["against_standard"][name])
                for row in ours
                for name in coverage_names(k)
                if row["type"] == "opinion" and name in row["against_standard"]
            ],
            losses=[
                (row, name, d)
                for row in ours
                for name in names
                if row["type"] != ALL and (d := row["against_standard"].get(name)) and d["mean"] < 0
            ],
            routing=routing,
            tables=[_table([row for row in rows if row["dataset"] == name], names) for name in datasets],
        )
    )
    return page


def _table(rows: Sequence[Row], names: Sequence[str]) -> tuple[str, list[str], list[Row]]:
    """Return a data set's name, its metrics and its rows, type by type."""
    shown = [row for kind in types_shown(rows) for row in rows if row["type"] == kind]
    return rows[0]["dataset"], [n for n in names if any(n in row["metrics"] for row in rows)], shown
