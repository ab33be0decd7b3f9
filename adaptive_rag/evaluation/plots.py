"""Draws a run's figures with matplotlib, for notebooks, and as SVG for the page."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

from adaptive_rag.errors import import_extra
from adaptive_rag.evaluation.arms import ARM_NAMES
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import ALL, Row
from adaptive_rag.evaluation.wording import label_of
from adaptive_rag.state import QUERY_TYPES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours with a meaning. On the page each is the CSS variable of its name, which has a light and a dark value.
INK, SOFT, RULE, CARD = "#1d1f24", "#5d626c", "#e4e2dd", "#fefefe"
ACCENT, MUTED, GOOD, BAD = "#4b3fc4", "#9aa0aa", "#1f8a5b", "#c0453a"
CSS_NAMES = {
    **{INK: "ink", SOFT: "soft", RULE: "rule", CARD: "card"},
    **{ACCENT: "accent", MUTED: "muted", GOOD: "good", BAD: "bad"},
}
# The subject stands out, the baseline stands back; the rest are told apart by hue, on light and on dark.
COLOURS = {
    **{"standard": MUTED, "bm25": "#c4841d", "fusion": "#2f8fa8", "adaptive": ACCENT},
    **{"oracle": "#2f9e6b", "random": "#c2557a", "costliest": "#8c6d46"},
}
HUES = ("#7a8f3c", "#a0569b", "#4f7fc9", "#b5623a", "#5f8f80", "#8d7bb8", "#a99b2f", "#2f8fa8", "#c2557a")
STYLE = {
    **{"font.family": "DejaVu Sans", "font.size": 9, "text.color": INK, "text.parse_math": False},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": RULE, "axes.axisbelow": True},
    **{"axes.grid": True, "axes.grid.axis": "y", "grid.color": RULE, "axes.labelcolor": SOFT},
    **{"xtick.color": SOFT, "ytick.color": SOFT, "xtick.major.size": 0, "ytick.major.size": 0},
}
# The same figure gives the same file, and its text stays text.
SVG = {"svg.fonttype": "none", "svg.hashsalt": "adaptive-rag"}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
# A tip is shown while the pointer rests on a shape; it travels as the shape's id.
TIP = "tip: "
BAR, GAP, LETTER = 0.27, 0.35, 0.075  # inches

Arguments = ParamSpec("Arguments")


class Bar(NamedTuple):
    """One figure with its interval."""

    series: str
    value: float
    low: float
    high: float
    n: int


def drawn_in_style(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Run a drawing function under our style; without matplotlib, name the extra that brings it."""

    @functools.wraps(draw)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        matplotlib = import_extra("matplotlib", extra="eval", purpose="Drawing plots")
        with matplotlib.rc_context(STYLE):
            return draw(*args, **kwargs)

    return styled


def as_svg(figure: Figure, title: str) -> str:
    """Return a figure as SVG that stands in a page: in the page's colours, its ids its own.

    `title` is read to those who do not see the figure.
    """
    matplotlib = import_extra("matplotlib", extra="eval", purpose="Drawing plots")
    markupsafe = import_extra("markupsafe", extra="eval", purpose="Writing the report")
    file = io.StringIO()
    with matplotlib.rc_context(SVG):
        figure.savefig(
            file, format="svg", transparent=True, bbox_inches="tight", pad_inches=0.05, metadata=NO_METADATA
        )
    svg = file.getvalue()
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    body = re.sub(rf'<g id="{TIP}([^"]*)"', r"<g><title>\1</title", body)
    prefix = re.sub(r"\W+", "-", title.lower())
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{prefix}-", body).replace("xlink:href", "href")
    for colour, name in CSS_NAMES.items():
        body = body.replace(colour, f"var(--{name})")
    return (
        f'<svg class="plot" viewBox="0 0 {width} {height}" style="max-width: {float(width) * 4 / 3:.0f}px" '
        f'role="img" aria-label="{markupsafe.escape(title)}">{body}'
    )


