"""Draws how the router routes: what it confuses, whether its probabilities hold, what its doubt is worth."""

from __future__ import annotations

from adaptive_rag.evaluation.arms import SUBJECT
from adaptive_rag.evaluation.charts.lines import draw_lines
from adaptive_rag.evaluation.charts.svg import (
    QUARTERS,
    draw_picture,
    draw_tick_below,
    draw_title_below,
    draw_title_beside,
    draw_unit_grid,
)
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.state import QUERY_TYPES

# A cell of the confusion matrix, in pixels.
CELL = 84
CELL_HEIGHT = CELL * 0.62


def draw_confusion(report: RoutingReport) -> str:
    """Draw the confusion matrix, each cell shaded by its share of the row."""
    left, top = 108, 46
    parts = [f'<text class="axis" x="{left + 2 * CELL}" y="14">routed to</text>']
    for column, predicted in enumerate(QUERY_TYPES):
        x = left + column * CELL + CELL / 2
        parts.append(f'<text class="label" x="{x}" y="{top - 10}">{predicted}</text>')
    for row, label in enumerate(QUERY_TYPES):
        y = top + row * CELL_HEIGHT
        total = sum(report.confusion[label].values())
        parts.append(f'<text class="label end" x="{left - 10}" y="{y + 24:.1f}">{label}</text>')
        parts.append(f'<text class="sub end" x="{left - 10}" y="{y + 39:.1f}">n={total}</text>')
        for column, predicted in enumerate(QUERY_TYPES):
            count = report.confusion[label][predicted]
            parts.append(_confusion_cell(label, predicted, count, total, left + column * CELL, y))
    return draw_picture(
        left + 4 * CELL + 6, top + 4 * CELL_HEIGHT + 8, parts, "Confusion matrix of the router"
    )


def _confusion_cell(label: str, predicted: str, count: int, total: int, x: float, y: float) -> str:
    share = count / total if total else 0.0
    fill = "var(--good)" if label == predicted else "var(--bad)"
    strong = " strong" if share > 0.55 else ""
    middle = x + CELL / 2
    return (
        f"<g><title>{label} routed to {predicted}: {count} of {total}</title>"
        f'<rect x="{x + 1}" y="{y + 1:.1f}" width="{CELL - 2}" height="{CELL_HEIGHT - 2:.1f}" rx="3" '
        f'fill="{fill}" fill-opacity="{0.06 + 0.8 * share:.2f}"/>'
        f'<text class="cell{strong}" x="{middle}" y="{y + 25:.1f}">{count}</text>'
        f'<text class="share{strong}" x="{middle}" y="{y + 40:.1f}">{f"{share:.0%}" if total else ""}</text>'
        "</g>"
    )


def draw_reliability(report: RoutingReport) -> str:
    """Draw how often the router is right for each probability it gives; on the diagonal it is honest."""
    left, top, size = 48, 14, 230
    parts = [draw_unit_grid(left, left + size, top, size)]
    parts += [draw_tick_below(left + size * step, top + size, step) for step in QUARTERS]
    parts.append(f'<path class="diagonal" d="M{left} {top + size}L{left + size} {top}"/>')
    largest = max(b.n for b in report.bins)
    for b in report.bins:
        x, width = left + size * b.low, size * (b.high - b.low)
        y = top + size * (1 - b.accuracy)
        opacity = 0.35 + 0.65 * b.n / largest
        parts.append(
            f"<g><title>probability {b.low:.1f}-{b.high:.1f}: right {b.accuracy:.0%} of {b.n}</title>"
            f'<rect x="{x + 1.5:.1f}" y="{y:.1f}" width="{width - 3:.1f}" height="{top + size - y:.1f}" '
            f'rx="2" fill="var(--accent)" fill-opacity="{opacity:.2f}"/>'
            f'<text class="value" x="{x + width / 2:.1f}" y="{y - 4:.1f}">{b.n}</text>'
            f'<circle cx="{left + size * b.probability:.1f}" cy="{y:.1f}" r="2.5" class="mark"/></g>'
        )
    parts.append(draw_title_below(left + size / 2, top + size + 34, "probability of its type"))
    parts.append(draw_title_beside(12, top + size / 2, "share routed rightly"))
    return draw_picture(left + size + 12, top + size + 42, parts, "Reliability of the router")


def draw_risk_coverage(report: RoutingReport) -> str:
    """Draw the share of wrong routes among the surest questions."""
    points = [(coverage, risk) for coverage, risk in report.risk_coverage]
    top_risk = max(0.1, *(risk for _, risk in points)) * 1.1
    return draw_lines(
        {SUBJECT: points},
        "Risk against coverage",
        x_title="share of questions, the surest first",
        y_title="routed wrongly",
        y_range=(0.0, top_risk),
        size=230,
    )
