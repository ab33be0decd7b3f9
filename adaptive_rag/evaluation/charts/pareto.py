"""Draws the arms between cost and quality, and finds those that no other beats on both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from adaptive_rag.evaluation.arms import SUBJECT
from adaptive_rag.evaluation.charts.svg import (
    colour,
    draw_grid_line,
    draw_picture,
    draw_tick_below,
    draw_title_below,
    draw_title_beside,
    ticks,
)


@dataclass(frozen=True)
class Point:
    """One arm between cost and quality."""

    series: str
    x: float
    y: float


def draw_pareto(points: Sequence[Point], title: str, x_title: str, y_title: str) -> str:
    """Draw quality against cost, joining the arms that no other beats on both."""
    left, top, width, height = 56, 16, 560, 300
    xs, ys = [p.x for p in points], [p.y for p in points]
    x_high = max(xs) * 1.12 or 1.0
    margin = max((max(ys) - min(ys)) * 0.2, 0.01)
    y_low, y_high = min(ys) - margin, max(ys) + margin

    def at(p: Point) -> tuple[float, float]:
        return left + width * p.x / x_high, top + height * (1 - (p.y - y_low) / (y_high - y_low))

    parts = []
    for step in ticks(y_low, y_high):
        y = top + height * (1 - (step - y_low) / (y_high - y_low))
        parts.append(draw_grid_line(left, left + width, y, f"{step:.2f}"))
    for step in ticks(0, x_high):
        x = left + width * step / x_high
        parts.append(f'<path class="grid" d="M{x:.1f} {top}V{top + height}"/>')
        parts.append(draw_tick_below(x, top + height, step))
    frontier = pareto_frontier(points)
    line = "L".join("{:.1f} {:.1f}".format(*at(p)) for p in frontier)
    parts.append(f'<path class="frontier" d="M{line}"/>')
    places = {point.series: at(point) for point in points}
    taken = [_Box(x - 8, y - 8, x + 8, y + 8) for x, y in places.values()]
    for point in sorted(points, key=lambda p: p.series != SUBJECT):
        x, y = places[point.series]
        label = _place_label(x, y, len(point.series) * 7.0, taken, right=left + width + 10)
        parts.append(
            f"<g><title>{escape(point.series)}: {point.y:.3f} at {point.x:.1f}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{7 if point.series == SUBJECT else 5}" '
            f'fill="{colour(point.series)}" class="dot"/>'
            f'<text class="name" x="{label.x0:.1f}" y="{label.y1 - 3:.1f}">{escape(point.series)}</text></g>'
        )
    parts.append(draw_title_below(left + width / 2, top + height + 36, x_title))
    parts.append(draw_title_beside(14, top + height / 2, y_title))
    return draw_picture(left + width + 14, top + height + 44, parts, title)


def pareto_frontier(points: Sequence[Point]) -> list[Point]:
    """Return the points that are better than every cheaper one, from cheap to dear."""
    frontier: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.y)):
        if not frontier or point.y > frontier[-1].y:
            frontier.append(point)
    return frontier


@dataclass(frozen=True)
class _Box:
    x0: float
    y0: float
    x1: float
    y1: float

    def meets(self, other: _Box) -> bool:
        return self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1


def _place_label(x: float, y: float, length: float, taken: list[_Box], right: float) -> _Box:
    """Find room for a label beside its dot, and keep it free of later ones."""
    offsets = [(10, 0), (-length - 10, 0), (-length / 2, -17), (-length / 2, 17)]
    offsets += [(10, dy) for dy in (-14, 14, -28, 28, -42, 42)]
    boxes = [_Box(x + dx, y + dy - 7, x + dx + length, y + dy + 7) for dx, dy in offsets]
    free = [box for box in boxes if box.x1 <= right and not any(box.meets(other) for other in taken)]
    box = free[0] if free else boxes[0]
    taken.append(box)
    return box
