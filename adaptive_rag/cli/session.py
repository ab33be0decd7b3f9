"""Functions that several commands share: ask the graph, and index with a progress bar."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text

from adaptive_rag.cli.answers import print_answer, print_trace
from adaptive_rag.cli.output import format_count, shorten, stderr
from adaptive_rag.cli.skipped import print_skipped
from adaptive_rag.errors import AdaptiveRAGError, InputError
from adaptive_rag.ingest import Site
from adaptive_rag.ingest.web import is_address
from adaptive_rag.text.languages import label_for
from adaptive_rag.text.redaction import PiecewiseRedactor
from adaptive_rag.text.visible import visible

if TYPE_CHECKING:
    from adaptive_rag.index import IndexReport, Progress
    from adaptive_rag.runnable import AdaptiveRAG
    from adaptive_rag.state import OutputState

# Characters that are shown of a draft, from its end.
DRAFT_LENGTH = 240
# Characters that are shown of the address that is being fetched.
ADDRESS_LENGTH = 40
# For a run on Ray: how many nodes are named, and the characters of a name.
MAX_NODES_SHOWN, NODE_NAME_LENGTH = 4, 24


def show_answer(
    question: str, user_context: str, settings: dict[str, Any], *, trace: bool = False, paths: bool = False
) -> None:
    """Ask one question and print its answer; a terminal shows a model's draft while it is written."""
    from adaptive_rag.runnable import AdaptiveRAG

    started = time.perf_counter()
    rag = AdaptiveRAG(**settings)
    state = {"question": question, "user_context": user_context}
    if stderr().is_terminal and rag.context.model is not None:
        output = answer_live(rag, state, paths=paths)
    else:
        output = rag.invoke(state)
        print_answer(output, time.perf_counter() - started, rag.context, paths=paths)
    if trace:
        print_trace(output["trace"])


def answer_live(
    rag: AdaptiveRAG, state: dict[str, Any], config: dict[str, Any] | None = None, *, paths: bool = False
) -> OutputState:
    """Ask, print the answer and return the output.

    Meanwhile standard error shows the step that runs, and the end of the draft that a model is writing. As
    the draft is not checked yet, it is erased at the end, and the checked answer is printed.
    """
    from langchain_core.messages import AIMessageChunk

    started = time.perf_counter()
    output: dict[str, Any] = {}
    draft, attempt, redactor = "", None, PiecewiseRedactor()
    modes = {"stream_mode": ["messages", "custom", "values"], "subgraphs": True}
    with stderr().status(label_for("progress", "classify"), spinner="dots") as status:
        for namespace, mode, part in rag.stream(state, config, **modes):  # type: ignore[arg-type]
            # Values with a namespace are those of a strategy's subgraph, not of the whole run.
            if mode == "values" and not namespace:
                output = part
            elif mode == "custom" and part.get("event") == "started":
                status.update(label_for("progress", part["step"]))
            elif mode == "messages" and isinstance(part[0], AIMessageChunk):
                if part[1].get("attempt") != attempt:
                    draft, attempt, redactor = "", part[1].get("attempt"), PiecewiseRedactor()
                draft += redactor.feed(part[0].text)
                status.update(_format_draft(draft))
    final = cast("OutputState", output)
    print_answer(final, time.perf_counter() - started, rag.context, paths=paths)
    return final


def _format_draft(draft: str) -> Text:
    """Format the end of a draft for a few lines of the terminal, without escape sequences."""
    end = " ".join(visible(draft[-2 * DRAFT_LENGTH :]).split())[-DRAFT_LENGTH:]
    return Text.assemble("writing  ", (end, "dim italic"))


@contextmanager
def showing_progress(activity: str) -> Iterator[tuple[Callable[[Progress], None], Callable[[str], None]]]:
    """Show the progress of a run on standard error; yield its callbacks for progress and for messages."""
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    console = stderr()
    facts = TextColumn("{task.fields[facts]}", style="dim", markup=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), facts)
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(activity, total=None, facts="")

        def show(state: Progress) -> None:
            total = None if state.fetching else max(state.total, 1)
            bar.update(task, completed=state.done, total=total, facts=format_progress(state))

        def print_message(message: str) -> None:
            console.print(message, markup=False, soft_wrap=True)

        def announce_stop() -> None:
            if console.is_terminal:
                bar.update(task, description="Stopping")
            else:
                print_message("Stopping.")

        with _calling_at_interrupt(announce_stop):
            yield show, print_message


