"""The page's section on the judge: which answers a chat model found best, and how it scored them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from adaptive_rag.evaluation.judge import CRITERIA, TIE
from adaptive_rag.evaluation.page.contents import Report
from adaptive_rag.evaluation.wording import label_of


def judge_section(report: Report) -> str:
    """Return the verdicts by type, the mean scores and the judge's analysis, where there was a judge."""
    judge = report.judge
    if judge is None:
        return ""
    if not judge["n"]:
        return f'<p class="note">No usable verdict came for {judge["failed"]} questions.</p>'
    contestants, criteria = (*judge["arms"], TIE), (*CRITERIA, "overall")
    wins = "".join(
        _line(label_of(kind), (str(counts[name]) for name in contestants))
        for kind, counts in judge["wins"].items()
    )
    means = "".join(
        _line(arm, (f"{scores[name]:.2f}" for name in criteria)) for arm, scores in judge["means"].items()
    )
    return (
        f'<p class="note">{judge["n"]} questions judged, each once with every arm in every position; an '
        "arm is best only where all orders say so. The order changed the verdict on "
        f"{judge['order_changed_verdict']} of them; {judge['failed']} got no usable verdict.</p>"
        f'<div class="pair"><div class="panel"><h3>Best answer</h3><table>{_head(contestants)}{wins}</table>'
        f'</div><div class="panel"><h3>Mean scores, 0-10</h3><table>{_head(criteria)}{means}</table></div>'
        f"</div><blockquote>{escape(judge['analysis'])}</blockquote>"
    )


def _head(names: Iterable[str]) -> str:
    return f"<tr><th></th>{''.join(f'<th>{escape(name)}</th>' for name in names)}</tr>"


def _line(name: str, figures: Iterable[str]) -> str:
    return f"<tr><td>{escape(name)}</td>{''.join(f'<td>{figure}</td>' for figure in figures)}</tr>"
