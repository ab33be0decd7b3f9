"""Draws bars: figures with intervals side by side, and totals made of their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from adaptive_rag.evaluation.charts.svg import colour, draw_picture, draw_unit_grid, legend

# Where grouped bars stand, in pixels.
LEFT, TOP, HEIGHT, BAR_WIDTH, GAP = 44, 14, 220, 26, 34
BOTTOM = TOP + HEIGHT


@dataclass(frozen=True)
class Bar:
    """One figure with its interval."""

    series: str
    value: float
    low: float
    high: float
    n: int


def draw_bars(groups: Mapping[str, Sequence[Bar]], title: str) -> str:
    """Draw grouped bars from 0 to 1, with 95 % intervals and the number of questions under each group.

    A group is called "name", or "name | detail", where the detail goes with the number.
    """
    width = LEFT + sum(len(group) * BAR_WIDTH + GAP for group in groups.values()) + 6
    parts = [draw_unit_grid(LEFT, width, TOP, HEIGHT)]
    x = LEFT + GAP / 2
    for label, group in groups.items():
        end = x + len(group) * BAR_WIDTH
        parts += [_bar(bar, label, x + number * BAR_WIDTH) for number, bar in enumerate(group)]
        parts.append(_group_label(label, group, (x + end) / 2))
        x = end + GAP
    return draw_picture(width, BOTTOM + 40, parts, title)


def _bar(bar: Bar, label: str, x: float) -> str:
    y = TOP + HEIGHT * (1 - bar.value)
    low, high = (TOP + HEIGHT * (1 - min(max(bound, 0), 1)) for bound in (bar.low, bar.high))
    middle = x + BAR_WIDTH / 2
    return (
        f"<g><title>{escape(f'{label}, {bar.series}: {bar.value:.3f}')} "
        f"[{bar.low:.3f}, {bar.high:.3f}], n={bar.n}</title>"
        f'<rect x="{x + 2:.1f}" y="{y:.1f}" width="{BAR_WIDTH - 4}" height="{BOTTOM - y:.1f}" rx="2" '
        f'fill="{colour(bar.series)}"/>'
        f'<path class="whisker" d="M{middle:.1f} {low:.1f}V{high:.1f}'
        f'M{middle - 4:.1f} {low:.1f}h8M{middle - 4:.1f} {high:.1f}h8"/>'
        f'<text class="value" x="{middle:.1f}" y="{min(high, y) - 4:.1f}">{_short(bar.value)}</text></g>'
    )


def _group_label(label: str, group: Sequence[Bar], centre: float) -> str:
    name, _, detail = label.partition(" | ")
    counts = {bar.n for bar in group}
    n = "-".join(str(bound) for bound in dict.fromkeys((min(counts), max(counts))))
    under = f"{detail + ', ' if detail else ''}n={n}"
    return (
        f'<text class="label" x="{centre:.1f}" y="{BOTTOM + 18}">{escape(name)}</text>'
        f'<text class="sub" x="{centre:.1f}" y="{BOTTOM + 33}">{escape(under)}</text>'
    )


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1"


def draw_stacked(rows: Mapping[str, Mapping[str, float]], title: str, unit: str) -> str:
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
    picture = draw_picture(left + width + 80, 12 + len(rows) * row_height, drawn, title)
    return picture + legend(shade)
