"""Measures which of the calls before an answer pay, with a chat model's recorded plans.

    python -m benchmarks.calls DATASET... --replies FOLDER [--plot docs/calls.png]

Each question that has a recorded reply is asked three times: without any plan, with the plan of its
strategy (an enhanced query, sub-questions, viewpoints, a rewrite), and as the defaults have it. Everything
else goes its local way, answers too, so the differences are those of the plans alone. Prints Markdown tables.
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
# What is shown of each type, at every depth k.
MEASURES = {
    "factual": ("ndcg@{k}", "recall@{k}", "token_f1"),
    "analytical": ("ndcg@{k}", "recall@{k}", "token_f1"),
    "opinion": ("ndcg@{k}", "aspects@{k}", "both@{k}", "quoted_aspects", "quoted_both"),
    # the references of one of the public sets are a word: Yes or No
    "contextual": ("ndcg@{k}", "recall@{k}"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the arms at each depth, print the tables, and draw them where a file is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--replies", required=True, type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--depths", nargs="+", type=int, default=DEPTHS)
    parser.add_argument("--limit", type=int, help="ask a sample of so many questions a data set")
    parser.add_argument("--cache", type=Path, help="folder for the indexes")
    given = parser.parse_args(arguments)
    records = {k: run(given.datasets, given.replies, k, given.limit, given.cache) for k in given.depths}
    rows = [row for k in given.depths for row in summarise(records[k], k)]
    print(format_rows(rows))
    if given.plot:
        draw(rows, given.plot)


def run(
    datasets: Sequence[Path], replies: Path, k: int, limit: int | None = None, cache: Path | None = None
) -> list[QuestionRecord]:
    """Ask every question that has a reply of the three arms."""
    with tempfile.TemporaryDirectory() as folder:
        settings = RunSettings(k=k, limit=limit, answers=True, replies=str(replies))
        evaluate(Experiment(datasets, Path(folder) / "run", settings, ARMS, cache=cache))
        return read_records(Path(folder) / "run")


def summarise(records: Iterable[QuestionRecord], k: int) -> list[dict[str, Any]]:
    """Return a row for each data set, type and measure: the means, and the paired difference of the plan."""
    groups: dict[tuple[str, str], list[QuestionRecord]] = defaultdict(list)
    for record in records:
        if record["type"]:
            groups[record["dataset"], record["type"]].append(record)
    rows = []
    for (dataset, kind), group in sorted(
        groups.items(), key=lambda item: (list(PLANS).index(item[0][1]), item[0])
    ):
        for measure in (name.format(k=k) for name in MEASURES[kind]):
            judged = [r for r in group if all(measure in r["arms"][arm]["metrics"] for arm in ARMS)]
            if judged:
                values = {arm: [r["arms"][arm]["metrics"][measure] for r in judged] for arm in ARMS}
                [difference] = compare_all([(values[PLAN], values[NO_PLAN])])
                rows.append(
                    {"k": k, "dataset": dataset, "type": kind, "measure": measure, "n": len(judged)}
                    | {arm: fmean(values[arm]) for arm in ARMS}
                    | {
                        "difference": difference,
                        "calls": fmean(r["arms"][DEFAULT]["model_calls"] for r in judged),
                    }
                )
    return rows


def format_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as one Markdown table a type."""
    parts = []
    for kind, plan in PLANS.items():
        of_type = [row for row in rows if row["type"] == kind]
        if not of_type:
            continue
        lines = [
            f"### {kind.capitalize()}: {plan}\n",
            "| data | n | measure | without | with | difference, 95 % | by default | its calls |",
            "|---|--:|---|--:|--:|---|--:|--:|",
        ]
        for row in of_type:
            d = row["difference"]
            shown = f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"
            measure = row["measure"] if "@" in row["measure"] else f"{row['measure']}, k {row['k']}"
            lines.append(
                f"| {row['dataset']} | {row['n']} | {measure} | {row[NO_PLAN]:.3f} | {row[PLAN]:.3f} "
                f"| {f'**{shown}**' if is_sure(d) else shown} | {row[DEFAULT]:.3f} | {row['calls']:.2f} |"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draw the difference that each plan makes, with its interval, a panel a type."""
    from matplotlib import pyplot as plt

    from adaptive_rag.evaluation import plots
    from adaptive_rag.graph.strategies import STRATEGIES

    kinds = [kind for kind in PLANS if any(row["type"] == kind for row in rows)]
    longest = max(sum(row["type"] == kind for row in rows) for kind in kinds)
    across = min(2, len(kinds))
    down = -(-len(kinds) // across)
    reach = 1.05 * max(max(-row["difference"].low, row["difference"].high, 0.01) for row in rows)
    with plt.style.context(str(plots.STYLE)):
        size = 6 * across, (0.2 * longest + 0.6) * down
        figure, panels = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
        for kind, panel in zip(kinds, panels.flat, strict=False):
            of_type = [row for row in rows if row["type"] == kind][::-1]
            for place, row in enumerate(of_type):
                d = row["difference"]
                colour, alpha = STRATEGIES[kind].colour, 1 if is_sure(d) else 0.4
                panel.plot([d.low, d.high], [place, place], color=colour, lw=2, alpha=alpha)
                panel.plot(d.mean, place, "o", color=colour, ms=4)
            panel.axvline(0, color="0.6", lw=1)
            panel.set_xlim(-reach, reach)
            panel.set_yticks(range(len(of_type)), [label(row) for row in of_type], fontsize=7)
            panel.set_ylim(-0.7, len(of_type) - 0.3)
            panel.set_title(f"{kind}: {PLANS[kind]}", loc="left", fontsize=9)
        figure.supxlabel("gained by the plan, with its 95 % interval (pale: within chance)", fontsize=8)
        figure.savefig(file, dpi=130)
        plt.close(figure)


def is_sure(difference: Difference) -> bool:
    """Tell whether a difference is beyond chance, as the reports of an evaluation do."""
    return tone(vars(difference)) != "flat"


def label(row: Mapping[str, Any]) -> str:
    """Name a row: data set, measure, depth."""
    measure = row["measure"] if "@" in row["measure"] else f"{row['measure']}, k {row['k']}"
    return f"{row['dataset'].partition('_')[2] or row['dataset']} {measure}"


if __name__ == "__main__":
    main()
