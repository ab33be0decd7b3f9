"""Draw a run's figures with matplotlib, for notebooks and, as SVG, for the report's page.

Every drawing function raises MissingExtraError if matplotlib is not installed.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from adaptive_rag.errors import import_extra
from adaptive_rag.evaluation.arms import ARMS, SUBJECT
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import ALL, SummaryRow, label_of
from adaptive_rag.state import ROUTED_TYPES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours with a meaning. On the page, each becomes a CSS variable with a light and a dark value.
INK, SOFT, RULE, CARD = "#1d1f24", "#5d626c", "#e4e2dd", "#fefefe"
ACCENT, MUTED, GOOD, BAD = "#4b3fc4", "#9aa0aa", "#1f8a5b", "#c0453a"
CSS_NAMES = {INK: "ink", SOFT: "soft", RULE: "rule", CARD: "card"}
CSS_NAMES |= {ACCENT: "accent", MUTED: "muted", GOOD: "good", BAD: "bad"}
# The subject stands out, the baseline is muted, and the others differ in hue, on light and on dark pages.
COLOURS = {"standard": MUTED, "bm25": "#c4841d", "fusion": "#2f8fa8", "adaptive": ACCENT}
COLOURS |= {"oracle": "#2f9e6b", "random": "#c2557a", "costliest": "#8c6d46"}
HUES = ("#7a8f3c", "#a0569b", "#4f7fc9", "#b5623a", "#5f8f80", "#8d7bb8", "#a99b2f")
# Enough hues for the steps of a graph.
MORE_HUES = (*HUES, "#2f8fa8", "#c2557a", "#c4841d", "#2f9e6b", "#8c6d46")

STYLE = Path(__file__).with_name("plots.mplstyle")
# With these settings the same figure gives the same file, and its text stays text.
SVG = {"svg.fonttype": "none", "svg.hashsalt": "adaptive-rag"}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
# A shape whose id begins with this shows the rest of the id while the pointer rests on it.
TIP = "tip: "
BAR_WIDTH, GROUP_GAP, LETTER_WIDTH = 0.27, 0.35, 0.075  # inches
QUARTERS = (0, 0.25, 0.5, 0.75, 1)

Arguments = ParamSpec("Arguments")
Point = tuple[float, float]


def drawn_in_style(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Wrap a drawing function so that it uses the style of this package."""

    @functools.wraps(draw)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        matplotlib = import_extra("matplotlib", extra="eval", purpose="Drawing plots")
        with matplotlib.rc_context(fname=STYLE):
            return draw(*args, **kwargs)

    return styled


def as_svg(figure: Figure, title: str) -> Any:
    """Return a figure as SVG markup for a page, with the page's colours and with ids that are unique in it.

    `title` describes the figure to people who cannot see it.
    """
    matplotlib = import_extra("matplotlib", extra="eval", purpose="Drawing plots")
    markupsafe = import_extra("markupsafe", extra="eval", purpose="Writing the report")
    file = io.StringIO()
    with matplotlib.rc_context(SVG):
        figure.savefig(file, format="svg", transparent=True, bbox_inches="tight", metadata=NO_METADATA)
    svg = file.getvalue()
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    body = re.sub(rf'<g id="{TIP}([^"]*)"', r"<g><title>\1</title", body).replace("xlink:href", "href")
    id_prefix = re.sub(r"\W+", "-", title)
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{id_prefix}-", body)
    for colour, name in CSS_NAMES.items():
        body = body.replace(colour, f"var(--{name})")
    return markupsafe.Markup(
        f'<svg class="plot" viewBox="0 0 {width} {height}" '
        f'style="max-width: {float(width) * 4 / 3:.0f}px; min-width: {float(width):.0f}px" '
        f'role="img" aria-label="{markupsafe.escape(title)}">{body}'
    )


