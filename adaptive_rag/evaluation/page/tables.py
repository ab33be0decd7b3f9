"""The page's tables: every arm on every data set, and what changed since an earlier run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from adaptive_rag.evaluation import charts
from adaptive_rag.evaluation.answers import ABSTENTION, ANSWER_METRICS
from adaptive_rag.evaluation.arms import BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import metric_names
from adaptive_rag.evaluation.page.cells import difference_cells, differences, reach_of, won_lost_cell
from adaptive_rag.evaluation.page.contents import Report
from adaptive_rag.evaluation.summary import Row
from adaptive_rag.evaluation.wording import label_of, short_name, types_shown, without_repeats

# How far the intervals of a comparison of two runs reach, the same on every page.
AGAINST_REACH = 0.1


def tables_section(report: Report) -> str:
    """Return a table of retrieval and one of answers for each data set."""
    parts = [
        f'<p class="note">Change, p and won / lost are those of {escape(report.metric)} against {BASELINE}. '
        "Blue is the best figure of its group; calls and milliseconds are means per question.</p>"
    ]
    retrieval = [name for name in metric_names(report.k) if not name.startswith("precision")]
    for dataset in report.datasets:
        rows = [row for row in report.rows if row["dataset"] == dataset]
        tables = _table("Retrieval", rows, retrieval) + _table(
            "Answers", rows, [*ANSWER_METRICS, *ABSTENTION]
        )
        parts.append(f'<div class="panel"><h3>{escape(dataset)}</h3>{tables}</div>')
    return "".join(parts)


def _table(title: str, rows: Sequence[Row], wanted: Sequence[str]) -> str:
    """Return a band of rows for each type; the change is that of the first metric there is."""
    names = [name for name in wanted if any(name in row["metrics"] for row in rows)]
    if not names:
        return ""
    metric, *further = names
    reach = reach_of(d for row in rows for d in differences(row, metric))
    head = "".join(f"<th>{escape(short_name(name))}</th>" for name in further)
    lines = [
        f'<tr><th class="left">{title}</th><th>{escape(short_name(metric))}</th><th colspan="2">change</th>'
        f"<th>p</th><th>won / lost</th>{head}<th>calls</th><th>ms</th></tr>"
    ]
    for kind in types_shown(rows):
        of_kind = [row for row in rows if row["type"] == kind]
        best = {name: max(row["metrics"].get(name, -1.0) for row in of_kind) for name in names}
        lines.append(
            f'<tr class="band"><td colspan="{len(names) + 7}">{escape(label_of(kind))}, '
            f"n={of_kind[0]['n']}</td></tr>"
        )
        lines += [_table_row(row, metric, best, reach) for row in of_kind]
    return f"<table>{''.join(lines)}</table>"


def _table_row(row: Row, metric: str, best: Mapping[str, float], reach: float) -> str:
    first, *further = (_figure_cell(row["metrics"].get(name), best[name]) for name in best)
    change = "<td></td><td></td><td></td><td></td>"
    for d in differences(row, metric):
        change = difference_cells(d, reach) + won_lost_cell(d)
    return (
        f'<tr class="{"subject" if row["arm"] == SUBJECT else ""}">'
        f'<td><i style="background:{charts.colour(row["arm"])}"></i>{escape(row["arm"])}</td>'
        f"{first}{change}{''.join(further)}"
        f"<td>{row['cost']['model_calls']:.1f}</td><td>{row['cost']['ms']:.0f}</td></tr>"
    )


def _figure_cell(value: float | None, best: float) -> str:
    return f'<td class="{"best" if value == best else ""}">{"" if value is None else f"{value:.3f}"}</td>'


def against_section(report: Report) -> str:
    """Return what changed since an earlier run, where there is one to compare with."""
    if not report.against:
        return ""
    metric = report.metric
    lines = "".join(
        f"<tr><td>{escape(row['dataset'])}</td><td class='left'>{escape(label_of(row['type']))}</td>"
        f"<td class='left'>{escape(row['arm'])}</td><td>{row['metrics'][metric]:.3f}</td>"
        f"{difference_cells(d, AGAINST_REACH)}{won_lost_cell(d)}<td>{d['n']}</td></tr>"
        for row in without_repeats(report.against)
        for d in differences(row, metric)
    )
    return (
        f'<p class="note">This run minus {escape(report.against_name)}, over the questions both hold.</p>'
        f'<div class="panel"><table><tr><th>data</th><th class="left">type</th><th class="left">arm</th>'
        f"<th>{escape(metric)}</th><th></th><th>change</th><th>p</th><th>won / lost</th><th>n</th></tr>"
        f"{lines}</table></div>"
    )
