"""Shows a run in the terminal: one table for each data set, and what is lost and won."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptive_rag.evaluation.answers import ABSTENTION, ANSWER_METRICS
from adaptive_rag.evaluation.arms import BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import headline, metric_names
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import DifferenceRow, Row
from adaptive_rag.evaluation.wording import format_p, label_of, short_name, types_shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# The columns of a difference, and how soon each goes where the terminal is narrow.
CHANGE = (("change", 1), ("95 %", 3), ("p", 1), ("won", 2), ("lost", 2))


def print_report(
    console: Console, rows: Sequence[Row], *, k: int, routing: RoutingReport | None = None
) -> None:
    """Print a table for each data set, and one line about the router."""
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        console.print(_table(dataset, [row for row in rows if row["dataset"] == dataset], k, console.width))
        console.print()
    if routing is not None:
        console.print(
            f"[bold]Router[/] over {routing.n} labelled questions: accuracy {routing.accuracy:.3f}, "
            f"macro-F1 {routing.macro_f1:.3f}, calibration error {routing.calibration_error:.3f}"
        )
    console.print(
        f"[dim]Differences: {headline(k)} (or quality) minus that of {BASELINE} on the same questions, "
        "with the 95 % bootstrap interval and p of the paired permutation test; [green]green[/] and "
        "[red]red[/] where the interval leaves out zero. ms: one question, on this machine.[/]"
    )


def print_against(console: Console, rows: Sequence[Row], *, k: int, name: str) -> None:
    """Print what changed since an earlier run."""
    shown: list[Row] = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        of_dataset = [row for row in rows if row["dataset"] == dataset]
        shown += [row for row in of_dataset if row["type"] in types_shown(of_dataset) and _metric(row, k)]

    def column(heading: str, rank: int, cell: Callable[[Row], str], *, left: bool = False) -> _Column:
        return _Column(heading, rank, {str(i): cell(row) for i, row in enumerate(shown)}, left)

    columns = [
        column("data", 3, lambda row: row["dataset"], left=True),
        column("type", 0, lambda row: label_of(row["type"]), left=True),
        column("arm", 0, lambda row: row["arm"], left=True),
        column("n", 1, lambda row: str(row["n"])),
        column("now", 0, lambda row: f"{row['metrics'][_metric(row, k) or '']:.3f}"),
        *(column(heading, rank, _change_at(place, k)) for place, (heading, rank) in enumerate(CHANGE)),
    ]
    table = _new_table(f"Since {name}", _fitting(columns, console.width))
    for number in range(len(shown)):
        table.add_row(*(column.cells[str(number)] for column in _fitting(columns, console.width)))
    console.print(table)


def _table(dataset: str, rows: Sequence[Row], k: int, width: int) -> Table:
    columns = _fitting(_columns(rows, k), width)
    table = _new_table(dataset, columns)
    kinds = types_shown(rows)
    for kind in kinds:
        for row in (row for row in rows if row["type"] == kind):
            style = "bold" if row["arm"] == SUBJECT else None
            table.add_row(*(column.cells[f"{kind} {row['arm']}"] for column in columns), style=style)
        if kind != kinds[-1]:
            table.add_row()
    return table


@dataclass(frozen=True)
class _Column:
    """One column; those of the highest rank go first where the terminal is narrow."""

    heading: str
    rank: int
    cells: dict[str, str]
    left: bool = False

    def width(self) -> int:
        from rich.text import Text

        texts = [self.heading, *(Text.from_markup(cell).plain for cell in self.cells.values())]
        return max(map(len, texts)) + 2


def _columns(rows: Sequence[Row], k: int) -> list[_Column]:
    rows = [row for row in rows if row["type"] in types_shown(rows)]
    first = {kind: next(row["arm"] for row in rows if row["type"] == kind) for kind in types_shown(rows)}

    def column(heading: str, rank: int, cell: Callable[[Row], str], *, left: bool = False) -> _Column:
        cells = {f"{row['type']} {row['arm']}": cell(row) for row in rows}
        return _Column(heading, rank, cells, left)

    def once(text: Callable[[Row], str]) -> Callable[[Row], str]:
        return lambda row: text(row) if row["arm"] == first[row["type"]] else ""

    columns = [
        column("type", 0, once(lambda row: label_of(row["type"])), left=True),
        column("arm", 0, lambda row: row["arm"], left=True),
        column("n", 0, once(lambda row: str(row["n"]))),
    ]
    shown = {name for row in rows for name in row["metrics"]}
    for name in (*metric_names(k), *ANSWER_METRICS, *ABSTENTION):
        if name in shown:
            columns.append(column(short_name(name), _rank(name, k), _figure_of(name, rows)))
    return [
        *columns,
        *(column(heading, rank, _change_at(place, k)) for place, (heading, rank) in enumerate(CHANGE)),
        column("calls", 4 if not any(row["cost"]["model_calls"] for row in rows) else 1, _calls),
        column("ms", 2, lambda row: f"{row['cost']['ms']:.0f}"),
    ]


def _fitting(columns: list[_Column], width: int) -> list[_Column]:
    """Leave out columns of the highest rank, the last first, until the rest fits."""
    while sum(column.width() for column in columns) > width + 2 and any(c.rank for c in columns):
        highest = max(column.rank for column in columns)
        last = max(i for i, column in enumerate(columns) if column.rank == highest)
        columns = columns[:last] + columns[last + 1 :]
    return columns


def _rank(name: str, k: int) -> int:
    if name in (headline(k), "quality", f"aspects@{k}"):
        return 0
    if name.startswith(("alpha", "both")):
        return 2
    if name.startswith(("recall", "mrr")) or name in ABSTENTION:
        return 3
    return 5


def _figure_of(name: str, rows: Sequence[Row]) -> Callable[[Row], str]:
    def figure(row: Row) -> str:
        value = row["metrics"].get(name)
        if value is None:
            return ""
        best = max(other["metrics"].get(name, 0.0) for other in rows if other["type"] == row["type"])
        return f"[cyan]{value:.3f}[/]" if value == best else f"{value:.3f}"

    return figure


def _calls(row: Row) -> str:
    return f"{row['cost']['model_calls']:.1f}"


def _new_table(title: str, columns: Sequence[_Column]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column.heading, justify="left" if column.left else "right", no_wrap=True)
    return table


def _change_at(place: int, k: int) -> Callable[[Row], str]:
    return lambda row: _against_baseline(row, k)[place]


def _against_baseline(row: Row, k: int) -> tuple[str, ...]:
    metric = _metric(row, k)
    if metric is None:
        return ("",) * len(CHANGE)
    d = row["against_standard"][metric]
    return (*_change(d), str(d["wins"]), str(d["losses"]))


def _metric(row: Row, k: int) -> str | None:
    return next((name for name in (headline(k), "quality") if name in row["against_standard"]), None)


def _change(d: DifferenceRow) -> tuple[str, str, str]:
    style = "green" if d["low"] > 0 else "red" if d["high"] < 0 else "default"
    return f"[{style}]{d['mean']:+.3f}[/]", f"{d['low']:+.3f} {d['high']:+.3f}", format_p(d["p"])
