"""The page's section on alpha: how much the meaning should weigh beside the words, type by type."""

from __future__ import annotations

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.metrics import headline
from adaptive_rag.evaluation.page.contents import FEW, Report
from adaptive_rag.evaluation.summary import ALL


def alpha_section(report: Report) -> str:
    """Return the sweep of plain fusion over alpha, one line for each type of each data set."""
    count = {(row["dataset"], row["type"]): row["n"] for row in report.rows}
    series = {
        f"{kind}, {dataset}": [(float(alpha), value) for alpha, value in sweep.items()]
        for dataset, kinds in report.alpha.items()
        for kind, sweep in kinds.items()
        if kind != ALL and count.get((dataset, kind), 0) >= FEW
    }
    if not series:
        return ""
    plot = charts.draw_lines(
        series,
        "Alpha sweep",
        x_title="alpha: 0 = words only (BM25), 1 = meaning only (vectors)",
        y_title=f"{headline(report.k)} of plain fusion",
        mark_best=True,
    )
    return f'<div class="panel">{plot}<p class="note">The ring marks the best alpha of each line.</p></div>'
