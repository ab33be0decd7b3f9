"""The page's drill-down: the questions that adaptive lost, with both rankings, answers and trace."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from adaptive_rag.evaluation.arms import BASELINE, SUBJECT
from adaptive_rag.evaluation.page.contents import Report
from adaptive_rag.evaluation.records import QuestionRecord

LOST_SHOWN = 30
# Characters of a passage, of a person's context and of a query.
SNIPPET = 260
CONTEXT_SHOWN = 800
QUERY_SHOWN = 200
MISSED_SHOWN = 5

# text of a passage by data set and id
Texts = Mapping[tuple[str, str], str]


def lost_section(report: Report) -> str:
    """Return the questions on which adaptive scored below the baseline, the worst first."""
    if not report.lost:
        return ""
    shown = "".join(_question(loss, record, report.texts) for loss, record in report.lost[:LOST_SHOWN])
    more = len(report.lost) - LOST_SHOWN
    rest = f'<p class="note">{more} smaller losses are in questions.jsonl.</p>' if more > 0 else ""
    return (
        f'<p class="note">{len(report.lost)} questions where {SUBJECT} ranked worse than {BASELINE}, the '
        f'worst first. Relevant passages have a green number.</p><div class="panel">{shown}</div>{rest}'
    )


def _question(loss: float, record: QuestionRecord, texts: Texts) -> str:
    context = record["user_context"][:CONTEXT_SHOWN]
    told = f"<blockquote>{escape(context)}</blockquote>" if context else ""
    lists = "".join(f"<div><b>{arm}</b>{_ranking(record, arm, texts)}</div>" for arm in (BASELINE, SUBJECT))
    return (
        f'<details><summary><span class="loss">{loss:+.3f}</span>{escape(record["question"])}'
        f'<span class="tag">{escape(record["dataset"])}</span>'
        f'<span class="tag">routed {escape(_routes(record))}</span></summary>'
        f'{told}<div class="lists">{lists}</div>{_answers(record)}{_trace(record)}</details>'
    )


def _routes(record: QuestionRecord) -> str:
    ours = record["arms"][SUBJECT]
    routes = " + ".join(ours.get("routes", [ours["route"] or "?"]))
    wrong = record["type"] and record["type"] not in routes
    return f"{routes} (labelled {record['type']})" if wrong else routes


def _ranking(record: QuestionRecord, arm: str, texts: Texts) -> str:
    ranked = record["ranked"].get(arm, [])
    relevant = [passage for passage, grade in record["gold"].items() if grade > 0]
    items = []
    for passage in ranked:
        text = texts.get((record["dataset"], passage)) or record.get("texts", {}).get(passage, "")
        short = text if len(text) <= SNIPPET else text[:SNIPPET].rsplit(" ", 1)[0] + " …"
        css = "gold" if passage in relevant else ""
        items.append(f'<li class="{css}"><code>{escape(passage)}</code> {escape(short)}</li>')
    missed = [passage for passage in relevant if passage not in ranked]
    named = escape(", ".join(missed[:MISSED_SHOWN]))
    note = f'<p class="note">{len(missed)} relevant not among them: {named}</p>' if missed else ""
    return f"<ol>{''.join(items)}</ol>{note}"


def _answers(record: QuestionRecord) -> str:
    given = [(arm, record["arms"][arm].get("answer")) for arm in (BASELINE, SUBJECT)]
    return "".join(f"<blockquote><b>{arm}:</b> {escape(text)}</blockquote>" for arm, text in given if text)


def _trace(record: QuestionRecord) -> str:
    lines = []
    for step in record["arms"][SUBJECT]["trace"]:
        queries = "".join(f" <code>{escape(query[:QUERY_SHOWN])}</code>" for query in step.get("queries", []))
        decisions = "".join(
            f" {escape(d['what'])}: <b>{escape(str(d['chosen']))}</b> ({escape(d['why'])})"
            for d in step.get("decisions", [])
        )
        lines.append(f"<li>{escape(step['step'])}, {step.get('ms', 0):.0f} ms.{queries}{decisions}</li>")
    return f'<ol class="trace">{"".join(lines)}</ol>' if lines else ""
