"""Print a run in the terminal: one table for each data set, with the changes against the baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from adaptive_rag.evaluation import summary
from adaptive_rag.evaluation.arms import BASELINE, SUBJECT
from adaptive_rag.evaluation.judge import CRITERIA, OVERALL, TIE, JudgeReport
from adaptive_rag.evaluation.metrics import ABSTENTION, ANSWER_METRICS, column_of, headline, metric_names
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import DifferenceRow, SummaryRow

# The greatest line length of a text.
MEASURE = 96
STYLES = {"good": "green", "bad": "red", "flat": "default"}
# The columns that show a difference from the baseline: heading, rank and cell.
CHANGES: tuple[tuple[str, int, Callable[[DifferenceRow], str | Text]], ...] = (
    ("change", 1, lambda d: Text(f"{d['mean']:+.3f}", STYLES[summary.tone(d)])),
    ("95 %", 3, lambda d: f"{d['low']:+.3f} {d['high']:+.3f}"),
    ("p", 1, lambda d: summary.format_p(d["p"])),
    ("won/lost", 2, lambda d: f"{d['wins']}/{d['losses']}"),
)


class _Column(NamedTuple):
    """A column of a table; columns with the highest rank are dropped first if the terminal is narrow."""

    heading: str
    rank: int
    cells: Sequence[str | Text]
    justify: JustifyMethod = "right"

    def width(self) -> int:
        return max(len(text) for text in (self.heading, *self.cells)) + 2


def print_report(
    console: Console,
    rows: Sequence[SummaryRow],
    *,
    k: int,
    routing: RoutingReport | None = None,
    jobs: int = 1,
) -> None:
    """Print a table for each data set, a line about the router, and a legend."""
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        of_dataset = [row for row in summary.without_repeats(rows) if row["dataset"] == dataset]
        console.print(_build_table(dataset, of_dataset, _build_columns(of_dataset, k), console.width))
        console.print()
    if routing is not None:
        figures = (
            f" over {routing.n} labelled questions: accuracy {routing.accuracy:.3f}, "
            f"macro-F1 {routing.macro_f1:.3f}, calibration error {routing.calibration_error:.3f}"
        )
        console.print(Text.assemble(("Router", "bold"), figures), width=min(console.width, MEASURE))
    legend = (
        f"Differences: {headline(k)} (or quality) minus that of {BASELINE} on the same questions, "
        "with the 95 % bootstrap interval and p of the paired permutation test; ",
        ("green", "green"),
        " and ",
        ("red", "red"),
        f" {summary.SURE}. In brackets: of how many questions, where not of all. "
        f"ms: a question, {jobs} at a time, on this machine.",
    )
    console.print(Text.assemble(*legend, style="dim"), width=min(console.width, MEASURE))


def print_judge(console: Console, judged: JudgeReport) -> None:
    """Print a judge's results: how often each arm was best, the mean scores, and the analysis."""
    failed = f"No usable verdict came for {_questions(judged['failed'])}." if judged["failed"] else ""
    if not judged["n"]:
        reason = failed or "found no question with a reference and all answers."
        console.print(Text.assemble(("The judge", "bold"), f" {reason}\n"))
        return
    wins, means = judged["wins"], judged["means"]
    by_type = [_Column("type", 0, [summary.label_of(kind) for kind in wins], "left")]
    by_type += [
        _Column(name, 0, [str(row[name]) for row in wins.values()]) for name in (*judged["arms"], TIE)
    ]
    by_arm = [_Column("arm", 0, list(means), "left")]
    by_arm += [
        _Column(name, 0, [f"{row[name]:.1f}" for row in means.values()]) for name in (*CRITERIA, OVERALL)
    ]
    for title, columns in (
        (f"The judge: best answer of {_questions(judged['n'])}", by_type),
        ("The judge: mean scores, 0 to 10", by_arm),
    ):
        console.print(_build_plain_table(title, columns))
        console.print()
    legend = (
        "An arm is best only where all orders of the answers say so; else it is a tie. "
        f"The order changed the verdict on {judged['order_changed_verdict']} of {judged['n']}. {failed}\n"
    )
    width = min(console.width, MEASURE)
    console.print(Text(legend, "dim"), width=width)
    console.print(judged["analysis"], markup=False, width=width)
    console.print()


def _questions(number: int) -> str:
    return f"{number} question{'s' * (number != 1)}"


def _build_plain_table(title: str, columns: Sequence[_Column]) -> Table:
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column.heading, justify=column.justify)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(_cell, row))
    return table


def _cell(text: str | Text) -> Text:
    """Return a cell as a Text, so that Rich reads no markup in it, such as in a folder's name."""
    return text if isinstance(text, Text) else Text(text)


def _build_table(title: str, rows: Sequence[SummaryRow], columns: list[_Column], width: int) -> Table:
    """Return the rows with the columns that fit, a blank line between types, and the subject in bold."""
    while sum(column.width() for column in columns) > width + 2 and any(column.rank for column in columns):
        highest = max(column.rank for column in columns)
        columns.remove([column for column in columns if column.rank == highest][-1])
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column.heading, justify=column.justify, no_wrap=True)
    for number, row in enumerate(rows):
        if number and row["type"] != rows[number - 1]["type"]:
            table.add_row()
        style = "bold" if row["arm"] == SUBJECT else None
        table.add_row(*(_cell(column.cells[number]) for column in columns), style=style)
    return table


def _build_columns(rows: Sequence[SummaryRow], k: int) -> list[_Column]:
    # Only the first row of a type shows the type and its number of questions.
    first_arm = {row["type"]: row["arm"] for row in reversed(rows)}
    first_rows = [row if row["arm"] == first_arm[row["type"]] else None for row in rows]

    def format_metric(row: SummaryRow, name: str) -> str | Text:
        if name not in row["metrics"]:
            return ""
        value = row["metrics"][name]
        best = max(other["metrics"].get(name, 0.0) for other in rows if other["type"] == row["type"])
        return Text(summary.figure(row, name), "cyan" if value == best else "")

    present = {name for row in rows for name in row["metrics"]}
    names = [name for name in (*metric_names(k), *ANSWER_METRICS, *ABSTENTION) if name in present]
    has_calls = any(row["cost"]["model_calls"] for row in rows)
    return [
        _Column("type", 0, [summary.label_of(row["type"]) if row else "" for row in first_rows], "left"),
        _Column("arm", 0, [row["arm"] for row in rows], "left"),
        _Column("n", 0, [str(row["n"]) if row else "" for row in first_rows]),
        *(_Column(*column_of(name), [format_metric(row, name) for row in rows]) for name in names),
        *_change_columns(rows, k),
        _Column("calls", 1 if has_calls else 4, [f"{row['cost']['model_calls']:.1f}" for row in rows]),
        _Column("ms", 2, [f"{row['cost']['ms']:.0f}" for row in rows]),
    ]


def _change_columns(rows: Sequence[SummaryRow], k: int) -> list[_Column]:
    differences = [row["against_standard"] for row in rows]
    changes = [by_metric.get(headline(k)) or by_metric.get("quality") for by_metric in differences]
    return [_Column(name, rank, [cell(d) if d else "" for d in changes]) for name, rank, cell in CHANGES]
