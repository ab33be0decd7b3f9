"""Writes a run as one HTML page that opens offline; `report.html.j2` holds its words and its shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adaptive_rag.errors import import_extra
from adaptive_rag.evaluation import plots
from adaptive_rag.evaluation.answer_metrics import ABSTENTION, ANSWER_METRICS, SUPPORT, WEIGHTS
from adaptive_rag.evaluation.arms import ARMS, BASELINE, SUBJECT
from adaptive_rag.evaluation.judge import CRITERIA, TIE, JudgeReport
from adaptive_rag.evaluation.metrics import coverage_names, headline, metric_names
from adaptive_rag.evaluation.records import QuestionRecord
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import ALL, POOLED, DifferenceRow, Row
from adaptive_rag.evaluation.wording import (
    count_questions,
    format_p,
    headline_of,
    label_of,
    short_name,
    tone,
    types_shown,
    without_repeats,
)

# Below this many questions a type has no bars or line of its own: its intervals say nothing.
FEW = 10
# Arms that a plot has room for.
ARMS_DRAWN = 7
# Groups of bars that stand side by side, so that a page holds them.
GROUPS_IN_A_ROW = 4
LOST_SHOWN = 30
# The least difference that fills half a cell, so that noise does not look like much.
LEAST_REACH = 0.05


@dataclass(frozen=True)
class Report:
    """All that a page shows."""

    about: Mapping[str, Any]
    k: int
    rows: Sequence[Row]
    pooled: Sequence[Row]
    routing: Mapping[str, RoutingReport]  # by data set, and for all of them together
    alpha: Mapping[str, Mapping[str, Mapping[str, float]]]
    steps: Mapping[str, Mapping[str, float]]
    lost: Sequence[tuple[float, QuestionRecord]]
    # text of a passage by data set and id
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    judge: JudgeReport | None = None
    against: Sequence[Row] = ()
    against_name: str = ""


def render_page(report: Report) -> str:
    """Return the page. It loads nothing from elsewhere, and text from data sets stays text.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    metric, arms = headline_of(report.rows, report.k), list(dict.fromkeys(r["arm"] for r in report.rows))
    opinion = {row["arm"]: row for row in report.pooled if row["type"] == "opinion"}
    template = open_templates(escape=True).get_template("report.html.j2")
    page: str = template.render(
        report=report,
        metric=metric,
        datasets=list(dict.fromkeys(row["dataset"] for row in report.rows)),
        questions=count_questions(report.rows),
        arms=arms,
        arms_drawn=arms[:ARMS_DRAWN],
        table=ARMS,
        baseline=BASELINE,
        subject=SUBJECT,
        cards=_beside_baseline(report.pooled, metric),
        coverage=[
            (opinion[BASELINE], opinion[SUBJECT], name, d)
            for name in coverage_names(report.k)
            if SUBJECT in opinion and (d := opinion[SUBJECT]["against_standard"].get(name))
        ],
        tables=_tables(report.rows, report.k),
        **_drawings(report, metric, arms[:ARMS_DRAWN]),
        contestants=[*report.judge["arms"], TIE] if report.judge else [],
        criteria=[*CRITERIA, "overall"],
        against=[row for row in without_repeats(report.against) if metric in row["against_standard"]],
        lost_shown=LOST_SHOWN,
        weights=WEIGHTS,
        support=SUPPORT,
        pooled_name=POOLED,
        model=model_of(report.about),
    )
    return page.lstrip()


