"""Draws the report's plots as SVG, with no library and no script, so that one file shows them anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.state import QUERY_TYPES

# The subject stands out, the baseline stands back; the rest are told apart by hue and by label.
COLOURS: dict[str, str] = {
    "standard": "var(--baseline)",
    "bm25": "#c4841d",
    "fusion": "#2f8fa8",
    "adaptive": "var(--accent)",
    "oracle": "#2f9e6b",
    "random": "#c2557a",
    "costliest": "#8c6d46",
}
OTHER_COLOURS = ("#7a8f3c", "#a0569b", "#4f7fc9", "#b5623a", "#5f8f80", "#8d7bb8", "#a99b2f")


@dataclass(frozen=True)
class Bar:
    """One figure with its interval."""

    series: str
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Point:
    """One arm between cost and quality."""

    series: str
    x: float
    y: float


def colour(series: str) -> str:
    """Return the colour of a series, the same in every plot."""
    return COLOURS.get(series) or OTHER_COLOURS[sum(series.encode()) % len(OTHER_COLOURS)]


def legend(series: Sequence[str]) -> str:
    """Return a row of swatches with names."""
    items = "".join(
        f'<span class="key"><i style="background:{colour(name)}"></i>{escape(name)}</span>' for name in series
    )
    return f'<div class="legend">{items}</div>'


def bars(groups: Mapping[str, Sequence[Bar]], title: str) -> str:
    """Draw grouped bars from 0 to 1, with 95 % intervals and the number of questions under each group."""
    per_bar, gap, left, top, height = 26, 34, 44, 14, 220
    width = left + sum(len(group) * per_bar + gap for group in groups.values()) + 6
    parts = [_horizontal_grid(left, width, top, height)]
    x = left + gap / 2
    for label, group in groups.items():
        start = x
        for bar in group:
            y = top + height * (1 - bar.value)
            low, high = (top + height * (1 - min(max(bound, 0), 1)) for bound in (bar.low, bar.high))
            middle = x + per_bar / 2
            parts.append(
                f"<g><title>{escape(f'{label}, {bar.series}: {bar.value:.3f}')} "
                f"[{bar.low:.3f}, {bar.high:.3f}], n={bar.n}</title>"
                f'<rect x="{x + 2:.1f}" y="{y:.1f}" width="{per_bar - 4}" '
                f'height="{top + height - y:.1f}" rx="2" '
                f'fill="{colour(bar.series)}"/>'
                f'<path class="whisker" d="M{middle:.1f} {low:.1f}V{high:.1f}'
                f'M{middle - 4:.1f} {low:.1f}h8M{middle - 4:.1f} {high:.1f}h8"/>'
                f'<text class="value" x="{middle:.1f}" '
                f'y="{min(high, y) - 4:.1f}">{_short(bar.value)}</text></g>'
            )
            x += per_bar
        centre = (start + x) / 2
        name, _, detail = label.partition(" | ")
        parts.append(f'<text class="label" x="{centre:.1f}" y="{top + height + 18}">{escape(name)}</text>')
        counts = sorted({bar.n for bar in group})
        under = (
            f"{detail + ', ' if detail else ''}n={'-'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))}"
        )
        parts.append(f'<text class="sub" x="{centre:.1f}" y="{top + height + 33}">{escape(under)}</text>')
        x += gap
    return _svg(width, top + height + 40, parts, title)


def pareto(points: Sequence[Point], title: str, x_title: str, y_title: str) -> str:
    """Draw quality against cost, joining the arms that no other beats on both."""
    left, top, width, height = 56, 16, 560, 300
    xs, ys = [p.x for p in points], [p.y for p in points]
    x_high = max(xs) * 1.12 or 1.0
    margin = max((max(ys) - min(ys)) * 0.2, 0.01)
    y_low, y_high = min(ys) - margin, max(ys) + margin

    def at(p: Point) -> tuple[float, float]:
        return left + width * p.x / x_high, top + height * (1 - (p.y - y_low) / (y_high - y_low))

    parts = []
    for step in _ticks(y_low, y_high):
        y = top + height * (1 - (step - y_low) / (y_high - y_low))
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{left + width}"/>')
        parts.append(f'<text class="tick end" x="{left - 6}" y="{y + 4:.1f}">{step:.2f}</text>')
    for step in _ticks(0, x_high):
        x = left + width * step / x_high
        parts.append(f'<path class="grid" d="M{x:.1f} {top}V{top + height}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{top + height + 16}">{step:g}</text>')
    frontier = pareto_frontier(points)
    line = "L".join("{:.1f} {:.1f}".format(*at(p)) for p in frontier)
    parts.append(f'<path class="frontier" d="M{line}"/>')
    places = {point.series: at(point) for point in points}
    taken = [_Box(x - 8, y - 8, x + 8, y + 8) for x, y in places.values()]
    for point in sorted(points, key=lambda p: p.series != "adaptive"):
        x, y = places[point.series]
        label = _place_label(x, y, len(point.series) * 7.0, taken, right=left + width + 10)
        parts.append(
            f"<g><title>{escape(point.series)}: {point.y:.3f} at {point.x:.1f}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{7 if point.series == "adaptive" else 5}" '
            f'fill="{colour(point.series)}" class="dot"/>'
            f'<text class="name" x="{label.x0:.1f}" y="{label.y1 - 3:.1f}">{escape(point.series)}</text></g>'
        )
    parts.append(
        f'<text class="axis" x="{left + width / 2}" y="{top + height + 36}">{escape(x_title)}</text>'
    )
    parts.append(
        f'<text class="axis" transform="translate(14 {top + height / 2}) '
        f'rotate(-90)">{escape(y_title)}</text>'
    )
    return _svg(left + width + 14, top + height + 44, parts, title)


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


def pareto_frontier(points: Sequence[Point]) -> list[Point]:
    """Return the points that are better than every cheaper one, from cheap to dear."""
    frontier: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.y)):
        if not frontier or point.y > frontier[-1].y:
            frontier.append(point)
    return frontier


def confusion(report: RoutingReport) -> str:
    """Draw the confusion matrix, each cell shaded by its share of the row."""
    cell, left, top = 84, 108, 46
    parts = [f'<text class="axis" x="{left + 2 * cell}" y="14">routed to</text>']
    for column, predicted in enumerate(QUERY_TYPES):
        x = left + column * cell + cell / 2
        parts.append(f'<text class="label" x="{x}" y="{top - 10}">{predicted}</text>')
    for row, label in enumerate(QUERY_TYPES):
        y = top + row * cell * 0.62
        total = sum(report.confusion[label].values())
        parts.append(f'<text class="label end" x="{left - 10}" y="{y + 24:.1f}">{label}</text>')
        parts.append(f'<text class="sub end" x="{left - 10}" y="{y + 39:.1f}">n={total}</text>')
        for column, predicted in enumerate(QUERY_TYPES):
            count = report.confusion[label][predicted]
            share = count / total if total else 0.0
            fill = "var(--good)" if label == predicted else "var(--bad)"
            x = left + column * cell
            parts.append(
                f"<g><title>{label} routed to {predicted}: {count} of {total}</title>"
                f'<rect x="{x + 1}" y="{y + 1:.1f}" width="{cell - 2}" height="{cell * 0.62 - 2:.1f}" rx="3" '
                f'fill="{fill}" fill-opacity="{0.06 + 0.8 * share:.2f}"/>'
                f'<text class="cell{" strong" if share > 0.55 else ""}" x="{x + cell / 2}" y="{y + 25:.1f}">'
                f"{count}</text>"
                f'<text class="share{" strong" if share > 0.55 else ""}" x="{x + cell / 2}" y="{y + 40:.1f}">'
                f"{f'{share:.0%}' if total else ''}</text></g>"
            )
    return _svg(left + 4 * cell + 6, top + 4 * cell * 0.62 + 8, parts, "Confusion matrix of the router")


def reliability(report: RoutingReport) -> str:
    """Draw how often the router is right for each probability it gives; on the diagonal it is honest."""
    left, top, size = 48, 14, 230
    parts = [_square_grid(left, top, size)]
    parts.append(f'<path class="diagonal" d="M{left} {top + size}L{left + size} {top}"/>')
    largest = max(b.n for b in report.bins)
    for b in report.bins:
        x, width = left + size * b.low, size * (b.high - b.low)
        y = top + size * (1 - b.accuracy)
        opacity = 0.35 + 0.65 * b.n / largest
        parts.append(
            f"<g><title>probability {b.low:.1f}-{b.high:.1f}: right {b.accuracy:.0%} of {b.n}</title>"
            f'<rect x="{x + 1.5:.1f}" y="{y:.1f}" width="{width - 3:.1f}" height="{top + size - y:.1f}" '
            'rx="2" '
            f'fill="var(--accent)" fill-opacity="{opacity:.2f}"/>'
            f'<text class="value" x="{x + width / 2:.1f}" y="{y - 4:.1f}">{b.n}</text>'
            f'<circle cx="{left + size * b.probability:.1f}" cy="{y:.1f}" r="2.5" class="mark"/></g>'
        )
    parts.append(
        f'<text class="axis" x="{left + size / 2}" y="{top + size + 34}">probability of its type</text>'
    )
    parts.append(
        f'<text class="axis" transform="translate(12 {top + size / 2}) rotate(-90)">share routed '
        "rightly</text>"
    )
    return _svg(left + size + 12, top + size + 42, parts, "Reliability of the router")


def risk_coverage(report: RoutingReport) -> str:
    """Draw the share of wrong routes among the surest questions."""
    points = [(coverage, risk) for coverage, risk in report.risk_coverage]
    top_risk = max(0.1, *(risk for _, risk in points)) * 1.1
    return lines(
        {"adaptive": points},
        "Risk against coverage",
        x_title="share of questions, the surest first",
        y_title="routed wrongly",
        y_range=(0.0, top_risk),
        size=230,
    )


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    *,
    x_title: str,
    y_title: str,
    y_range: tuple[float, float] | None = None,
    size: int = 300,
    mark_best: bool = False,
) -> str:
    """Draw one line a series over x from 0 to 1; `mark_best` rings each line's highest point."""
    left, top, width = 54, 14, int(size * 2.1) if mark_best else size
    values = [y for points in series.values() for _, y in points]
    spread = max(max(values) - min(values), 0.02)
    low, high = y_range or (min(values) - 0.08 * spread, max(values) + 0.08 * spread)

    def at(x: float, y: float) -> tuple[float, float]:
        return left + width * x, top + size * (1 - (y - low) / (high - low))

    parts = []
    for step in _ticks(low, high):
        y = at(0, step)[1]
        parts.append(f'<path class="grid" d="M{left} {y:.1f}h{width}"/>')
        parts.append(f'<text class="tick end" x="{left - 6}" y="{y + 4:.1f}">{step:.2f}</text>')
    for step in (0, 0.25, 0.5, 0.75, 1):
        x = at(step, low)[0]
        parts.append(f'<text class="tick" x="{x:.1f}" y="{top + size + 16}">{step:g}</text>')
    ends: list[float] = []
    for name, points in series.items():
        path = "L".join("{:.1f} {:.1f}".format(*at(x, y)) for x, y in points)
        parts.append(f'<path class="line" style="stroke:{colour(name)}" d="M{path}"/>')
        if mark_best:
            best = max(points, key=lambda p: p[1])
            x, y = at(*best)
            parts.append(
                f"<g><title>{escape(name)}: best {best[1]:.3f} at {best[0]:g}</title>"
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="best" style="stroke:{colour(name)}"/></g>'
            )
            end = at(*points[-1])[1]
            while any(abs(end - other) < 12 for other in ends):
                end += 12
            ends.append(end)
            parts.append(
                f'<text class="name" style="fill:{colour(name)}" x="{left + width + 8}" y="{end + 4:.1f}">'
                f"{escape(name)}</text>"
            )
    parts.append(f'<text class="axis" x="{left + width / 2}" y="{top + size + 34}">{escape(x_title)}</text>')
    parts.append(
        f'<text class="axis" transform="translate(12 {top + size / 2}) rotate(-90)">{escape(y_title)}</text>'
    )
    right = 210 if mark_best else 12
    return _svg(left + width + right, max(top + size + 42, (max(ends) + 12) if ends else 0), parts, title)