def colour_of(arm: str) -> str:
    """Return the colour of an arm, the same in every plot."""
    names: list[str] = list(ARMS)
    return COLOURS.get(arm) or HUES[(names.index(arm) if arm in names else len(arm)) % len(HUES)]


def plot_by_type(rows: Sequence[SummaryRow], metric: str) -> Figure:
    """Draw an arm's metric for each question type as bars with 95 % intervals."""
    groups: dict[str, list[SummaryRow]] = {}
    for row in rows:
        if metric in row["intervals"]:
            groups.setdefault(label_of(row["type"]), []).append(row)
    return plot_bars({label: (metric, group) for label, group in groups.items()}, metric, legend=True)


@drawn_in_style
def plot_bars(
    groups: Mapping[str, tuple[str, Sequence[SummaryRow]]], title: str, *, legend: bool = False
) -> Figure:
    """Draw groups of bars from 0 to 1 with 95 % intervals, and the number of questions under each group.

    A group is a metric and the rows that have it.
    """
    labels, widths = [], []
    for name, (metric, rows) in groups.items():
        counts = sorted({row["counts"][metric] for row in rows})
        labels.append(f"{name}\nn={'-'.join(map(str, counts[:: max(len(counts) - 1, 1)]))}")
        widths.append(
            GROUP_GAP + max(BAR_WIDTH * len(rows), LETTER_WIDTH * max(map(len, labels[-1].split("\n"))))
        )
    figure, axes = _new_figure(sum(widths), 2.7)
    centres = [sum(widths[:number]) + width / 2 for number, width in enumerate(widths)]
    for centre, (name, (metric, rows)) in zip(centres, groups.items(), strict=True):
        for number, row in enumerate(rows):
            x = centre + BAR_WIDTH * (number - (len(rows) - 1) / 2)
            arm, value, (low, high) = row["arm"], row["metrics"][metric], row["intervals"][metric]
            [patch] = axes.bar(x, value, BAR_WIDTH * 0.88, color=colour_of(arm), label=arm)
            tip = f"{name}, {arm}: {value:.3f} [{low:.3f}, {high:.3f}], n={row['counts'][metric]}"
            patch.set_gid(TIP + tip.replace("\n", ", "))
            errors = [[max(value - low, 0)], [max(high - value, 0)]]
            axes.errorbar(x, value, errors, fmt="none", ecolor=INK, elinewidth=1, capsize=2.5, alpha=0.6)
            short_value = f"{value:.2f}".removeprefix("0") if value < 1 else "1"
            axes.text(x, max(high, value) + 0.015, short_value, ha="center", color=SOFT, size=7)
    axes.set(xlim=(0, sum(widths)), ylim=(0, 1.08), ylabel=title, yticks=QUARTERS)
    axes.set_xticks(centres, labels, color=INK)
    if legend:
        _add_legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=99)
    return figure


def plot_alpha(sweep: Mapping[str, Mapping[str, float]], metric: str) -> Figure:
    """Draw a metric of plain fusion over alpha, a line for each type; a ring marks its best alpha."""
    lines = {label_of(kind): [(float(x), y) for x, y in values.items()] for kind, values in sweep.items()}
    scale = "alpha: 0 = words only (BM25), 1 = meaning only (vectors)"
    return plot_lines(lines, scale, f"{metric} of plain fusion", mark_best=True)


