"""Measure which of the chat calls before an answer pay, with a chat model's recorded plans.

    python -m benchmarks.calls DATASET... --replies FOLDER [--plot docs/calls.png]

Each question that has a recorded reply is asked three times: without any plan, with the plan of its strategy
(an enhanced query, sub-questions, viewpoints or a rewrite), and with the default settings. All other steps,
the answer too, work locally, so that only the plans differ. The script prints Markdown tables.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from adaptive_rag.evaluation.experiment import Experiment, evaluate
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.records import QuestionRecord, read_records
from adaptive_rag.evaluation.statistics import Difference, compare_all
from adaptive_rag.evaluation.summary import tone

NO_PLAN, PLAN, DEFAULT = ARMS = ("with-no-plans", "with-all-plans", "adaptive")
DEPTHS = (4, 5, 10)
PLANS = {
    "factual": "enhanced query",
    "analytical": "sub-questions",
    "opinion": "viewpoints",
    "contextual": "rewrite",
}
# The measures of each type, at every depth k.
MEASURES = {
    "factual": ("ndcg@{k}", "recall@{k}", "token_f1"),
    "analytical": ("ndcg@{k}", "recall@{k}", "token_f1"),
    "opinion": ("ndcg@{k}", "aspects@{k}", "both@{k}", "quoted_aspects", "quoted_both"),
    # without answer metrics: in one of the public sets, the references are just "Yes" or "No"
    "contextual": ("ndcg@{k}", "recall@{k}"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the arms at each depth, print the tables, and draw them if a file is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--replies", required=True, type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--depths", nargs="+", type=int, default=DEPTHS)
    parser.add_argument("--limit", type=int, help="ask a sample of so many questions a data set")
    parser.add_argument("--cache", type=Path, help="folder for the indexes")
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for k in options.depths:
        records = run(options.datasets, options.replies, k, options.limit, options.cache)
        rows += summarise(records, k)
    print(format_rows(rows))
    if options.plot:
        draw(rows, options.plot)


def run(
    datasets: Sequence[Path], replies: Path, k: int, limit: int | None = None, cache: Path | None = None
) -> list[QuestionRecord]:
    """Ask the three arms every question that has a recorded reply."""
    with tempfile.TemporaryDirectory() as folder:
        settings = RunSettings(k=k, limit=limit, answers=True, replies=str(replies))
        evaluate(Experiment(datasets, Path(folder) / "run", settings, ARMS, cache=cache))
        return read_records(Path(folder) / "run")


def summarise(records: Iterable[QuestionRecord], k: int) -> list[dict[str, Any]]:
    """Return a row for each type, data set and measure: the means, and the paired difference of the plan."""
    groups: dict[tuple[int, str, str], list[QuestionRecord]] = defaultdict(list)
    for record in records:
        if record["type"]:
            position = list(PLANS).index(record["type"])
            groups[position, record["dataset"], record["type"]].append(record)
    rows = []
    for (_, dataset, kind), group in sorted(groups.items()):
        for measure in (name.format(k=k) for name in MEASURES[kind]):
            scored = [
                record["arms"]
                for record in group
                if all(measure in record["arms"][arm]["metrics"] for arm in ARMS)
            ]
            if not scored:
                continue
            values = {arm: [results[arm]["metrics"][measure] for results in scored] for arm in ARMS}
            [difference] = compare_all([(values[PLAN], values[NO_PLAN])])
            rows.append({
                "k": k, "dataset": dataset, "type": kind, "measure": measure, "n": len(scored),
                **{arm: fmean(values[arm]) for arm in ARMS},
                "difference": difference,
                "calls": fmean(results[DEFAULT]["model_calls"] for results in scored),
            })  # fmt: skip
    return rows


def format_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as one Markdown table per type."""
    tables = []
    for kind, plan in PLANS.items():
        rows_of_type = [row for row in rows if row["type"] == kind]
        if not rows_of_type:
            continue
        lines = [
            f"### {kind.capitalize()}: {plan}\n",
            "| data | n | measure | without | with | difference, 95 % | by default | its calls |",
            "|---|--:|---|--:|--:|---|--:|--:|",
        ]
        for row in rows_of_type:
            difference = row["difference"]
            change = f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
            change = f"**{change}**" if is_significant(difference) else change
            lines.append(
                f"| {row['dataset']} | {row['n']} | {measure_label(row)} | {row[NO_PLAN]:.3f} "
                f"| {row[PLAN]:.3f} | {change} | {row[DEFAULT]:.3f} | {row['calls']:.2f} |"
            )
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draw the difference that each plan makes, with its interval, in one panel per type."""
    from matplotlib import pyplot as plt

    from adaptive_rag.evaluation import plots
    from adaptive_rag.graph.strategies import STRATEGIES

    kinds = [kind for kind in PLANS if any(row["type"] == kind for row in rows)]
    most_rows = max(sum(row["type"] == kind for row in rows) for kind in kinds)
    columns = min(2, len(kinds))
    lines = -(-len(kinds) // columns)
    x_limit = 1.05 * max(max(-row["difference"].low, row["difference"].high, 0.01) for row in rows)
    with plt.style.context(str(plots.STYLE)):
        size = 6 * columns, (0.2 * most_rows + 0.6) * lines
        figure, panels = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
        for kind, panel in zip(kinds, panels.flat, strict=False):
            rows_of_type = [row for row in rows if row["type"] == kind][::-1]
            for y, row in enumerate(rows_of_type):
                difference = row["difference"]
                colour, alpha = STRATEGIES[kind].colour, 1 if is_significant(difference) else 0.4
                panel.plot([difference.low, difference.high], [y, y], color=colour, lw=2, alpha=alpha)
                panel.plot(difference.mean, y, "o", color=colour, ms=4)
            panel.axvline(0, color="0.6", lw=1)
            panel.set_xlim(-x_limit, x_limit)
            panel.set_yticks(range(len(rows_of_type)), [row_label(row) for row in rows_of_type], fontsize=7)
            panel.set_ylim(-0.7, len(rows_of_type) - 0.3)
            panel.set_title(f"{kind}: {PLANS[kind]}", loc="left", fontsize=9)
        figure.supxlabel("gained by the plan, with its 95 % interval (pale: within chance)", fontsize=8)
        figure.savefig(file, dpi=130)
        plt.close(figure)


def is_significant(difference: Difference) -> bool:
    """Return whether a difference is beyond chance, by the criterion of the evaluation's reports."""
    return tone(vars(difference)) != "flat"


def measure_label(row: Mapping[str, Any]) -> str:
    """Return the measure of a row with its depth."""
    return row["measure"] if "@" in row["measure"] else f"{row['measure']}, k {row['k']}"


def row_label(row: Mapping[str, Any]) -> str:
    """Return the data set, the measure and the depth of a row."""
    return f"{row['dataset'].partition('_')[2] or row['dataset']} {measure_label(row)}"


if __name__ == "__main__":
    main()
