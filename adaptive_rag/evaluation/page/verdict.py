"""The page's first section: adaptive beside plain retrieval, by question type, and the sides it hears."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.arms import BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import coverage_names
from adaptive_rag.evaluation.page.cells import difference_cells, differences, p_value, reach_of
from adaptive_rag.evaluation.page.contents import Report
from adaptive_rag.evaluation.summary import Row
from adaptive_rag.evaluation.wording import label_of


def verdict_section(report: Report) -> str:
    """Return a card for each question type, and how many sides of opinion questions are heard."""
    rows = {(row["type"], row["arm"]): row for row in report.pooled}
    metric = report.metric
    cards = "".join(
        _card(kind, rows[kind, SUBJECT], rows[kind, BASELINE], metric)
        for kind in dict.fromkeys(row["type"] for row in report.pooled)
        if {(kind, SUBJECT), (kind, BASELINE)} <= rows.keys()
    )
    if not cards:
        return ""
    return (
        f'<p class="note">{escape(metric)} of {BASELINE} → {SUBJECT}, all data sets together; in brackets '
        "the 95 % bootstrap interval of the paired difference, p of the paired permutation test. Green and "
        f'red mark intervals that leave out zero.</p><div class="cards">{cards}</div>'
        f"{_coverage(rows, report.k)}"
    )


def _card(kind: str, ours: Row, theirs: Row, metric: str) -> str:
    return "".join(
        f'<div class="card"><div class="type">{escape(label_of(kind))}</div>'
        f'<div class="figure"><span class="from">{theirs["metrics"][metric]:.3f} →</span> '
        f"{ours['metrics'][metric]:.3f}</div>"
        f'<div class="delta {charts.tone(d["low"], d["high"])}">'
        f"{d['mean']:+.3f} [{d['low']:+.3f}, {d['high']:+.3f}]</div>"
        f'<div class="tally">{d["wins"]} won, {d["losses"]} lost, {d["ties"]} even<br>'
        f"n={d['n']}, p {p_value(d['p'])}</div></div>"
        for d in differences(ours, metric)
    )


def _coverage(rows: Mapping[tuple[str, str], Row], k: int) -> str:
    ours, theirs = rows.get(("opinion", SUBJECT)), rows.get(("opinion", BASELINE))
    if not ours or not theirs:
        return ""
    found = {name: d for name in coverage_names(k) for d in differences(ours, name)}
    if not found:
        return ""
    reach = reach_of(found.values())
    lines = "".join(
        f"<tr><td>{escape(name)}</td><td>{theirs['metrics'][name]:.3f}</td>"
        f"<td>{ours['metrics'][name]:.3f}</td>{difference_cells(d, reach)}<td>{d['n']}</td></tr>"
        for name, d in found.items()
    )
    return (
        '<div class="panel"><h3>Opinion: how many sides are heard</h3><table><tr><th></th>'
        f"<th>{BASELINE}</th><th>{SUBJECT}</th><th></th><th>difference</th><th>p</th><th>n</th></tr>"
        f"{lines}</table></div>"
    )