def colour_of(series: str) -> str:
    """Return the colour of an arm, the same in every plot."""
    place = list(ARM_NAMES).index(series) if series in ARM_NAMES else sum(series.encode())  # type: ignore[arg-type]
    return COLOURS.get(series) or HUES[place % len(HUES)]


def plot_by_type(rows: Sequence[Row], metric: str) -> Figure:
    """Draw an arm's metric for each question type as bars with 95 % intervals.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    kinds = dict.fromkeys(row["type"] for row in rows)
    groups = {label_of(kind): bars_of([row for row in rows if row["type"] == kind], metric) for kind in kinds}
    return plot_bars({label: bars for label, bars in groups.items() if bars}, metric, legend=True)


def bars_of(rows: Sequence[Row], metric: str) -> list[Bar]:
    """Return the bars of the rows that have a metric."""
    return [
        Bar(row["arm"], row["metrics"][metric], *row["intervals"][metric], n=row["counts"][metric])
        for row in rows
        if metric in row["intervals"]
    ]


@drawn_in_style
def plot_bars(groups: Mapping[str, Sequence[Bar]], metric: str, *, legend: bool = False) -> Figure:
    """Draw groups of bars from 0 to 1 with 95 % intervals, and the number of questions under each group."""
    labels = {name: f"{name}\nn={_span([bar.n for bar in bars])}" for name, bars in groups.items()}
    widths = {
        name: GAP + max(BAR * len(bars), LETTER * max(map(len, labels[name].split("\n"))))
        for name, bars in groups.items()
    }
    figure, axes = _new_figure(sum(widths.values()), 2.7)
    left, centres, drawn = 0.0, [], {}
    for name, bars in groups.items():
        centres.append(left + widths[name] / 2)
        for number, bar in enumerate(bars):
            x = centres[-1] + BAR * (number - (len(bars) - 1) / 2)
            [patch] = axes.bar(x, bar.value, BAR * 0.88, color=colour_of(bar.series))
            tip = f"{name}, {bar.series}: {bar.value:.3f} [{bar.low:.3f}, {bar.high:.3f}], n={bar.n}"
            patch.set_gid(TIP + tip.replace("\n", ", "))
            reach = [[max(bar.value - bar.low, 0)], [max(bar.high - bar.value, 0)]]
            axes.errorbar(
                x, bar.value, yerr=reach, fmt="none", ecolor=INK, elinewidth=1, capsize=2.5, alpha=0.6
            )
            axes.text(x, max(bar.high, bar.value) + 0.015, _short(bar.value), ha="center", color=SOFT, size=7)
            drawn[bar.series] = patch
        left += widths[name]
    axes.set(xlim=(0, left), ylim=(0, 1.08), ylabel=metric, yticks=[0, 0.25, 0.5, 0.75, 1])
    axes.set_xticks(centres, list(labels.values()), color=INK)
    if legend:
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        axes.legend(drawn.values(), drawn, frameon=False, ncols=len(drawn), fontsize=8, **place)
    return figure


def plot_alpha(sweep: Mapping[str, Mapping[str, float]], metric: str) -> Figure:
    """Draw a metric of plain fusion over alpha, a line for each question type; a ring marks its best alpha.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    lines = {
        label_of(kind): [(float(alpha), value) for alpha, value in values.items()]
        for kind, values in sweep.items()
    }
    x_title = "alpha: 0 = words only (BM25), 1 = meaning only (vectors)"
    return plot_lines(lines, x_title, f"{metric} of plain fusion", mark_best=True)