def open_templates(*, escape: bool) -> Any:
    """Return the jinja2 environment of the templates beside this file.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    jinja2 = import_extra("jinja2", extra="eval", purpose="Writing the report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=escape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"label": label_of, "short": short_name, "p": format_p, "css": _css_colour}
    environment.globals |= {"tone": tone, "reach_of": _reach_of, "types_shown": types_shown}
    return environment


def model_of(about: Mapping[str, Any]) -> str | None:
    """Return the chat model of a run, as its settings name it."""
    model: str | None = about.get("settings", {}).get("knobs", {}).get("model")
    return model


def _beside_baseline(pooled: Sequence[Row], metric: str) -> list[tuple[Row, Row]]:
    """Return the baseline's row and the subject's for each type where they are compared."""
    rows = {(row["type"], row["arm"]): row for row in pooled}
    return [
        (rows[kind, BASELINE], row)
        for (kind, arm), row in rows.items()
        if arm == SUBJECT and metric in row["against_standard"]
    ]


def _tables(rows: Sequence[Row], k: int) -> list[tuple[str, list[tuple[str, list[Row], list[str]]]]]:
    """Return, for each data set, its tables with title, rows and metrics that occur."""
    retrieval = [name for name in metric_names(k) if not name.startswith("precision")]
    wanted = {"Retrieval": retrieval, "Answers": [*ANSWER_METRICS, *ABSTENTION]}
    found = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        of_dataset = [row for row in rows if row["dataset"] == dataset]
        shown = {
            title: [name for name in names if any(name in row["metrics"] for row in of_dataset)]
            for title, names in wanted.items()
        }
        found.append((dataset, [(title, of_dataset, names) for title, names in shown.items() if names]))
    return found


def _drawings(report: Report, metric: str, arms: Sequence[str]) -> dict[str, Any]:
    """Return the figures of the page as SVG; empty where there is nothing to draw."""
    markupsafe = import_extra("markupsafe", extra="eval", purpose="Writing the report")

    def svg(figure: Any, title: str) -> Any:
        return markupsafe.Markup(plots.as_svg(figure, title))

    types = [row for row in report.rows if row["type"] != ALL and row["arm"] in arms]
    by_type: dict[tuple[str, str], list[Row]] = {}
    for row in types:
        by_type.setdefault((row["type"], row["dataset"]), []).append(row)
    enough = [key for key, rows in by_type.items() if rows[0]["n"] >= FEW]
    groups = [("\n".join(key), bars) for key in enough if (bars := plots.bars_of(by_type[key], metric))]
    opinion = [row for row in report.pooled if row["type"] == "opinion" and row["arm"] in arms]
    covered = {name: b for name in coverage_names(report.k) if (b := plots.bars_of(opinion, name))}
    pooled = [row for row in report.pooled if row["type"] == ALL and metric in row["metrics"]]
    steps = {arm: report.steps[arm] for arm in arms if arm in report.steps}
    sweep = {
        f"{kind}, {dataset}": values
        for dataset, kinds in report.alpha.items()
        for kind, values in kinds.items()
        if kind != ALL and (kind, dataset) in enough
    }
    router = report.routing.get(POOLED)
    return {
        "bars": [
            svg(plots.plot_bars(dict(groups[start : start + GROUPS_IN_A_ROW]), metric), f"{metric}, {start}")
            for start in range(0, len(groups), GROUPS_IN_A_ROW)
        ],
        "few": [
            f"{kind} in {dataset} (n={rows[0]['n']})"
            for (kind, dataset), rows in by_type.items()
            if rows[0]["n"] < FEW
        ],
        "covered": svg(plots.plot_bars(covered, "share"), "Coverage of aspects") if covered else "",
        "cost": svg(plots.plot_cost(pooled, metric), "Quality against cost") if len(pooled) > 1 else "",
        "steps": svg(plots.plot_steps(steps), "Time by step") if steps else "",
        "alpha": svg(plots.plot_alpha(sweep, headline(report.k)), "Alpha sweep") if sweep else "",
        "router": [
            ("Confusion", svg(plots.plot_confusion(router), "Confusion matrix of the router")),
            ("Reliability", svg(plots.plot_reliability(router), "Reliability of the router")),
            ("Risk against coverage", svg(plots.plot_risk_coverage(router), "Risk against coverage")),
        ]
        if router
        else [],
    }


def _reach_of(differences: Iterable[DifferenceRow]) -> float:
    """Return how far from zero the intervals of a table reach."""
    return max([LEAST_REACH, *(abs(bound) for d in differences for bound in (d["low"], d["high"]))])


def _css_colour(arm: str) -> str:
    colour = plots.colour_of(arm)
    return f"var(--{plots.CSS_NAMES[colour]})" if colour in plots.CSS_NAMES else colour
