"""The page's bars: every type of every data set, arm beside arm, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.metrics import coverage_names
from adaptive_rag.evaluation.page.contents import FEW, Report, arms_drawn
from adaptive_rag.evaluation.summary import ALL, Row

# Groups that stand side by side, so that a page holds them.
GROUPS_IN_A_ROW = 4


def bars_section(report: Report) -> str:
    """Return the bars of the headline metric by type, and of coverage for opinion questions."""
    metric, arms = report.metric, arms_drawn(report.rows)
    by_type: dict[tuple[str, str], list[Row]] = {}
    for row in report.rows:
        if row["type"] != ALL:
            by_type.setdefault((row["dataset"], row["type"]), []).append(row)
    few = [
        f"{kind} in {dataset} (n={rows[0]['n']})"
        for (dataset, kind), rows in by_type.items()
        if rows[0]["n"] < FEW
    ]
    groups = {
        f"{kind} | {dataset}": bars
        for (dataset, kind), rows in by_type.items()
        if rows[0]["n"] >= FEW and (bars := _bars(rows, arms, metric))
    }
    if not groups:
        return ""
    opinion = [row for row in report.pooled if row["type"] == "opinion"]
    coverage = {name: bars for name in coverage_names(report.k) if (bars := _bars(opinion, arms, name))}
    parts = [
        charts.legend({arm: charts.colour(arm) for arm in arms}),
        f'<div class="panel"><h3>{escape(metric)}</h3>{_wrapped(groups, metric)}</div>',
    ]
    if coverage:
        drawn = charts.draw_bars(coverage, "Coverage of aspects and stances")
        parts.append(f'<div class="panel"><h3>Coverage, opinion questions</h3>{drawn}</div>')
    if few:
        parts.append(
            f'<p class="note">Too few questions for bars of their own: {escape("; ".join(few))}.</p>'
        )
    return "".join(parts)


def _wrapped(groups: Mapping[str, Sequence[charts.Bar]], metric: str) -> str:
    names = list(groups)
    return "".join(
        charts.draw_bars({name: groups[name] for name in names[start : start + GROUPS_IN_A_ROW]}, metric)
        for start in range(0, len(names), GROUPS_IN_A_ROW)
    )


def _bars(rows: Sequence[Row], arms: Sequence[str], metric: str) -> list[charts.Bar]:
    by_arm = {row["arm"]: row for row in rows if metric in row["metrics"]}
    bars = []
    for row in (by_arm[arm] for arm in arms if arm in by_arm):
        low, high = row["intervals"][metric]
        bars.append(charts.Bar(row["arm"], row["metrics"][metric], low, high, row["counts"][metric]))
    return bars