@drawn_in_style
def plot_lines(
    lines: Mapping[str, Sequence[tuple[float, float]]], x_title: str, y_title: str, *, mark_best: bool = False
) -> Figure:
    """Draw lines over a share from 0 to 1; `mark_best` names each line and rings its highest point."""
    figure, axes = _new_figure(5.2 if mark_best else 2.8, 3.2 if mark_best else 2.4)
    ends = {}
    for number, (name, points) in enumerate(lines.items()):
        colour = ACCENT if len(lines) == 1 else INK if name == label_of(ALL) else HUES[number % len(HUES)]
        xs, ys = zip(*points, strict=True)
        dashes = "-" if number < len(HUES) else "--"
        axes.plot(xs, ys, dashes, linewidth=2.4 if name == label_of(ALL) else 1.6, color=colour)
        if mark_best:
            x, y = max(points, key=lambda point: point[1])
            [ring] = axes.plot(x, y, "o", markersize=7, markerfacecolor=CARD, markeredgewidth=2, color=colour)
            ring.set_gid(f"{TIP}{name}: best {y:.3f} at {x:g}")
            ends[name] = (xs[-1], ys[-1], colour)
    axes.set(xlim=(0, 1), xlabel=x_title, ylabel=y_title)
    if not mark_best:
        axes.set_ylim(0, max(0.1, *(y for points in lines.values() for _, y in points)) * 1.1)
    _name_at_the_right(axes, ends)
    return figure


@drawn_in_style
def plot_cost(rows: Sequence[Row], metric: str) -> Figure:
    """Draw every arm between its cost and its quality, over all questions.

    The cost is chat calls where any were made, else milliseconds. A dashed line joins the arms that no
    cheaper arm beats.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows = [row for row in rows if row["type"] == ALL and metric in row["metrics"]]
    by_calls = any(row["cost"]["model_calls"] for row in rows)
    cost, title = ("model_calls", "chat calls") if by_calls else ("ms", "milliseconds")
    points = {row["arm"]: (row["cost"][cost], row["metrics"][metric]) for row in rows}
    figure, axes = _new_figure(5.0, max(3.0, 0.9 + 0.19 * len(points)))
    frontier = pareto_frontier(points)
    axes.plot(*zip(*(points[arm] for arm in frontier), strict=True), "--", color=MUTED, linewidth=1.2)
    for arm, (x, y) in points.items():
        size = 9 if arm == "adaptive" else 6.5
        [dot] = axes.plot(x, y, "o", markersize=size, color=colour_of(arm), markeredgecolor=CARD, zorder=3)
        dot.set_gid(f"{TIP}{arm}: {y:.3f} at {x:.1f}")
    axes.set(xlabel=f"{title} per question", ylabel=metric)
    axes.margins(x=0.06, y=0.08)
    axes.set_xlim(left=0)
    axes.grid(axis="x")
    _name_at_the_right(axes, {arm: (*point, colour_of(arm)) for arm, point in points.items()})
    return figure


def pareto_frontier(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the names of points (cost, quality) that are better than every cheaper one, from cheap to dear."""
    frontier: list[str] = []
    for name in sorted(points, key=lambda name: (points[name][0], -points[name][1])):
        if not frontier or points[name][1] > points[frontier[-1]][1]:
            frontier.append(name)
    return frontier


