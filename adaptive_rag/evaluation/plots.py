"""Draws a run's figures with matplotlib, for notebooks; the HTML report draws its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adaptive_rag.errors import import_extra
from adaptive_rag.evaluation.summary import ALL, Row
from adaptive_rag.evaluation.wording import label_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    "standard": "#9aa0aa",
    "bm25": "#c4841d",
    "fusion": "#2f8fa8",
    "adaptive": "#4b3fc4",
    "oracle": "#2f9e6b",
    "random": "#c2557a",
    "costliest": "#8c6d46",
}


def plot_by_type(rows: Sequence[Row], metric: str) -> Figure:
    """Draw an arm's metric for each question type as bars with 95 % intervals.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows = [row for row in rows if metric in row["metrics"]]
    kinds = list(dict.fromkeys(row["type"] for row in rows))
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    figure, axes = _new(width=1.6 + 1.5 * len(kinds), height=3.4)
    width = 0.8 / len(arms)
    for number, arm in enumerate(arms):
        of_arm = {row["type"]: row for row in rows if row["arm"] == arm}
        places = [
            i + (number - (len(arms) - 1) / 2) * width for i, kind in enumerate(kinds) if kind in of_arm
        ]
        shown = [of_arm[kind] for kind in kinds if kind in of_arm]
        values = [row["metrics"][metric] for row in shown]
        bounds = [row["intervals"][metric] for row in shown]
        errors = [
            [value - low for value, (low, _) in zip(values, bounds, strict=True)],
            [high - value for value, (_, high) in zip(values, bounds, strict=True)],
        ]
        axes.bar(places, values, width * 0.92, color=COLOURS.get(arm), label=arm)
        axes.errorbar(places, values, yerr=errors, fmt="none", ecolor="#22252b88", elinewidth=1, capsize=2)
    counts = {row["type"]: row["counts"][metric] for row in rows}
    axes.set_xticks(range(len(kinds)), [f"{label_of(kind)}\nn={counts[kind]}" for kind in kinds])
    axes.set_ylim(0, 1.05)
    axes.set_ylabel(metric)
    axes.legend(frameon=False, ncols=len(arms), loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
    return figure


def plot_alpha(sweep: Mapping[str, Mapping[str, float]], metric: str) -> Figure:
    """Draw a metric of plain fusion over alpha, one line for each question type.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, axes = _new(width=6.0, height=3.4)
    for kind, values in sweep.items():
        xs, ys = [float(alpha) for alpha in values], list(values.values())
        whole = kind == ALL
        [line] = axes.plot(xs, ys, linewidth=2.4 if whole else 1.4, color="#22252b" if whole else None)
        best = max(range(len(ys)), key=ys.__getitem__)
        axes.plot(xs[best], ys[best], "o", markersize=7, markerfacecolor="white", color=line.get_color())
        axes.annotate(
            label_of(kind),
            (xs[-1], ys[-1]),
            (6, -3),
            textcoords="offset points",
            color=line.get_color(),
            fontsize=8,
        )
    axes.set_xlabel("alpha: 0 = words only, 1 = meaning only")
    axes.set_ylabel(metric)
    return figure


def plot_cost(rows: Sequence[Row], metric: str) -> Figure:
    """Draw every arm between its cost and its quality, over all questions.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows = [row for row in rows if row["type"] == ALL and metric in row["metrics"]]
    figure, axes = _new(width=5.0, height=3.2)
    for row in rows:
        x, y = row["cost"]["ms"], row["metrics"][metric]
        axes.plot(x, y, "o", markersize=9, color=COLOURS.get(row["arm"], "#777777"))
        axes.annotate(row["arm"], (x, y), (8, -3), textcoords="offset points", fontsize=9)
    axes.set_xlabel("milliseconds per question")
    axes.set_ylabel(metric)
    axes.margins(x=0.25, y=0.2)
    axes.set_xlim(left=0)
    return figure


def _new(*, width: float, height: float) -> tuple[Figure, Any]:
    import_extra("matplotlib", extra="eval", purpose="Drawing plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e2dd")
    axes.set_axisbelow(True)
    return figure, axes
