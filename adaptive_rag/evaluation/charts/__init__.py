"""Draws the report's plots as SVG, with no library and no script, so that one file shows them anywhere."""

from adaptive_rag.evaluation.charts.bars import Bar, draw_bars, draw_stacked
from adaptive_rag.evaluation.charts.intervals import draw_interval, tone
from adaptive_rag.evaluation.charts.lines import draw_lines
from adaptive_rag.evaluation.charts.pareto import Point, draw_pareto, pareto_frontier
from adaptive_rag.evaluation.charts.router import draw_confusion, draw_reliability, draw_risk_coverage
from adaptive_rag.evaluation.charts.svg import colour, legend

__all__ = [
    "Bar",
    "Point",
    "colour",
    "draw_bars",
    "draw_confusion",
    "draw_interval",
    "draw_lines",
    "draw_pareto",
    "draw_reliability",
    "draw_risk_coverage",
    "draw_stacked",
    "legend",
    "pareto_frontier",
    "tone",
]
