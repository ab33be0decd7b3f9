"""Draws a paired difference with its interval, small enough for a table cell."""

from __future__ import annotations

from adaptive_rag.evaluation.charts.svg import draw_picture


def draw_interval(mean: float, low: float, high: float, reach: float) -> str:
    """Draw a difference with its interval around zero, cut off at `reach`."""
    width, middle = 90, 45

    def at(value: float) -> float:
        return middle + (width / 2 - 4) * max(-1.0, min(1.0, value / reach))

    css = tone(low, high)
    parts = [
        f'<path class="zero" d="M{middle} 2V16"/>',
        f'<path class="span {css}" d="M{at(low):.1f} 9H{at(high):.1f}"/>',
        f'<circle class="{css}" cx="{at(mean):.1f}" cy="9" r="3.5"/>',
    ]
    return draw_picture(
        width, 18, parts, f"{mean:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}", css="interval"
    )


def tone(low: float, high: float) -> str:
    """Return how an interval is marked: "good" or "bad" where it leaves out zero, else "flat"."""
    return "good" if low > 0 else "bad" if high < 0 else "flat"
