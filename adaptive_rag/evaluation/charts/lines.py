"""Draws lines over a share from 0 to 1, such as alpha or coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from adaptive_rag.evaluation.charts.svg import (
    QUARTERS,
    colour,
    draw_grid_line,
    draw_picture,
    draw_tick_below,
    draw_title_below,
    draw_title_beside,
    ticks,
)


def draw_lines(
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

    parts = [draw_grid_line(left, left + width, at(0, step)[1], f"{step:.2f}") for step in ticks(low, high)]
    parts += [draw_tick_below(at(step, low)[0], top + size, step) for step in QUARTERS]
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
    parts.append(draw_title_below(left + width / 2, top + size + 34, x_title))
    parts.append(draw_title_beside(12, top + size / 2, y_title))
    right = 210 if mark_best else 12
    height = max([top + size + 42, *(end + 12 for end in ends)])
    return draw_picture(left + width + right, height, parts, title)
