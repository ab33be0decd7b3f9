"""The page's section on the router: which type it gave the questions, beside the label of the data."""

from __future__ import annotations

from html import escape

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.page.contents import Report
from adaptive_rag.evaluation.summary import POOLED


def router_section(report: Report) -> str:
    """Return the router's scores by data set, and three plots over all of them."""
    whole = report.routing.get(POOLED)
    if whole is None:
        return ""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{one.n}</td><td>{one.accuracy:.3f}</td><td>{one.macro_f1:.3f}</td>"
        f"<td>{one.calibration_error:.3f}</td><td>{one.risk_area:.3f}</td></tr>"
        for name, one in report.routing.items()
        # Over a single data set, all of them together say the same again.
        if name != POOLED or len(report.routing) > 2
    )
    return (
        '<p class="note">Which type the router gave the questions, beside the label of the data.</p>'
        f'<div class="panel"><table><tr><th>data</th><th>n</th><th>accuracy</th><th>macro-F1</th>'
        f"<th>calibration error</th><th>area under risk-coverage</th></tr>{rows}</table></div>"
        f'<div class="pair"><div class="panel"><h3>Confusion</h3>{charts.draw_confusion(whole)}</div>'
        f'<div class="panel"><h3>Reliability</h3>{charts.draw_reliability(whole)}'
        '<p class="note">Bars on the diagonal are honest; the number above is that of questions.</p></div>'
        f'<div class="panel"><h3>Risk against coverage</h3>{charts.draw_risk_coverage(whole)}</div></div>'
    )
