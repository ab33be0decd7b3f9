"""Shows a run in the terminal: bars while it works, one table for each data set, what is lost and won."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from adaptive_rag.evaluation.arms import BASELINE, SUBJECT
from adaptive_rag.evaluation.metrics import ABSTENTION, ANSWER_METRICS, headline, metric_names
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.run import Advance
from adaptive_rag.evaluation.summary import Row, format_p, label_of, short_name, tone, types_shown
from adaptive_rag.index import Progress as IndexProgress

STYLES = {"good": "green", "bad": "red", "flat": "default"}


class Bars:
    """Shows how far indexing and asking are; the bars vanish when they are done."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True)
        self._indexing: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, note: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(note, markup=False)

    @contextmanager
    def open_bar(self, description: str, total: int) -> Iterator[Advance]:
        """Show a bar while its block runs; the block is given what moves it one step."""
        for task in self._indexing.values():
            self._progress.update(task, visible=False)
        task = self._progress.add_task(description, total=total)
        yield lambda: self._progress.advance(task)
        self._progress.update(task, visible=False)

    def show_index(self, name: str, state: IndexProgress) -> None:
        """Show how far the index of a data set is."""
        if name not in self._indexing:
            self._indexing[name] = self._progress.add_task(f"Indexing {name}", total=state.total)
        self._progress.update(self._indexing[name], completed=state.done, total=state.total)


@dataclass(frozen=True)
class _Column:
    """One column of a table; those of the highest rank go first where the terminal is narrow."""

    heading: str
    rank: int
    cell: Callable[[Row], str]
    left: bool = False

    def width(self, rows: Sequence[Row]) -> int:
        texts = [self.heading, *(Text.from_markup(self.cell(row)).plain for row in rows)]
        return max(map(len, texts)) + 2


def print_report(
    console: Console, rows: Sequence[Row], *, k: int, routing: RoutingReport | None = None
) -> None:
    """Print a table for each data set, and one line about the router."""
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        of_dataset = [row for row in rows if row["dataset"] == dataset]
        kinds = types_shown(of_dataset)
        shown = [row for kind in kinds for row in of_dataset if row["type"] == kind]
        console.print(_table(dataset, shown, _columns(shown, k), console.width, bands=True))
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
    columns = [
        _Column("data", 3, lambda row: row["dataset"], left=True),
        _Column("type", 0, lambda row: label_of(row["type"]), left=True),
        _Column("arm", 0, lambda row: row["arm"], left=True),
        _Column("n", 1, lambda row: str(row["n"])),
        _Column("now", 0, lambda row: f"{row['metrics'][_metric(row, k) or '']:.3f}"),
        *_change_columns(k),
    ]
    console.print(_table(f"Since {name}", shown, columns, console.width))


def _table(
    title: str, rows: Sequence[Row], columns: Sequence[_Column], width: int, *, bands: bool = False
) -> Table:
    """Return the rows with the columns that fit; `bands` sets types apart and the subject in bold."""
    columns = _fitting(columns, rows, width)
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column.heading, justify="left" if column.left else "right", no_wrap=True)
    for number, row in enumerate(rows):
        if bands and number and row["type"] != rows[number - 1]["type"]:
            table.add_row()
        style = "bold" if bands and row["arm"] == SUBJECT else None
        table.add_row(*(column.cell(row) for column in columns), style=style)
    return table


def _fitting(columns: Sequence[_Column], rows: Sequence[Row], width: int) -> list[_Column]:
    """Leave out columns of the highest rank, the last first, until the rest fits."""
    kept = list(columns)
    while sum(column.width(rows) for column in kept) > width + 2 and any(column.rank for column in kept):
        highest = max(column.rank for column in kept)
        kept.remove([column for column in kept if column.rank == highest][-1])
    return kept


def _columns(rows: Sequence[Row], k: int) -> list[_Column]:
    first = {row["type"]: row["arm"] for row in reversed(rows)}

    def once(text: Callable[[Row], str]) -> Callable[[Row], str]:
        return lambda row: text(row) if row["arm"] == first[row["type"]] else ""

    shown = {name for row in rows for name in row["metrics"]}
    names = [name for name in (*metric_names(k), *ANSWER_METRICS, *ABSTENTION) if name in shown]
    return [
        _Column("type", 0, once(lambda row: label_of(row["type"])), left=True),
        _Column("arm", 0, lambda row: row["arm"], left=True),
        _Column("n", 0, once(lambda row: str(row["n"]))),
        *(_Column(short_name(name), _rank(name, k), _figure_of(name, rows)) for name in names),
        *_change_columns(k),
        _Column(
            "calls",
            1 if any(row["cost"]["model_calls"] for row in rows) else 4,
            lambda row: f"{row['cost']['model_calls']:.1f}",
        ),
        _Column("ms", 2, lambda row: f"{row['cost']['ms']:.0f}"),
    ]


def _rank(name: str, k: int) -> int:
    if name in (headline(k), "quality", f"aspects@{k}"):
        return 0
    if name.startswith(("alpha", "both")):
        return 2
    if name.startswith(("recall", "mrr")) or name in ABSTENTION:
        return 3
    return 5


def _figure_of(name: str, rows: Sequence[Row]) -> Callable[[Row], str]:
    best = {
        kind: max(row["metrics"].get(name, 0.0) for row in rows if row["type"] == kind)
        for kind in {row["type"] for row in rows}
    }

    def figure(row: Row) -> str:
        value = row["metrics"].get(name)
        if value is None:
            return ""
        return f"[cyan]{value:.3f}[/]" if value == best[row["type"]] else f"{value:.3f}"

    return figure


def _change_columns(k: int) -> list[_Column]:
    """Return the columns of the difference from the baseline, empty where a row has none."""

    def cell(row: Row, part: str) -> str:
        metric = _metric(row, k)
        if metric is None:
            return ""
        d = row["against_standard"][metric]
        style = STYLES[tone(d)]
        return {
            "change": f"[{style}]{d['mean']:+.3f}[/]",
            "95 %": f"{d['low']:+.3f} {d['high']:+.3f}",
            "p": format_p(d["p"]),
            "won": str(d["wins"]),
            "lost": str(d["losses"]),
        }[part]

    ranks = {"change": 1, "95 %": 3, "p": 1, "won": 2, "lost": 2}
    return [_Column(part, rank, lambda row, part=part: cell(row, part)) for part, rank in ranks.items()]  # type: ignore[misc]


def _metric(row: Row, k: int) -> str | None:
    return next((name for name in (headline(k), "quality") if name in row["against_standard"]), None)
