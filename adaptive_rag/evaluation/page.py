"""Writes a run as an HTML page that opens offline, and as Markdown; the words stand in two templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptive_rag.errors import import_extra
from adaptive_rag.evaluation import plots, wording
from adaptive_rag.evaluation.arms import ARMS, BASELINE, SUBJECT
from adaptive_rag.evaluation.judge import CRITERIA, TIE, JudgeReport
from adaptive_rag.evaluation.metrics import (
    ABSTENTION,
    ANSWER_METRICS,
    SUPPORT,
    WEIGHTS,
    coverage_names,
    headline,
    metric_names,
)
from adaptive_rag.evaluation.records import QuestionRecord
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import ALL, POOLED, DifferenceRow, Row

# Below this many questions a type has no bars or line of its own: its intervals say nothing.
FEW = 10
# Arms that a plot has room for, and groups of bars that stand side by side.
ARMS_DRAWN, GROUPS_IN_A_ROW = 7, 4
LOST_SHOWN = 30
# The least difference that fills half a cell, so that noise does not look like much.
LEAST_REACH = 0.05


@dataclass(frozen=True)
class Report:
    """All that a run's files say."""

    about: Mapping[str, Any]
    k: int
    rows: Sequence[Row]
    pooled: Sequence[Row]
    routing_by_dataset: Mapping[str, RoutingReport]  # and for all of them together
    alpha: Mapping[str, Mapping[str, Mapping[str, float]]]
    steps: Mapping[str, Mapping[str, float]]
    lost: Sequence[tuple[float, QuestionRecord]]
    texts: Mapping[tuple[str, str], str]  # of a passage by data set and id
    notes: Sequence[str]
    judge: JudgeReport | None
    against: Sequence[Row]
    against_name: str

    @property
    def routing(self) -> RoutingReport | None:
        """Return the router's scores over all data sets; None where no question has a label."""
        return self.routing_by_dataset.get(POOLED)

    @property
    def metric(self) -> str:
        """Return the metric that arms are compared by."""
        return wording.headline_of(self.rows, self.k)


def render_page(report: Report) -> str:
    """Return the HTML page. It loads nothing from elsewhere, and text from data sets stays text.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    metric, arms = report.metric, list(dict.fromkeys(row["arm"] for row in report.rows))
    rows = {(row["type"], row["arm"]): row for row in report.pooled}
    retrieval = [name for name in metric_names(report.k) if not name.startswith("precision")]
    return _render(
        "report.html.j2",
        report,
        arms=arms,
        arms_drawn=arms[:ARMS_DRAWN],
        arm_table=ARMS,
        cards=[
            (rows[kind, BASELINE], row)
            for (kind, arm), row in rows.items()
            if arm == SUBJECT and metric in row["against_standard"]
        ],
        coverage=[
            (rows["opinion", BASELINE], *found)
            for found in _compared(rows.values(), coverage_names(report.k))
            if found[0]["type"] == "opinion"
        ],
        tables=[
            (
                dataset,
                _table(report.rows, dataset, retrieval),
                _table(report.rows, dataset, (*ANSWER_METRICS, *ABSTENTION)),
            )
            for dataset in _datasets(report)
        ],
        against=[row for row in wording.without_repeats(report.against) if metric in row["against_standard"]],
        contestants=[*report.judge["arms"], TIE] if report.judge else [],
        criteria=[*CRITERIA, "overall"],
        lost_shown=LOST_SHOWN,
        weights=WEIGHTS,
        support=SUPPORT,
        pooled_name=POOLED,
        **_draw(report, arms[:ARMS_DRAWN]),
    ).lstrip()


def render_markdown(report: Report, command: str) -> str:
    """Return the Markdown page: where the figures come from, the verdict by type, the losses, every arm.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    rows, names = report.rows, (*metric_names(report.k), *ANSWER_METRICS)
    # A type that occurs in one data set has nothing to pool.
    kinds = [kind for _, kind in {(row["dataset"], row["type"]) for row in rows}]
    shown = [*wording.without_repeats(rows), *(row for row in report.pooled if kinds.count(row["type"]) > 1)]
    both = (*rows, *report.pooled)
    theirs = {(row["dataset"], row["type"]): row for row in both if row["arm"] == BASELINE}
    return _render(
        "results.md.j2",
        report,
        command=command,
        verdict=[
            (theirs[row["dataset"], row["type"]], row, d) for row, _, d in _compared(shown, [report.metric])
        ],
        coverage=[
            found for found in _compared(rows, coverage_names(report.k)) if found[0]["type"] == "opinion"
        ],
        losses=[
            found for found in _compared(rows, names) if found[0]["type"] != ALL and found[2]["mean"] < 0
        ],
        tables=[(dataset, *_table(rows, dataset, names)) for dataset in _datasets(report)],
    )


