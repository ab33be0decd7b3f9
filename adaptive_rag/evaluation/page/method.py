"""The page's last section: what each arm is, and how the figures are defined."""

from __future__ import annotations

from html import escape

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.answers import SUPPORT, WEIGHTS
from adaptive_rag.evaluation.arms import ARMS
from adaptive_rag.evaluation.page.contents import Report

RETRIEVAL = """\
Retrieval metrics follow trec_eval. alpha_ndcg halves the gain of an aspect each time it returns; aspects is \
the share of aspects met of those that k passages could hold; both is the share of questions with passages \
of two stances. The queries' user context and history are passed to the graph as a person's would be; \
rewrites, labels and references are shown to no arm, save the label to oracle. Milliseconds are one question \
at a time, without the answer unless answers were asked for."""


def method_section(report: Report) -> str:
    """Return the arms of the run, and what the metrics mean."""
    arms = "".join(
        f'<tr><td><i style="background:{charts.colour(name)}"></i>{escape(name)}</td>'
        f'<td class="left">{escape(_explained(name))}</td></tr>'
        for name in dict.fromkeys(row["arm"] for row in report.rows)
    )
    formula = " + ".join(f"{weight:g} {name}" for name, weight in WEIGHTS.items())
    return (
        f'<div class="panel"><table>{arms}</table></div><p class="note">{RETRIEVAL}</p>'
        f'<p class="note formula">quality = {escape(formula)}; 0 for abstaining where there is an '
        "answer, 1 where there is none. A citation is correct where its quote stands in a passage that was "
        f"read and its cosine with the citing sentence is at least {SUPPORT:g}.</p>"
    )


def _explained(name: str) -> str:
    arm = next((arm for known, arm in ARMS.items() if known == name), None)
    if arm is None:
        return ""
    return arm.what + (" (it reads the label, which no caller has)" if arm.sees_label else "")
