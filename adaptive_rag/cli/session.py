"""What several commands do: index with a progress bar, and ask the graph."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptive_rag.cli.output import short_source, stderr

if TYPE_CHECKING:
    from adaptive_rag.index import IndexReport, Progress
    from adaptive_rag.source import ChunkSource
    from adaptive_rag.state import OutputState


def answer(question: str, user_context: str, knobs: dict[str, Any]) -> tuple[OutputState, float]:
    """Ask one question, printing nothing, and return the output with the seconds it took.

    Raises:
        AdaptiveRAGError: as the graph does.
    """
    from adaptive_rag.runnable import AdaptiveRAG

    started = time.perf_counter()
    output = AdaptiveRAG(**knobs).invoke({"question": question, "user_context": user_context})
    return output, time.perf_counter() - started


def show_answer(question: str, user_context: str, knobs: dict[str, Any]) -> OutputState:
    """Ask one question and print its answer; a model's while it writes, where somebody watches.

    Raises:
        AdaptiveRAGError: as the graph does.
    """
    from adaptive_rag.cli.answers import print_answer
    from adaptive_rag.cli.output import stdout
    from adaptive_rag.runnable import AdaptiveRAG

    if stdout().is_terminal and (rag := AdaptiveRAG(**knobs)).context.model is not None:
        from adaptive_rag.cli.streaming import answer_live

        output, _ = answer_live(rag, {"question": question, "user_context": user_context})
        return output
    output, seconds = answer(question, user_context, knobs)
    print_answer(output, seconds)
    return output


def index_documents(paths: Sequence[Path], knobs: dict[str, Any], **settings: Any) -> IndexReport:
    """Bring the index up to date with the paths, drawing progress to standard error.

    Raises:
        IndexingError: nothing could be read, or the index could not be written.
    """
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    from adaptive_rag.context import make_context
    from adaptive_rag.index import Index

    context = make_context(**knobs)
    console = stderr()
    bar = Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[facts]}", style="dim", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("Indexing", total=None, facts="")

        def show(progress: Progress) -> None:
            bar.update(
                task, completed=progress.done, total=max(progress.total, 1), facts=format_progress(progress)
            )

        def wait(message: str) -> None:
            console.print(message, markup=False, soft_wrap=True)

        report = Index.build(
            [str(path) for path in paths],
            str(context.index),
            embeddings=context.embeddings,
            progress=show,
            on_wait=wait,
            **settings,
        )
    for failure in report.failed:
        said = f"{short_source(failure.source)} {failure.reason}"
        console.print(f"[yellow]Skipped:[/] {_plain(said)}", soft_wrap=True)
    return report


def index_named(paths: Sequence[Path], knobs: dict[str, Any]) -> str | ChunkSource:
    """Index what is new under the paths, and return the place that holds these documents alone.

    Raises:
        IndexingError: none of them could be read.
    """
    from adaptive_rag.context import make_context
    from adaptive_rag.index.filtered import narrow_to

    context = make_context(**knobs)
    return narrow_to(index_documents(paths, knobs), str(context.index), context.embeddings)


def format_progress(progress: Progress) -> str:
    """Say how many chunks are done, how fast, and how long it will take."""
    facts = [f"{progress.done:,} of about {progress.total:,} chunks", f"{progress.rate:.0f}/s"]
    if progress.seconds_left is not None:
        facts.append(f"{_duration(progress.seconds_left)} left")
    return " · ".join(facts)


def format_report(report: IndexReport) -> str:
    """Say in a line what an indexing run did."""
    done = [
        f"{count} {what}"
        for count, what in (
            (report.added, "added"),
            (report.updated, "updated"),
            (report.removed, "removed"),
            (report.unchanged, "unchanged"),
            (len(report.failed), "not readable"),
        )
        if count
    ]
    parts = [f"Documents: {', '.join(done) or 'none'}"]
    if report.chunks:
        parts.append(f"{report.chunks:,} chunks written")
    parts += [f"{report.total_chunks:,} chunks in the index", _duration(report.seconds)]
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