@drawn_in_style
def plot_lines(
    lines: Mapping[str, Sequence[Point]], x_title: str, y_title: str, *, mark_best: bool = False
) -> Figure:
    """Draw lines over a share from 0 to 1; `mark_best` names each line and rings its highest point."""
    figure, axes = _new_figure(6.4, 3.2) if mark_best else _new_figure(2.8, 2.4)
    ends = {}
    for number, (name, points) in enumerate(lines.items()):
        is_overall = name == label_of(ALL)
        colour = ACCENT if len(lines) == 1 else INK if is_overall else MORE_HUES[number % len(MORE_HUES)]
        dashes = "-" if number < len(MORE_HUES) else "--"
        axes.plot(*zip(*points, strict=True), dashes, linewidth=2.4 if is_overall else 1.6, color=colour)
        if mark_best:
            x, y = max(points, key=lambda point: point[1])
            ring = {"markersize": 7, "markerfacecolor": CARD, "markeredgewidth": 2, "clip_on": False}
            axes.plot(x, y, "o", color=colour, **ring, gid=f"{TIP}{name}: best {y:.3f} at {x:g}")
            ends[name] = (*points[-1], colour)
    axes.set(xlim=(0, 1), xlabel=x_title, ylabel=y_title)
    if not mark_best:
        axes.set_ylim(0, 1.1 * max(0.1, *(y for points in lines.values() for _, y in points)))
    _name_at_the_right(axes, ends)
    return figure


@drawn_in_style
def plot_cost(rows: Sequence[SummaryRow], metric: str) -> Figure:
    """Draw every arm by its cost and its quality, over all questions.

    The cost is chat calls if any were made, else milliseconds. A dashed line joins the arms that no
    cheaper arm beats.
    """
    rows = [row for row in rows if row["type"] == ALL and metric in row["metrics"]]
    by_calls = any(row["cost"]["model_calls"] for row in rows)
    cost, title = ("model_calls", "chat calls") if by_calls else ("ms", "milliseconds")
    points = {row["arm"]: (row["cost"][cost], row["metrics"][metric]) for row in rows}
    figure, axes = _new_figure(5.0, max(3.0, 0.9 + 0.19 * len(points)))
    frontier = [points[arm] for arm in pareto_frontier(points)]
    axes.plot(*zip(*frontier, strict=True), "--", color=MUTED, linewidth=1.2)
    for arm, (x, y) in points.items():
        dot = {"color": colour_of(arm), "markeredgecolor": CARD, "markersize": 9 if arm == SUBJECT else 6.5}
        axes.plot(x, y, "o", zorder=3, **dot, gid=f"{TIP}{arm}: {y:.3f} at {x:.1f}")
    axes.margins(x=0.06, y=0.08)
    axes.set(xlim=(0, None), xlabel=f"{title} per question", ylabel=metric)
    axes.grid(axis="x")
    _name_at_the_right(axes, {arm: (*point, colour_of(arm)) for arm, point in points.items()})
    return figure


def pareto_frontier(points: Mapping[str, Point]) -> list[str]:
    """Return the names of points (cost, quality) that beat every cheaper one, from cheap to dear."""
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
    for row, (arm, parts) in enumerate(times.items()):
        left = 0.0
        for step, ms in parts.items():
            colour = MORE_HUES[steps.index(step) % len(MORE_HUES)]
            [patch] = axes.barh(row, ms, 0.7, left=left, color=colour, label=step)
            patch.set_gid(f"{TIP}{arm}, {step}: {ms:.1f} ms")
            left += ms
        axes.text(left, row, f" {left:.0f} ms", va="center", size=8)
    axes.set_yticks(range(len(times)), list(times), color=INK)
    axes.invert_yaxis()
    axes.set_xticks([])
    _add_legend(axes, loc="upper center", bbox_to_anchor=(0.4, 0.0), ncols=4)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return figure