def _render(template: str, report: Report, **values: Any) -> str:
    """Fill in a template; HTML is escaped, Markdown is not."""
    jinja2 = import_extra("jinja2", extra="eval", purpose="Writing the report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=template.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "label": wording.label_of,
        "short": wording.short_name,
        "p": wording.format_p,
        "css": plots.css_colour,
    }
    environment.globals |= {
        "tone": wording.tone,
        "reach_of": _reach_of,
        "baseline": BASELINE,
        "subject": SUBJECT,
    }
    first = report.rows[0]["arm"]
    text: str = environment.get_template(template).render(
        report=report,
        metric=report.metric,
        about=report.about,
        model=report.about.get("settings", {}).get("knobs", {}).get("model"),
        datasets=_datasets(report),
        questions=sum(row["n"] for row in report.rows if (row["type"], row["arm"]) == (ALL, first)),
        **values,
    )
    return text


def _datasets(report: Report) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in report.rows))


def _compared(rows: Iterable[Row], names: Sequence[str]) -> list[tuple[Row, str, DifferenceRow]]:
    """Return the subject's rows with each of these metrics that is compared with the baseline."""
    ours = [row for row in rows if row["arm"] == SUBJECT]
    return [(row, name, d) for row in ours for name in names if (d := row["against_standard"].get(name))]


def _table(rows: Sequence[Row], dataset: str, names: Sequence[str]) -> tuple[list[str], list[Row]]:
    """Return those of the metrics that a data set has, and its rows, type by type."""
    rows = [row for row in rows if row["dataset"] == dataset]
    shown = [row for kind in wording.types_shown(rows) for row in rows if row["type"] == kind]
    return [name for name in names if any(name in row["metrics"] for row in rows)], shown


def _draw(report: Report, arms: Sequence[str]) -> dict[str, Any]:
    """Return the figures of the page as SVG; empty where there is nothing to draw."""
    metric, router = report.metric, report.routing
    by_type: dict[tuple[str, str], list[Row]] = {}
    for row in report.rows:
        if row["type"] != ALL and row["arm"] in arms:
            by_type.setdefault((row["type"], row["dataset"]), []).append(row)
    enough = [key for key, rows in by_type.items() if rows[0]["n"] >= FEW]
    groups = [("\n".join(key), bars) for key in enough if (bars := plots.bars_of(by_type[key], metric))]
    opinion = [row for row in report.pooled if row["type"] == "opinion" and row["arm"] in arms]
    covered = {name: bars for name in coverage_names(report.k) if (bars := plots.bars_of(opinion, name))}
    pooled = [row for row in report.pooled if row["type"] == ALL and metric in row["metrics"]]
    steps = {arm: report.steps[arm] for arm in arms if arm in report.steps}
    sweep = {
        f"{kind}, {dataset}": values
        for dataset, kinds in report.alpha.items()
        for kind, values in kinds.items()
        if (kind, dataset) in enough
    }
    few = [
        f"{kind} in {dataset} (n={by_type[kind, dataset][0]['n']})"
        for kind, dataset in by_type.keys() - enough
    ]
    svg = plots.as_svg
    return {
        "bars": [
            svg(
                plots.plot_bars(dict(groups[start : start + GROUPS_IN_A_ROW]), metric),
                f"{metric} by type {start}",
            )
            for start in range(0, len(groups), GROUPS_IN_A_ROW)
        ],
        "few": sorted(few),
        "covered": svg(plots.plot_bars(covered, "share"), "Coverage of aspects") if covered else "",
        "cost": svg(plots.plot_cost(pooled, metric), "Quality against cost") if len(pooled) > 1 else "",
        "steps": svg(plots.plot_steps(steps), "Time by step") if steps else "",
        "alpha": svg(plots.plot_alpha(sweep, headline(report.k)), "Alpha sweep") if sweep else "",
        "router": {
            "Confusion": svg(plots.plot_confusion(router), "Confusion matrix of the router"),
            "Reliability": svg(plots.plot_reliability(router), "Reliability of the router"),
            "Risk against coverage": svg(plots.plot_risk_coverage(router), "Risk against coverage"),
        }
        if router
        else {},
    }


def _reach_of(differences: Iterable[DifferenceRow]) -> float:
    """Return how far from zero the intervals of a table reach."""
    return max([LEAST_REACH, *(abs(bound) for d in differences for bound in (d["low"], d["high"]))])
