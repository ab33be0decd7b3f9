"""Joins the sections to one page: the facts of the run, links, and each section that has something to say."""

from __future__ import annotations

from html import escape
from pathlib import Path

from adaptive_rag.evaluation.arms import ARMS, BASELINE
from adaptive_rag.evaluation.page.alpha import alpha_section
from adaptive_rag.evaluation.page.bars import bars_section
from adaptive_rag.evaluation.page.contents import Report
from adaptive_rag.evaluation.page.cost import cost_section
from adaptive_rag.evaluation.page.judge import judge_section
from adaptive_rag.evaluation.page.lost import lost_section
from adaptive_rag.evaluation.page.method import method_section
from adaptive_rag.evaluation.page.router import router_section
from adaptive_rag.evaluation.page.tables import against_section, tables_section
from adaptive_rag.evaluation.page.verdict import verdict_section
from adaptive_rag.evaluation.summary import ALL

# Anchor, title and writer of each section; one that returns nothing is left out.
SECTIONS = (
    ("verdict", "Against plain retrieval, by question type", verdict_section),
    ("tables", "Every arm", tables_section),
    ("bars", "By type, with intervals", bars_section),
    ("cost", "Quality against cost", cost_section),
    ("routing", "The router", router_section),
    ("alpha", "Meaning against words", alpha_section),
    ("judge", "The judge", judge_section),
    ("against", "Against an earlier run", against_section),
    ("lost", "Questions that adaptive lost", lost_section),
    ("method", "How this was measured", method_section),
)


def render_html(report: Report) -> str:
    """Return the page."""
    shown = [(anchor, escape(title), text) for anchor, title, write in SECTIONS if (text := write(report))]
    links = "".join(f'<a href="#{anchor}">{title}</a>' for anchor, title, _ in shown)
    sections = "".join(
        f'<section><h2 id="{anchor}">{title}</h2>{text}</section>' for anchor, title, text in shown
    )
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return template.replace("{{body}}", f"{_head(report)}<nav>{links}</nav>{sections}")


def _head(report: Report) -> str:
    about = report.about
    total = sum(row["n"] for row in report.rows if row["type"] == ALL and row["arm"] == report.rows[0]["arm"])
    commit = f", commit {about['commit']}" if about.get("commit") else ""
    model = about.get("settings", {}).get("knobs", {}).get("model")
    facts = {
        "Data": ", ".join(report.datasets),
        "Questions": f"{total}, first {report.k} passages scored",
        "Code": f"adaptive-rag {about.get('version', '?')}{commit}",
        "Model": model or "none: the local stand-ins did every step",
        "Machine": about.get("machine", "?"),
        "Finished": about.get("finished", "?"),
    }
    items = "".join(f"<dt>{name}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items())
    return (
        "<h1>Does adapting to the question pay?</h1>"
        '<p class="lead">Every arm answered the same questions over the same index. Wins and losses are '
        f"paired, question by question, against <b>{BASELINE}</b>: {escape(ARMS[BASELINE].what)}.</p>"
        f'<dl class="facts">{items}</dl>'
    )