@contextmanager
def _calling_at_interrupt(announce: Callable[[], None]) -> Iterator[None]:
    """Call a function as soon as Ctrl-C is pressed, since saving what is complete can take seconds."""
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_usual or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        announce()
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def index_documents(
    paths: Sequence[Path | str],
    settings: dict[str, Any],
    *,
    depth: int = 0,
    **build_arguments: Any,
) -> IndexReport:
    """Bring the index up to date with paths and web addresses, and show the progress on standard error."""
    from adaptive_rag.context import make_context
    from adaptive_rag.index import Index

    context = make_context(settings)
    web = context.web.model_dump()
    with showing_progress("Indexing") as (show, print_message):
        return Index.build(
            [Site(path, depth, **web) if is_address(path) else str(path) for path in paths],
            str(context.index),
            embeddings=context.embeddings,
            progress=show,
            on_wait=print_message,
            **build_arguments,
        )


def restrict_to_documents(docs: Sequence[str] | None, settings: dict[str, Any]) -> dict[str, Any]:
    """Index the given documents where they are new; return settings that search only these documents."""
    from adaptive_rag.context import make_context
    from adaptive_rag.index.index import narrow_to

    if not docs:
        return settings
    context = make_context(settings)
    uri = str(context.index)
    try:
        # Paths: only `index` takes addresses. An empty text would be the path of this folder.
        report = index_documents([Path(doc) if doc else doc for doc in docs], settings)
    except InputError as error:
        raise InputError(f"{error}{_hint_at_names(docs, uri)}") from None
    print_skipped(report, verbose=False)
    return {**settings, "index": narrow_to(report, uri, context.embeddings)}


def _hint_at_names(docs: Sequence[str], uri: str) -> str:
    """Return how to search a document that the index has under such a name, but that is no file here."""
    from adaptive_rag.index.sources import begins_so, list_sources

    missing = [Path(doc).as_posix() for doc in docs if not os.path.exists(doc)]
    try:
        sources = [document.source for document in list_sources(uri)] if missing else []
    except AdaptiveRAGError:  # there is no index yet
        return ""
    source = next((each for each in sources if any(begins_so(each, name) for name in missing)), None)
    if source is None:
        return ""
    return f" The index has {source!r}; to search it: --where 'source = \"{source}\"'"


def format_progress(progress: Progress) -> str:
    """Return how many chunks are done, the rate and the time left; or which page is being fetched."""
    if fetching := progress.fetching:
        pages = f"{format_count(fetching.fetched, 'page')} fetched, {fetching.waiting:,} waiting"
        return f"{pages} · {fetching.bytes / 1e6:,.1f} MB · {shorten(fetching.address, ADDRESS_LENGTH)}"
    facts = [f"{progress.done:,} of about {progress.total:,} chunks", f"{progress.rate:.0f}/s"]
    if progress.seconds_left is not None:
        facts.append(f"{_format_duration(progress.seconds_left)} left")
    if progress.nodes:
        by_node = [
            f"{shorten(name, NODE_NAME_LENGTH)} {done:,}" for name, done in sorted(progress.nodes.items())
        ]
        hidden = len(by_node) - MAX_NODES_SHOWN
        more = f" and {format_count(hidden, 'node')} more" if hidden > 0 else ""
        facts.append(", ".join(by_node[:MAX_NODES_SHOWN]) + more)
    return " · ".join(facts)


def format_report(report: IndexReport) -> str:
    """Return in one line what an indexing run did."""
    outcomes = ("added", "updated", "moved", "removed", "unchanged")
    counts = {outcome: getattr(report, outcome) for outcome in outcomes}
    counts |= {"not readable": len(report.failed), "of a kind that is not read": len(report.unknown)}
    documents = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count)
    parts = [f"Documents: {documents or 'none'}"]
    if report.copies:
        parts.append(f"{report.copies:,} of the same content as another")
    if report.chunks:
        parts.append(f"{format_count(report.chunks, 'chunk')} written")
    parts += [f"{format_count(report.total_chunks, 'chunk')} in the index", _format_duration(report.seconds)]
    return " · ".join(parts)


def _format_duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
