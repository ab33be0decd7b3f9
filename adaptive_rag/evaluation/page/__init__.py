"""Writes a run as one HTML page that opens offline: figures, plots, and the questions that were lost."""

from adaptive_rag.evaluation.page.contents import Report
from adaptive_rag.evaluation.page.skeleton import render_html

__all__ = ["Report", "render_html"]
