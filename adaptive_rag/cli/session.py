"""What several commands do: index with a progress bar, and ask the graph."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptive_rag.cli.output import stderr

if TYPE_CHECKING:
    from adaptive_rag.index import IndexReport
    from adaptive_rag.state import OutputState


def answer(question: str, user_context: str, knobs: dict[str, Any]) -> tuple[OutputState, float]:
    """Ask one question and return the output with the seconds it took.

    Raises:
        AdaptiveRAGError: as the graph does.
    """
    from adaptive_rag.runnable import AdaptiveRAG

    started = time.perf_counter()
    output = AdaptiveRAG(**knobs).invoke({"question": question, "user_context": user_context})
    return output, time.perf_counter() - started


def index_documents(
    paths: Sequence[Path], knobs: dict[str, Any], *, quiet: bool = False, **settings: Any
) -> IndexReport:
    """Bring the index up to date with the paths, drawing progress to standard error.

    Raises:
        IndexingError: nothing could be read, or the index could not be written.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    from adaptive_rag.context import make_context
    from adaptive_rag.index import Index

    context = make_context(**knobs)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=stderr(),
        transient=True,
        disable=quiet,
    )
    with bar:
        task = bar.add_task("Indexing", total=None, rate="")

        def show(progress: Any) -> None:
            bar.update(task, completed=progress.done, total=progress.total, rate=progress.rate)

        report = Index.build(
            [str(path) for path in paths],
            str(context.index),
            embeddings=context.embeddings,
            progress=show,
            **settings,
        )
    for failure in report.failed:
        stderr().print(f"[yellow]Skipped[/] {failure.source}: {failure.reason}", markup=True)
    return report
