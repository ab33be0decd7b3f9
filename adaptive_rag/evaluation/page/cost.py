"""The page's section on cost: what quality takes in chat calls or milliseconds, and where the time goes."""

from __future__ import annotations

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.page.contents import Report, arms_drawn
from adaptive_rag.evaluation.summary import ALL


def cost_section(report: Report) -> str:
    """Return the arms between cost and quality, and the time of their steps."""
    metric = report.metric
    rows = [row for row in report.pooled if row["type"] == ALL and metric in row["metrics"]]
    if len(rows) < 2:
        return ""
    by_calls = any(row["cost"]["model_calls"] for row in rows)
    cost, x_title = (
        ("model_calls", "chat calls per question") if by_calls else ("ms", "milliseconds per question")
    )
    points = [charts.Point(row["arm"], row["cost"][cost], row["metrics"][metric]) for row in rows]
    plot = charts.draw_pareto(points, "Quality against cost", x_title, metric)
    return (
        f'<div class="pair"><div class="panel">{plot}<p class="note">All data sets together. The dashed '
        f"line joins the arms that no cheaper arm beats.</p></div>{_steps(report, arms_drawn(rows))}</div>"
    )


def _steps(report: Report, arms: list[str]) -> str:
    steps = {arm: times for arm, times in report.steps.items() if arm in arms}
    if not steps:
        return ""
    return (
        f'<div class="panel"><h3>Where the time goes</h3>{charts.draw_stacked(steps, "Time by step", "ms")}'
        '<p class="note">Time inside the steps; parallel branches are summed, so a bar may be longer than '
        "the wait. The plain arms have no steps.</p></div>"
    )
