"""Writes a run as one HTML page that opens offline: figures, plots, and the questions that were lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.answers import ABSTENTION, ANSWER_METRICS, SUPPORT, WEIGHTS
from adaptive_rag.evaluation.arms import ARMS, BASELINE, SUBJECT
from adaptive_rag.evaluation.judge import CRITERIA, TIE, JudgeReport
from adaptive_rag.evaluation.metrics import headline, metric_names
from adaptive_rag.evaluation.records import QuestionRecord
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import (
    ALL,
    POOLED,
    DifferenceRow,
    Row,
    label_of,
    short_name,
    without_repeats,
)

LOST_SHOWN = 30
SNIPPET = 260
BARS_SHOWN = 7
# Below this many questions a type has no bars of its own: its intervals say nothing.
FEW = 10


@dataclass(frozen=True)
class Report:
    """All that a page shows."""

    about: Mapping[str, Any]
    k: int
    rows: Sequence[Row]
    pooled: Sequence[Row]
    routing: Mapping[str, RoutingReport]  # by data set, and for all of them together
    alpha: Mapping[str, Mapping[str, Mapping[str, float]]]
    steps: Mapping[str, Mapping[str, float]]
    lost: Sequence[tuple[float, QuestionRecord]]
    # text of a passage by data set and id
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    judge: JudgeReport | None = None
    against: Sequence[Row] = ()
    against_name: str = ""


def render_html(report: Report) -> str:
    """Return the page."""
    sections = [
        ("verdict", "Against plain retrieval, by question type", _verdict(report)),
        ("tables", "Every arm", _tables(report)),
        ("bars", "By type, with intervals", _bars(report)),
        ("cost", "Quality against cost", _cost(report)),
        ("routing", "The router", _routing(report)),
        ("alpha", "Meaning against words", _alpha(report)),
        ("judge", "The judge", _judge(report)),
        ("against", "Against an earlier run", _against(report)),
        ("lost", "Questions that adaptive lost", _lost(report)),
        ("method", "How this was measured", _method(report)),
    ]
    shown = [(anchor, title, text) for anchor, title, text in sections if text]
    links = "".join(f'<a href="#{anchor}">{escape(title)}</a>' for anchor, title, _ in shown)
    body = _head(report) + f"<nav>{links}</nav>"
    body += "".join(
        f'<section><h2 id="{anchor}">{escape(title)}</h2>{text}</section>' for anchor, title, text in shown
    )
    template = (Path(__file__).parent / "report.html").read_text(encoding="utf-8")
    return template.replace("{{body}}", body)


def _head(report: Report) -> str:
    about = report.about
    data = list(dict.fromkeys(row["dataset"] for row in report.rows))
    total = sum(row["n"] for row in report.rows if row["type"] == ALL and row["arm"] == report.rows[0]["arm"])
    facts = {
        "Data": ", ".join(data),
        "Questions": f"{total}, first {report.k} passages scored",
        "Code": f"adaptive-rag {about.get('version', '?')}"
        + (f", commit {about['commit']}" if about.get("commit") else ""),
        "Model": _model(about),
        "Machine": about.get("machine", "?"),
        "Finished": about.get("finished", "?"),
    }
    items = "".join(f"<dt>{name}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items())
    return (
        "<h1>Does adapting to the question pay?</h1>"
        '<p class="lead">Every arm answered the same questions over the same index. Wins and losses are '
        "paired, "
        f"question by question, against <b>{BASELINE}</b>: {escape(ARMS[BASELINE].what)}.</p>"
        f'<dl class="facts">{items}</dl>'
    )


def _verdict(report: Report) -> str:
    rows = {(row["type"], row["arm"]): row for row in report.pooled}
    metric = _headline(report)
    cards = []
    for kind in dict.fromkeys(row["type"] for row in report.pooled):
        ours, theirs = rows.get((kind, SUBJECT)), rows.get((kind, BASELINE))
        if not ours or not theirs or metric not in ours["metrics"] or metric not in ours["against_standard"]:
            continue
        d = ours["against_standard"][metric]
        cards.append(
            f'<div class="card"><div class="type">{escape(label_of(kind))}</div>'
            f'<div class="figure"><span class="from">{theirs["metrics"][metric]:.3f} →</span> '
            f"{ours['metrics'][metric]:.3f}</div>"
            f'<div class="delta {_tone(d)}">{d["mean"]:+.3f} [{d["low"]:+.3f}, {d["high"]:+.3f}]</div>'
            f'<div class="tally">{d["wins"]} won, {d["losses"]} lost, {d["ties"]} even<br>'
            f"n={d['n']}, p {_p(d['p'])}</div></div>"
        )
    if not cards:
        return ""
    coverage = _coverage_card(rows, report.k)
    return (
        f'<p class="note">{escape(metric)} of {BASELINE} → {SUBJECT}, all data sets together; in '
        "brackets the 95 % "
        "bootstrap interval of the paired difference, p of the paired permutation test. Green and red mark "
        f'intervals that leave out zero.</p><div class="cards">{"".join(cards)}</div>{coverage}'
    )


def _coverage_card(rows: Mapping[tuple[str, str], Row], k: int) -> str:
    ours, theirs = rows.get(("opinion", SUBJECT)), rows.get(("opinion", BASELINE))
    if not ours or not theirs:
        return ""
    found = {name: d for name in metric_names(k)[4:] for d in _differences(ours, name)}
    reach = max([0.05, *(abs(bound) for d in found.values() for bound in (d["low"], d["high"]))])
    cells = [
        f"<tr><td>{escape(metric)}</td><td>{theirs['metrics'][metric]:.3f}</td>"
        f"<td>{ours['metrics'][metric]:.3f}</td>"
        f"<td>{charts.interval(d['mean'], d['low'], d['high'], reach)}</td>"
        f'<td class="{_tone(d)}">{d["mean"]:+.3f}</td><td>{_p(d["p"])}</td><td>{d["n"]}</td></tr>'
        for metric, d in found.items()
    ]
    if not cells:
        return ""
    return (
        '<div class="panel"><h3>Opinion: how many sides are heard</h3><table><tr><th></th>'
        f"<th>{BASELINE}</th><th>{SUBJECT}</th><th></th><th>difference</th><th>p</th><th>n</th></tr>"
        f"{''.join(cells)}</table></div>"
    )


def _tables(report: Report) -> str:
    metric = _headline(report)
    parts = [
        f'<p class="note">Change, p and won / lost are those of {escape(metric)} against {BASELINE}. '
        "Blue is the best figure of its group; calls and milliseconds are means per question.</p>"
    ]
    for dataset in dict.fromkeys(row["dataset"] for row in report.rows):
        rows = [row for row in report.rows if row["dataset"] == dataset]
        retrieval = [name for name in metric_names(report.k) if not name.startswith("precision")]
        tables = _table(rows, retrieval, report, "Retrieval")
        tables += _table(rows, [*ANSWER_METRICS, *ABSTENTION], report, "Answers")
        parts.append(f'<div class="panel"><h3>{escape(dataset)}</h3>{tables}</div>')
    return "".join(parts)


def _table(rows: Sequence[Row], wanted: Sequence[str], report: Report, title: str) -> str:
    names = [name for name in wanted if any(name in row["metrics"] for row in rows)]
    if not names:
        return ""
    metric = names[0]
    bounds = [
        abs(bound) for row in rows for d in _differences(row, metric) for bound in (d["low"], d["high"])
    ]
    reach = max([0.05, *bounds])
    kinds = list(dict.fromkeys(row["type"] for row in rows))
    # A data set of one type has the same figures twice.
    kinds = kinds[1:] if len(kinds) == 2 else kinds
    head = "".join(f"<th>{escape(short_name(name))}</th>" for name in names[1:])
    lines = [
        f'<tr><th class="left">{title}</th><th>{escape(short_name(metric))}</th><th colspan="2">change</th>'
        f"<th>p</th><th>won / lost</th>{head}<th>calls</th><th>ms</th></tr>"
    ]
    for kind in kinds:
        of_kind = [row for row in rows if row["type"] == kind]
        best = {name: max(row["metrics"].get(name, -1.0) for row in of_kind) for name in names}
        lines.append(
            f'<tr class="band"><td colspan="{len(names) + 7}">{escape(label_of(kind))}, '
            f"n={of_kind[0]['n']}</td></tr>"
        )
        lines += [_table_row(row, names, best, reach) for row in of_kind]
    return f"<table>{''.join(lines)}</table>"


def _table_row(row: Row, names: Sequence[str], best: Mapping[str, float], reach: float) -> str:
    cells = [
        f'<td class="{"best" if row["metrics"].get(name) == best[name] else ""}">'
        f"{_figure(row['metrics'].get(name))}</td>"
        for name in names
    ]
    change = "<td></td><td></td><td></td><td></td>"
    for d in _differences(row, names[0]):
        change = (
            f"<td>{charts.interval(d['mean'], d['low'], d['high'], reach)}</td>"
            f'<td class="{_tone(d)}">{d["mean"]:+.3f}</td><td>{_p(d["p"])}</td><td>{d["wins"]} / '
            f"{d['losses']}</td>"
        )
    return (
        f'<tr class="{"subject" if row["arm"] == SUBJECT else ""}">'
        f'<td><i style="background:{charts.colour(row["arm"])}"></i>{escape(row["arm"])}</td>'
        f"{cells[0]}{change}{''.join(cells[1:])}"
        f"<td>{row['cost']['model_calls']:.1f}</td><td>{row['cost']['ms']:.0f}</td></tr>"
    )


def _bars(report: Report) -> str:
    groups: dict[str, list[charts.Bar]] = {}
    metric = _headline(report)
    arms = _shown_arms(report.rows)
    small = []
    for dataset in dict.fromkeys(row["dataset"] for row in report.rows):
        for kind in dict.fromkeys(row["type"] for row in report.rows if row["dataset"] == dataset):
            if kind == ALL:
                continue
            rows = [row for row in report.rows if (row["dataset"], row["type"]) == (dataset, kind)]
            if rows[0]["n"] < FEW:
                small.append(f"{kind} in {dataset} (n={rows[0]['n']})")
                continue
            bars = _bars_of(rows, arms, metric)
            if bars:
                groups[f"{kind} | {dataset}"] = bars
    if not groups:
        return ""
    parts = [
        charts.legend(arms),
        f'<div class="panel"><h3>{escape(metric)}</h3>{_wrapped(groups, metric)}</div>',
    ]
    coverage = {
        name: bars
        for name in metric_names(report.k)[4:]
        if (bars := _bars_of([row for row in report.pooled if row["type"] == "opinion"], arms, name))
    }
    if coverage:
        parts.append(
            '<div class="panel"><h3>Coverage, opinion questions</h3>'
            f"{charts.bars(coverage, 'Coverage of aspects and stances')}</div>"
        )
    if small:
        parts.append(
            f'<p class="note">Too few questions for bars of their own: {escape("; ".join(small))}.</p>'
        )
    return "".join(parts)


def _wrapped(groups: Mapping[str, Sequence[charts.Bar]], metric: str) -> str:
    """Draw at most four groups in a row, so that a page holds them."""
    names = list(groups)
    return "".join(
        charts.bars({name: groups[name] for name in names[start : start + 4]}, metric)
        for start in range(0, len(names), 4)
    )


def _bars_of(rows: Sequence[Row], arms: Sequence[str], metric: str) -> list[charts.Bar]:
    by_arm = {row["arm"]: row for row in rows}
    return [
        charts.Bar(
            arm,
            by_arm[arm]["metrics"][metric],
            by_arm[arm]["intervals"][metric][0],
            by_arm[arm]["intervals"][metric][1],
            by_arm[arm]["counts"][metric],
        )
        for arm in arms
        if arm in by_arm and metric in by_arm[arm]["metrics"]
    ]


def _cost(report: Report) -> str:
    metric = _headline(report)
    rows = [row for row in report.pooled if row["type"] == ALL and metric in row["metrics"]]
    if len(rows) < 2:
        return ""
    by_calls = any(row["cost"]["model_calls"] for row in rows)
    points = [
        charts.Point(row["arm"], row["cost"]["model_calls" if by_calls else "ms"], row["metrics"][metric])
        for row in rows
    ]
    x_title = "chat calls per question" if by_calls else "milliseconds per question"
    plot = charts.pareto(points, "Quality against cost", x_title, metric)
    steps = {arm: times for arm, times in report.steps.items() if arm in _shown_arms(rows)}
    drawn = (
        f'<div class="panel"><h3>Where the time goes</h3>{charts.stacked(steps, "Time by step", "ms")}'
        '<p class="note">Time inside the steps; parallel branches are summed, so a bar may be longer than '
        "the wait. The plain arms have no steps.</p></div>"
        if steps
        else ""
    )
    return (
        f'<div class="pair"><div class="panel">{plot}<p class="note">All data sets together. The dashed '
        "line joins "
        f"the arms that no cheaper arm beats.</p></div>{drawn}</div>"
    )


def _routing(report: Report) -> str:
    whole = report.routing.get(POOLED)
    if whole is None:
        return ""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{one.n}</td><td>{one.accuracy:.3f}</td><td>{one.macro_f1:.3f}</td>"
        f"<td>{one.calibration_error:.3f}</td><td>{one.risk_area:.3f}</td></tr>"
        for name, one in report.routing.items()
        if name != POOLED or len(report.routing) > 2
    )
    return (
        '<p class="note">Which type the router gave the questions, beside the label of the data.</p>'
        f'<div class="panel"><table><tr><th>data</th><th>n</th><th>accuracy</th><th>macro-F1</th>'
        f"<th>calibration error</th><th>area under risk-coverage</th></tr>{rows}</table></div>"
        f'<div class="pair"><div class="panel"><h3>Confusion</h3>{charts.confusion(whole)}</div>'
        f'<div class="panel"><h3>Reliability</h3>{charts.reliability(whole)}'
        '<p class="note">Bars on the diagonal are honest; the number above is that of questions.</p></div>'
        f'<div class="panel"><h3>Risk against coverage</h3>{charts.risk_coverage(whole)}</div></div>'
    )


def _alpha(report: Report) -> str:
    series = {
        f"{kind}, {dataset}": [(float(alpha), value) for alpha, value in sweep.items()]
        for dataset, kinds in report.alpha.items()
        for kind, sweep in kinds.items()
        if kind != ALL and _count(report.rows, dataset, kind) >= FEW
    }
    if not series:
        return ""
    plot = charts.lines(
        series,
        "Alpha sweep",
        x_title="alpha: 0 = words only (BM25), 1 = meaning only (vectors)",
        y_title=f"{headline(report.k)} of plain fusion",
        mark_best=True,
    )
    return f'<div class="panel">{plot}<p class="note">The ring marks the best alpha of each line.</p></div>'


def _judge(report: Report) -> str:
    judge = report.judge
    if judge is None:
        return ""
    if not judge["n"]:
        return f'<p class="note">No usable verdict came for {judge["failed"]} questions.</p>'
    columns = [*judge["arms"], TIE]
    wins = "".join(
        f"<tr><td>{escape(label_of(kind))}</td>"
        + "".join(f"<td>{counts[name]}</td>" for name in columns)
        + "</tr>"
        for kind, counts in judge["wins"].items()
    )
    means = "".join(
        f"<tr><td>{escape(arm)}</td>"
        + "".join(f"<td>{scores[name]:.2f}</td>" for name in (*CRITERIA, "overall"))
        + "</tr>"
        for arm, scores in judge["means"].items()
    )
    return (
        f'<p class="note">{judge["n"]} questions judged, each once with every arm in every position; an '
        "arm is best "
        "only where all orders say so. The order changed the verdict on "
        f"{judge['order_changed_verdict']} of them; "
        f"{judge['failed']} got no usable verdict.</p>"
        f'<div class="pair"><div class="panel"><h3>Best answer</h3><table><tr><th></th>'
        f"{''.join(f'<th>{escape(name)}</th>' for name in columns)}</tr>{wins}</table></div>"
        f'<div class="panel"><h3>Mean scores, 0-10</h3><table><tr><th></th>'
        f"{''.join(f'<th>{name}</th>' for name in (*CRITERIA, 'overall'))}</tr>{means}</table></div></div>"
        f"<blockquote>{escape(judge['analysis'])}</blockquote>"
    )


def _against(report: Report) -> str:
    if not report.against:
        return ""
    metric = _headline(report)
    lines = "".join(
        f"<tr><td>{escape(row['dataset'])}</td><td class='left'>{escape(label_of(row['type']))}</td>"
        f"<td class='left'>{escape(row['arm'])}</td><td>{row['metrics'][metric]:.3f}</td>"
        f"<td>{charts.interval(d['mean'], d['low'], d['high'], 0.1)}</td>"
        f'<td class="{_tone(d)}">{d["mean"]:+.3f}</td><td>{_p(d["p"])}</td><td>{d["wins"]} / '
        f"{d['losses']}</td>"
        f"<td>{d['n']}</td></tr>"
        for row in without_repeats(report.against)
        for d in _differences(row, metric)
    )
    return (
        f'<p class="note">This run minus {escape(report.against_name)}, over the questions both hold.</p>'
        f'<div class="panel"><table><tr><th>data</th><th class="left">type</th><th class="left">arm</th>'
        f"<th>{escape(metric)}</th><th></th><th>change</th><th>p</th><th>won / lost</th><th>n</th></tr>"
        f"{lines}</table></div>"
    )


def _lost(report: Report) -> str:
    if not report.lost:
        return ""
    shown = "".join(_lost_question(loss, record, report) for loss, record in report.lost[:LOST_SHOWN])
    more = len(report.lost) - LOST_SHOWN
    rest = f'<p class="note">{more} smaller losses are in questions.jsonl.</p>' if more > 0 else ""
    return (
        f'<p class="note">{len(report.lost)} questions where {SUBJECT} ranked worse than {BASELINE}, '
        "the worst first. "
        f'Relevant passages have a green number.</p><div class="panel">{shown}</div>{rest}'
    )


def _lost_question(loss: float, record: QuestionRecord, report: Report) -> str:
    ours = record["arms"][SUBJECT]
    routes = " + ".join(ours.get("routes", [ours["route"] or "?"]))
    wrong = " (labelled " + record["type"] + ")" if record["type"] and record["type"] not in routes else ""
    told = (
        f"<blockquote>{escape(record['user_context'][:800])}</blockquote>" if record["user_context"] else ""
    )
    lists = "".join(
        f"<div><b>{arm}</b>{_ranking(record, arm, report.texts)}</div>" for arm in (BASELINE, SUBJECT)
    )
    return (
        f'<details><summary><span class="loss">{loss:+.3f}</span>{escape(record["question"])}'
        f'<span class="tag">{escape(record["dataset"])}</span>'
        f'<span class="tag">routed {escape(routes + wrong)}</span></summary>'
        f'{told}<div class="lists">{lists}</div>{_answers(record)}{_trace(record)}</details>'
    )


def _ranking(record: QuestionRecord, arm: str, texts: Mapping[tuple[str, str], str]) -> str:
    ranked = record["ranked"].get(arm, [])
    items = []
    for passage in ranked:
        text = texts.get((record["dataset"], passage)) or record.get("texts", {}).get(passage, "")
        short = text if len(text) <= SNIPPET else text[:SNIPPET].rsplit(" ", 1)[0] + " …"
        css = "gold" if record["gold"].get(passage, 0) > 0 else ""
        items.append(f'<li class="{css}"><code>{escape(passage)}</code> {escape(short)}</li>')
    missed = [passage for passage, grade in record["gold"].items() if grade > 0 and passage not in ranked]
    note = (
        f'<p class="note">{len(missed)} relevant not among them: {escape(", ".join(missed[:5]))}</p>'
        if missed
        else ""
    )
    return f"<ol>{''.join(items)}</ol>{note}"


def _answers(record: QuestionRecord) -> str:
    given = [(arm, record["arms"][arm].get("answer")) for arm in (BASELINE, SUBJECT)]
    return "".join(f"<blockquote><b>{arm}:</b> {escape(text)}</blockquote>" for arm, text in given if text)


def _trace(record: QuestionRecord) -> str:
    lines = []
    for step in record["arms"][SUBJECT]["trace"]:
        queries = "".join(f" <code>{escape(query[:200])}</code>" for query in step.get("queries", []))
        decisions = "".join(
            f" {escape(d['what'])}: <b>{escape(str(d['chosen']))}</b> ({escape(d['why'])})"
            for d in step.get("decisions", [])
        )
        lines.append(f"<li>{escape(step['step'])}, {step.get('ms', 0):.0f} ms.{queries}{decisions}</li>")
    return f'<ol class="trace">{"".join(lines)}</ol>' if lines else ""


def _method(report: Report) -> str:
    names: Iterable[str] = dict.fromkeys(row["arm"] for row in report.rows)
    arms = "".join(
        f'<tr><td><i style="background:{charts.colour(name)}"></i>{escape(name)}</td>'
        f'<td class="left">{escape(_explained(name))}</td></tr>'
        for name in names
    )
    formula = " + ".join(f"{weight:g} {name}" for name, weight in WEIGHTS.items())
    return (
        f'<div class="panel"><table>{arms}</table></div>'
        '<p class="note">Retrieval metrics follow trec_eval. alpha_ndcg halves the gain of an aspect '
        "each time it "
        "returns; aspects is the share of aspects met of those that k passages could hold; both is the "
        "share of "
        "questions with passages of two stances. The queries' user context and history are passed to "
        "the graph as a "
        "person's would be; rewrites, labels and references are shown to no arm, save the label to oracle. "
        "Milliseconds are one question at a time, without the answer unless answers were asked for.</p>"
        f'<p class="note formula">quality = {escape(formula)}; 0 for abstaining where there is an '
        "answer, 1 where there "
        "is none. A citation is correct where its quote stands in a passage that was read and its "
        "cosine with the "
        f"citing sentence is at least {SUPPORT:g}.</p>"
    )


def _explained(name: str) -> str:
    arm = next((arm for known, arm in ARMS.items() if known == name), None)
    if arm is None:
        return ""
    return arm.what + (" (it reads the label, which no caller has)" if arm.sees_label else "")


def _headline(report: Report) -> str:
    wanted = headline(report.k)
    return wanted if any(wanted in row["metrics"] for row in report.rows) else "quality"


def _differences(row: Row, metric: str) -> list[DifferenceRow]:
    return [row["against_standard"][metric]] if metric in row["against_standard"] else []


def _shown_arms(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["arm"] for row in rows))[:BARS_SHOWN]


def _count(rows: Sequence[Row], dataset: str, kind: str) -> int:
    return next((row["n"] for row in rows if (row["dataset"], row["type"]) == (dataset, kind)), 0)


def _model(about: Mapping[str, Any]) -> str:
    knobs = about.get("settings", {}).get("knobs", {})
    return str(knobs.get("model") or "none: the local stand-ins did every step")


def _tone(d: DifferenceRow) -> str:
    return "good" if d["low"] > 0 else "bad" if d["high"] < 0 else "flat"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _p(p: float) -> str:
    return "&lt; .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