def stacked(rows: Mapping[str, Mapping[str, float]], title: str, unit: str) -> str:
    """Draw one horizontal bar a row, made of its parts."""
    left, width, row_height = 130, 520, 28
    most = max((sum(parts.values()) for parts in rows.values()), default=0) or 1.0
    names = list(dict.fromkeys(name for parts in rows.values() for name in parts))
    shade = {name: f"hsl({(i * 47 + 230) % 360} 42% 58%)" for i, name in enumerate(names)}
    drawn = []
    for number, (row, parts) in enumerate(rows.items()):
        y, x = 6 + number * row_height, float(left)
        drawn.append(f'<text class="label end" x="{left - 10}" y="{y + 15}">{escape(row)}</text>')
        for name, value in parts.items():
            length = width * value / most
            drawn.append(
                f"<g><title>{escape(name)}: {value:.1f} {unit}</title>"
                f'<rect x="{x:.1f}" y="{y}" width="{max(length - 1, 0.3):.1f}" height="20" '
                f'fill="{shade[name]}"/></g>'
            )
            x += length
        total = sum(parts.values())
        drawn.append(f'<text class="name" x="{x + 6:.1f}" y="{y + 15}">{total:.0f} {unit}</text>')
    swatches = "".join(
        f'<span class="key"><i style="background:{shade[name]}"></i>{escape(name)}</span>' for name in names
    )
    svg = _svg(left + width + 80, 12 + len(rows) * row_height, drawn, title)
    return f'{svg}<div class="legend">{swatches}</div>'


