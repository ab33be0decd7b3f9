"""Writes figures and paired differences as the page's tables show them."""

from __future__ import annotations

from collections.abc import Iterable

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.summary import DifferenceRow, Row

# The least difference that fills half a cell, so that noise does not look like much.
LEAST_REACH = 0.05


def differences(row: Row, metric: str) -> list[DifferenceRow]:
    """Return a row's difference from the baseline, or nothing where it has none."""
    return [row["against_standard"][metric]] if metric in row["against_standard"] else []


def reach_of(found: Iterable[DifferenceRow]) -> float:
    """Return how far from zero the intervals of a table reach."""
    return max([LEAST_REACH, *(abs(bound) for d in found for bound in (d["low"], d["high"]))])


def difference_cells(d: DifferenceRow, reach: float) -> str:
    """Return the cells of a difference: its interval as a plot, its mean, its p."""
    return (
        f"<td>{charts.draw_interval(d['mean'], d['low'], d['high'], reach)}</td>"
        f'<td class="{charts.tone(d["low"], d["high"])}">{d["mean"]:+.3f}</td><td>{p_value(d["p"])}</td>'
    )


def won_lost_cell(d: DifferenceRow) -> str:
    """Return the cell of the questions that were won and lost."""
    return f"<td>{d['wins']} / {d['losses']}</td>"


def p_value(p: float) -> str:
    """Return the p of a test, as HTML."""
    return "&lt; .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
