"""Writes a run as a page of Markdown: what docs/results.md holds, and the README quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adaptive_rag.evaluation.answers import ANSWER_METRICS
from adaptive_rag.evaluation.arms import BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import coverage_names, metric_names
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import ALL, DifferenceRow, Row
from adaptive_rag.evaluation.wording import format_p, headline_of, label_of, types_shown, without_repeats


def render_markdown(
    about: Mapping[str, Any],
    rows: Sequence[Row],
    pooled: Sequence[Row],
    *,
    k: int,
    routing: RoutingReport | None,
    command: str,
) -> str:
    """Return the page: where the figures come from, the verdict by type, the losses, every arm."""
    metric = headline_of(rows, k)
    model = about.get("settings", {}).get("knobs", {}).get("model")
    total = sum(row["n"] for row in rows if row["type"] == ALL and row["arm"] == rows[0]["arm"])
    parts = [
        "# Results",
        f"`{command}` wrote this page.",
        "\n".join(
            [
                f"- Data: {total} questions of {', '.join(dict.fromkeys(row['dataset'] for row in rows))}",
                f"- Code: adaptive-rag {about.get('version', '?')}, commit {about.get('commit', 'unknown')}",
                f"- Machine: {about.get('machine', '?')}",
                f"- Chat model: {model or 'none; the local stand-ins did every step'}",
                f"- Finished: {about.get('finished', '?')}",
            ]
        ),
        f"## {SUBJECT.capitalize()} against {BASELINE}",
        f"`{metric}` on the same questions over the same index; in brackets the 95 % bootstrap interval "
        "of the paired difference, p of the two-sided paired permutation test. A difference is set in bold "
        "where its interval leaves out zero.",
        _verdict(rows, pooled, metric),
        *_coverage(rows, k),
        "### Losses",
        _losses(rows, k),
        *(_router(routing) if routing else []),
        "## Every arm",
        *(_arms(dataset, rows, k) for dataset in dict.fromkeys(row["dataset"] for row in rows)),
    ]
    return "\n\n".join(parts) + "\n"


def _verdict(rows: Sequence[Row], pooled: Sequence[Row], metric: str) -> str:
    # A type that occurs in one data set has nothing to pool.
    spread = {kind for kind in {row["type"] for row in rows} if len(_datasets(rows, kind)) > 1}
    shown = [*without_repeats(rows), *(row for row in pooled if row["type"] in spread)]
    baseline = {(row["dataset"], row["type"]): row for row in (*rows, *pooled) if row["arm"] == BASELINE}
    lines = [
        f"| data | type | n | {BASELINE} | {SUBJECT} | difference | p | won | lost | even |",
        "|---|---|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for row in shown:
        if row["arm"] == SUBJECT and metric in row["against_standard"]:
            d = row["against_standard"][metric]
            before = baseline[row["dataset"], row["type"]]["metrics"][metric]
            lines.append(
                f"| {row['dataset']} | {label_of(row['type'])} | {d['n']} | {before:.3f} "
                f"| {row['metrics'][metric]:.3f} | {_difference(d)} | {format_p(d['p'])} "
                f"| {d['wins']} | {d['losses']} | {d['ties']} |"
            )
    return "\n".join(lines)


def _coverage(rows: Sequence[Row], k: int) -> list[str]:
    """Return the coverage of opinion questions, where the data know aspects."""
    lines = []
    for row in rows:
        if (row["arm"], row["type"]) != (SUBJECT, "opinion"):
            continue
        for name in coverage_names(k):
            if name in row["against_standard"]:
                d = row["against_standard"][name]
                ours = row["metrics"][name]
                lines.append(
                    f"| {row['dataset']} | {name} | {d['n']} | {ours - d['mean']:.3f} | {ours:.3f} "
                    f"| {_difference(d)} | {format_p(d['p'])} | {d['wins']} | {d['losses']} | {d['ties']} |"
                )
    if not lines:
        return []
    head = [
        f"| data | metric | n | {BASELINE} | {SUBJECT} | difference | p | won | lost | even |",
        "|---|---|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    return ["### Opinion: how many sides are heard", "\n".join([*head, *lines])]


def _datasets(rows: Sequence[Row], kind: str) -> set[str]:
    return {row["dataset"] for row in rows if row["type"] == kind}


def _difference(d: DifferenceRow) -> str:
    mean = f"{d['mean']:+.3f}"
    sure = d["low"] > 0 or d["high"] < 0
    return f"{f'**{mean}**' if sure else mean} [{d['low']:+.3f}, {d['high']:+.3f}]"


def _losses(rows: Sequence[Row], k: int) -> str:
    lines = []
    for row in rows:
        if row["arm"] != SUBJECT or row["type"] == ALL:
            continue
        for name in (*metric_names(k), *ANSWER_METRICS):
            d = row["against_standard"].get(name)
            if d and d["mean"] < 0:
                sure = "beyond chance" if d["high"] < 0 else "within chance"
                lines.append(
                    f"- {row['type']} in {row['dataset']}: `{name}` {d['mean']:+.3f} "
                    f"[{d['low']:+.3f}, {d['high']:+.3f}], n={d['n']}, {sure}"
                )
    return "\n".join(lines) or f"No metric of any type lies below that of {BASELINE}."


def _router(routing: RoutingReport) -> list[str]:
    types = list(routing.f1)
    head = "| label | " + " | ".join(types) + " | F1 |"
    lines = [head, "|---|" + "--:|" * (len(types) + 1)]
    for label in types:
        counts = " | ".join(str(routing.confusion[label][predicted]) for predicted in types)
        lines.append(f"| {label} | {counts} | {routing.f1[label]:.3f} |")
    return [
        "## The router",
        f"Over {routing.n} labelled questions: accuracy {routing.accuracy:.3f}, "
        f"macro-F1 {routing.macro_f1:.3f}, expected calibration error {routing.calibration_error:.3f}, "
        f"area under the risk-coverage curve {routing.risk_area:.3f}. Rows are labels, columns what was "
        "chosen.",
        "\n".join(lines),
    ]


def _arms(dataset: str, rows: Sequence[Row], k: int) -> str:
    rows = [row for row in rows if row["dataset"] == dataset]
    names = [
        name for name in (*metric_names(k), *ANSWER_METRICS) if any(name in row["metrics"] for row in rows)
    ]
    lines = [
        f"### {dataset}",
        "",
        "| type | n | arm | " + " | ".join(names) + " | calls | ms |",
        "|---|--:|---|" + "--:|" * (len(names) + 2),
    ]
    for kind in types_shown(rows):
        for row in rows:
            if row["type"] == kind:
                figures = " | ".join(
                    f"{row['metrics'][name]:.3f}" if name in row["metrics"] else "" for name in names
                )
                lines.append(
                    f"| {label_of(kind)} | {row['n']} | {row['arm']} | {figures} "
                    f"| {row['cost']['model_calls']:.1f} | {row['cost']['ms']:.0f} |"
                )
    return "\n".join(lines)