def interval(mean: float, low: float, high: float, reach: float) -> str:
    """Draw a difference with its interval around zero, small enough for a table cell."""
    width, middle = 90, 45

    def at(value: float) -> float:
        return middle + (width / 2 - 4) * max(-1.0, min(1.0, value / reach))

    tone = "good" if low > 0 else "bad" if high < 0 else "flat"
    parts = [
        f'<path class="zero" d="M{middle} 2V16"/>',
        f'<path class="span {tone}" d="M{at(low):.1f} 9H{at(high):.1f}"/>',
        f'<circle class="{tone}" cx="{at(mean):.1f}" cy="9" r="3.5"/>',
    ]
    return _svg(width, 18, parts, f"{mean:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}", css="interval")


def _svg(width: float, height: float, parts: Sequence[str], title: str, css: str = "plot") -> str:
    return (
        f'<svg class="{css}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" '
        f'role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def _horizontal_grid(left: float, right: float, top: float, height: float) -> str:
    drawn = []
    for step in (0, 0.25, 0.5, 0.75, 1):
        y = top + height * (1 - step)
        drawn.append(f'<path class="grid" d="M{left} {y:.1f}H{right}"/>')
        drawn.append(f'<text class="tick end" x="{left - 6}" y="{y + 4:.1f}">{step:g}</text>')
    return "".join(drawn)


def _square_grid(left: float, top: float, size: float) -> str:
    drawn = [_horizontal_grid(left, left + size, top, size)]
    for step in (0, 0.25, 0.5, 0.75, 1):
        drawn.append(f'<text class="tick" x="{left + size * step:.1f}" y="{top + size + 16}">{step:g}</text>')
    return "".join(drawn)


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between two bounds."""
    rough = (high - low) / 5
    magnitude = 10.0 ** len(str(int(rough))) / 10 if rough >= 1 else 1.0
    while magnitude > rough:
        magnitude /= 10
    step = next(magnitude * factor for factor in (1, 2, 5, 10) if magnitude * factor >= rough)
    first = -(-low // step) * step
    count = int((high - first) / step) + 1
    return [round(first + i * step, 6) for i in range(count)]


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1"