@drawn_in_style
def plot_steps(times: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the milliseconds of each arm as a bar made of its steps."""
    steps = list(dict.fromkeys(step for parts in times.values() for step in parts))
    figure, axes = _new_figure(4.6, 0.8 + 0.3 * len(times))
    handles = {}
    for row, (arm, parts) in enumerate(times.items()):
        left = 0.0
        for step, ms in parts.items():
            [patch] = axes.barh(row, ms, 0.7, left=left, color=HUES[steps.index(step) % len(HUES)])
            patch.set_gid(f"{TIP}{arm}, {step}: {ms:.1f} ms")
            handles.setdefault(step, patch)
            left += ms
        axes.text(left, row, f" {left:.0f} ms", va="center", size=8)
    axes.set_yticks(range(len(times)), list(times), color=INK)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    place = {"loc": "upper center", "bbox_to_anchor": (0.4, 0.0)}
    axes.legend(handles.values(), handles, ncols=4, frameon=False, fontsize=8, **place)
    return figure


@drawn_in_style
def plot_confusion(report: RoutingReport) -> Figure:
    """Draw the confusion matrix, each cell shaded by its share of the row."""
    from matplotlib.patches import Rectangle

    figure, axes = _new_figure(4.3, 2.7)
    totals = {label: sum(report.confusion[label].values()) for label in QUERY_TYPES}
    for row, label in enumerate(QUERY_TYPES):
        for column, predicted in enumerate(QUERY_TYPES):
            count = report.confusion[label][predicted]
            share = count / totals[label] if totals[label] else 0.0
            shade = GOOD if label == predicted else BAD
            cell = Rectangle(
                (column + 0.02, row + 0.03), 0.96, 0.94, facecolor=shade, alpha=0.06 + 0.8 * share
            )
            cell.set_gid(f"{TIP}{label} routed to {predicted}: {count} of {totals[label]}")
            axes.add_patch(cell)
            ink = "white" if share > 0.55 else INK
            axes.text(column + 0.5, row + 0.42, str(count), ha="center", va="center", size=11, color=ink)
            if totals[label]:
                axes.text(
                    column + 0.5, row + 0.76, f"{share:.0%}", ha="center", va="center", size=8, color=ink
                )
    places = [place + 0.5 for place in range(len(QUERY_TYPES))]
    axes.set(xlim=(0, len(QUERY_TYPES)), ylim=(len(QUERY_TYPES), 0), xlabel="routed to")
    axes.set_xticks(places, list(QUERY_TYPES), color=INK)
    axes.set_yticks(places, [f"{label}\nn={totals[label]}" for label in QUERY_TYPES], color=INK)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return figure


@drawn_in_style
def plot_reliability(report: RoutingReport) -> Figure:
    """Draw how often the router is right for each probability it gives; on the diagonal it is honest."""
    figure, axes = _new_figure(2.8, 2.4)
    largest = max(b.n for b in report.bins)
    for b in report.bins:
        middle, alpha = (b.low + b.high) / 2, 0.35 + 0.65 * b.n / largest
        [patch] = axes.bar(middle, b.accuracy, 0.09, color=ACCENT, alpha=alpha)
        patch.set_gid(f"{TIP}probability {b.low:.1f}-{b.high:.1f}: right {b.accuracy:.0%} of {b.n}")
        axes.text(middle, b.accuracy + 0.02, str(b.n), ha="center", size=7, color=SOFT)
        axes.plot(b.probability, b.accuracy, "o", markersize=3.5, color=INK)
    axes.plot([0, 1], [0, 1], "--", color=MUTED, linewidth=1)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set(xlim=(0, 1), ylim=(0, 1.08), xticks=ticks, yticks=ticks)
    axes.set(xlabel="probability of its type", ylabel="share routed rightly")
    return figure


def plot_risk_coverage(report: RoutingReport) -> Figure:
    """Draw the share of wrong routes among the surest questions."""
    curve = {"risk": report.risk_coverage}
    return plot_lines(curve, "share of questions, the surest first", "routed wrongly")


def _new_figure(width: float, height: float) -> tuple[Figure, Any]:
    """Return a figure whose axes have this size in inches; what stands around them makes it larger."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width + 1.1, height + 0.9), layout="constrained")
    return figure, figure.subplots()


def _name_at_the_right(axes: Any, points: Mapping[str, tuple[float, float, str]]) -> None:
    """Write a name for each point (x, y, colour) in a column at the right, joined by a thin line."""
    low, high = axes.get_ylim()
    names = sorted(points, key=lambda name: points[name][1])
    gap = (high - low) / max(len(names), 17)
    heights: list[float] = []
    for name in names:
        heights.append(max([points[name][1], *(height + gap for height in heights[-1:])]))
    top = high
    for place in reversed(range(len(heights))):
        heights[place] = min(heights[place], top)
        top = heights[place] - gap
    for name, height in zip(names, heights, strict=True):
        x, y, colour = points[name]
        axes.annotate(
            name,
            (x, y),
            (1.03, height),
            textcoords=axes.get_yaxis_transform(),
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.5},
            color=colour,
            va="center",
            fontsize=8,
        )


def _span(counts: Sequence[int]) -> str:
    return "-".join(str(bound) for bound in dict.fromkeys((min(counts), max(counts))))


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1"
