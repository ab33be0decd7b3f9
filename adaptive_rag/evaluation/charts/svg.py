"""What every chart is drawn with: the picture itself, the colours of series, grids, ticks and titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

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
QUARTERS = (0, 0.25, 0.5, 0.75, 1)


def colour(series: str) -> str:
    """Return the colour of a series, the same in every plot."""
    return COLOURS.get(series) or OTHER_COLOURS[sum(series.encode()) % len(OTHER_COLOURS)]


def legend(colours: Mapping[str, str]) -> str:
    """Return a row of swatches with names."""
    items = "".join(
        f'<span class="key"><i style="background:{shade}"></i>{escape(name)}</span>'
        for name, shade in colours.items()
    )
    return f'<div class="legend">{items}</div>'


def draw_picture(width: float, height: float, parts: Sequence[str], title: str, css: str = "plot") -> str:
    """Return the parts as one picture; the title is read to those who do not see it."""
    return (
        f'<svg class="{css}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def draw_unit_grid(left: float, right: float, top: float, height: float) -> str:
    """Draw the grid of an axis from 0 to 1."""
    return "".join(draw_grid_line(left, right, top + height * (1 - step), f"{step:g}") for step in QUARTERS)


def draw_grid_line(left: float, right: float, y: float, label: str) -> str:
    """Draw a line across the plot with its figure before it."""
    return (
        f'<path class="grid" d="M{left} {y:.1f}H{right}"/>'
        f'<text class="tick end" x="{left - 6}" y="{y + 4:.1f}">{label}</text>'
    )


def draw_tick_below(x: float, bottom: float, value: float) -> str:
    """Write a figure of the x axis under the plot."""
    return f'<text class="tick" x="{x:.1f}" y="{bottom + 16}">{value:g}</text>'


def draw_title_below(x: float, y: float, title: str) -> str:
    """Write what the x axis shows."""
    return f'<text class="axis" x="{x}" y="{y}">{escape(title)}</text>'


def draw_title_beside(x: float, y: float, title: str) -> str:
    """Write what the y axis shows, upwards."""
    return f'<text class="axis" transform="translate({x} {y}) rotate(-90)">{escape(title)}</text>'


def ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between two bounds."""
    rough = (high - low) / 5
    magnitude = 10.0 ** len(str(int(rough))) / 10 if rough >= 1 else 1.0
    while magnitude > rough:
        magnitude /= 10
    step = next(magnitude * factor for factor in (1, 2, 5, 10) if magnitude * factor >= rough)
    first = -(-low // step) * step
    count = int((high - first) / step) + 1
    return [round(first + i * step, 6) for i in range(count)]