@drawn_in_style
def plot_confusion(report: RoutingReport) -> Figure:
    """Draw the confusion matrix, each cell shaded by its share of the row."""
    figure, axes = _new_figure(3.4, 2.4)
    totals = {label: sum(report.confusion[label].values()) for label in ROUTED_TYPES}
    for row, label in enumerate(ROUTED_TYPES):
        for column, predicted in enumerate(ROUTED_TYPES):
            count = report.confusion[label][predicted]
            share = count / totals[label] if totals[label] else 0.0
            shade, ink = GOOD if label == predicted else BAD, "white" if share > 0.55 else INK
            [cell] = axes.bar(column, 0.94, 0.96, row - 0.47, color=shade, alpha=0.06 + 0.8 * share)
            cell.set_gid(f"{TIP}{label} routed to {predicted}: {count} of {totals[label]}")
            axes.text(column, row - 0.1, str(count), ha="center", va="center", size=11, color=ink)
            if totals[label]:
                axes.text(column, row + 0.26, f"{share:.0%}", ha="center", va="center", size=8, color=ink)
    places = range(len(ROUTED_TYPES))
    axes.set(xlim=(-0.5, len(places) - 0.5), ylim=(len(places) - 0.5, -0.5), xlabel="routed to")
    axes.set_xticks(places, list(ROUTED_TYPES), color=INK)
    axes.set_yticks(places, [f"{label}\nn={totals[label]}" for label in ROUTED_TYPES], color=INK)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return figure


@drawn_in_style
def plot_reliability(report: RoutingReport) -> Figure:
    """Draw how often the router is right at each probability; bars on the diagonal are well calibrated."""
    figure, axes = _new_figure(2.8, 2.4)
    largest = max(bin_.n for bin_ in report.bins)
    for bin_ in report.bins:
        middle, alpha = (bin_.low + bin_.high) / 2, 0.35 + 0.65 * bin_.n / largest
        [patch] = axes.bar(middle, bin_.accuracy, 0.09, color=ACCENT, alpha=alpha)
        interval = f"{bin_.low:.1f}-{bin_.high:.1f}"
        patch.set_gid(f"{TIP}probability {interval}: right {bin_.accuracy:.0%} of {bin_.n}")
        axes.text(middle, bin_.accuracy + 0.02, str(bin_.n), ha="center", size=7, color=SOFT)
        axes.plot(bin_.probability, bin_.accuracy, "o", markersize=3.5, color=INK)
    axes.plot([0, 1], [0, 1], "--", color=MUTED, linewidth=1)
    axes.set(xlim=(0, 1), ylim=(0, 1.08), xticks=QUARTERS, yticks=QUARTERS)
    axes.set(xlabel="probability of its type", ylabel="share routed rightly")
    return figure


def _new_figure(width: float, height: float) -> tuple[Figure, Any]:
    """Return a figure whose axes have about this size in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width + 1.1, height + 0.9), layout="constrained")
    return figure, figure.subplots()


def _add_legend(axes: Any, **place: Any) -> None:
    """Add a legend that names each series once."""
    handles, labels = axes.get_legend_handles_labels()
    handle_of = dict(zip(labels, handles, strict=True))
    place["ncols"] = min(place["ncols"], len(handle_of))
    axes.legend(handle_of.values(), handle_of, frameon=False, fontsize=8, **place)


def _name_at_the_right(axes: Any, points: Mapping[str, tuple[float, float, str]]) -> None:
    """Write a name for each point (x, y, colour) in a column at the right, joined by a thin line."""
    low, high = axes.get_ylim()
    gap = (high - low) / max(len(points), 17)
    names = sorted(points, key=lambda name: points[name][1])
    heights = [points[name][1] for name in names]
    # Move the names up until none overlaps the one below it, then down from the top of the axes.
    for position in range(1, len(names)):
        heights[position] = max(heights[position], heights[position - 1] + gap)
    for position in reversed(range(len(names))):
        heights[position] = min(heights[position], high - gap * (len(names) - 1 - position))
        x, y, colour = points[names[position]]
        line = {"arrowstyle": "-", "color": colour, "lw": 0.6, "alpha": 0.5, "relpos": (0, 0.5)}
        style = {"color": colour, "va": "center", "fontsize": 8, "annotation_clip": False}
        target = {"xytext": (1.03, heights[position]), "textcoords": axes.get_yaxis_transform()}
        axes.annotate(names[position], (x, y), **target, **style, arrowprops=line)
