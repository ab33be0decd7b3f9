"""`adaptive-rag index`: bring an index up to date with files and folders, check it, or repair it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import format_count, print_json, print_line, print_note, short_source
from adaptive_rag.cli.session import format_report, index_documents, showing_progress
from adaptive_rag.cli.skipped import print_notes, print_skipped
from adaptive_rag.cli.watch import watch_folders
from adaptive_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from adaptive_rag.context import Context
    from adaptive_rag.index import IndexCheck, IndexReport, RepairReport

MAX_SOURCES_NAMED = 10  # of the incomplete ones


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """How documents become an index: the options of `Index.build`."""

    embeddings: Annotated[
        str | None, Option(help="Embedding model, provider:name.", show_default=False, metavar="NAME")
    ] = None
    chunk_size: Annotated[int, Option(help="Maximum characters of a chunk.", metavar="N")] = 1000
    chunk_overlap: Annotated[int, Option(help="Characters repeated from the last.", metavar="N")] = 200
    no_sentence_vectors: Annotated[
        bool, Option("--no-sentence-vectors", help="Store no vectors of sentences.")
    ] = False
    include: Annotated[list[str] | None, Option(help="Read only files like '*.md'.", metavar="PATTERN")] = (
        None
    )
    exclude: Annotated[list[str] | None, Option(help="Skip these files.", metavar="PATTERN")] = None
    prune: Annotated[bool, Option(help="Remove deleted documents.")] = True
    rebuild: Annotated[bool, Option("--rebuild", help="Make a new index from PATH alone.")] = False
    ray: Annotated[str | None, Option(help="Ray cluster: HOST:PORT, auto or local.", metavar="ADDRESS")] = (
        None
    )
    shards: Annotated[int | None, Option(help="Split a new index into shards.", metavar="NUMBER")] = None

    def build_arguments(self) -> dict[str, Any]:
        """Return the arguments of `Index.build`, except the embedding model and the documents."""
        arguments = vars(self) | {"include": self.include or (), "exclude": self.exclude or ()}
        arguments["sentence_vectors"] = not arguments.pop("no_sentence_vectors")
        del arguments["embeddings"]
        return arguments


@dataclass(frozen=True, kw_only=True)
class IndexMode:
    """What to do in place of a single indexing run."""

    watch: Annotated[bool, Option("--watch", help="Keep running; index each change.")] = False
    check: Annotated[bool, Option("--check", help="Check the index; exit 1 if damaged.")] = False
    deep: Annotated[bool, Option("--deep", help="With --check: compare contents.")] = False
    repair: Annotated[bool, Option("--repair", help="Repair the index; exit 1 if text is lost.")] = False


def index(
    build_options: IndexOptions,
    mode: IndexMode,
    paths: Annotated[
        list[str] | None,
        Argument(metavar="PATH", help="Files, folders, patterns or web addresses.", show_default=False),
    ] = None,
    index: options.Index = None,
    depth: Annotated[int, Option(help="Links to follow on a web site.", min=0, metavar="N")] = 0,
    verbose: Annotated[
        int, Option("--verbose", "-v", count=True, help="Name each skipped file.", show_default=False)
    ] = 0,
    as_json: options.Json = False,
) -> None:
    """Bring an index up to date with files, folders and web addresses.

    Exits 1 if something could not be read. Patterns are those of .gitignore.
    """
    _check_options(paths, mode, build_options)
    from adaptive_rag.context import make_context
    from adaptive_rag.index.location import open_location

    settings = options.collect_settings(index=index, embeddings=build_options.embeddings)
    if mode.check:
        _check(make_context(settings), deep=mode.deep, as_json=as_json)
        return
    if mode.repair:
        _repair(make_context(settings), as_json=as_json)
        return

    told = set[Any]()

    def run() -> IndexReport:
        nonlocal told
        report = index_documents(paths or [], settings, depth=depth, **build_options.build_arguments())
        # A watch names a problem when it appears, and not again with each change of another file.
        is_old = told.__contains__
        news = replace(
            report,
            failed=[*filterfalse(is_old, report.failed)],
            unknown=[*filterfalse(is_old, report.unknown)],
            notes=[*filterfalse(is_old, report.notes)],
        )
        told = {*report.failed, *report.unknown, *report.notes}
        print_skipped(news, verbose=bool(verbose))
        if mode.watch and not (report.changed or report.failed):
            return report  # a watched folder may change in files that are not indexed: that is no news
        if as_json:
            print_json(report)
        else:
            print_line(format_report(report))
            print_notes(news, verbose=bool(verbose))
        return report

    if mode.watch:
        index_folder = open_location(str(make_context(settings).index)).path
        watch_folders([Path(path) for path in paths or []], index_folder, run)
    elif run().failed:
        raise Exit(1)


def _check_options(paths: list[str] | None, mode: IndexMode, build_options: IndexOptions) -> None:
    """Raise a ConfigurationError if options do not go together."""
    modes = [f"--{name}" for name in ("check", "repair") if getattr(mode, name)]
    if mode.deep and not mode.check:
        raise ConfigurationError("--deep goes with --check: adaptive-rag index --check --deep")
    if len(modes) == 2 or (modes and build_options.rebuild):
        raise ConfigurationError("Use only one of --check, --repair and --rebuild.")
    if mode.watch and (modes or build_options.rebuild):
        raise ConfigurationError(
            "--watch cannot be combined with --check, --repair or --rebuild: run these before it."
        )
    if modes and build_options.ray:
        raise ConfigurationError(f"{modes[0]} runs in this process: leave --ray out.")
    if modes and build_options.shards:
        raise ConfigurationError("--shards is for making an index: leave it out.")
    if modes and paths:
        raise ConfigurationError(f"{modes[0]} covers the whole index: leave out {paths[0]!r}.")
    if not modes and not paths:
        raise ConfigurationError("Name the files or folders to index: adaptive-rag index PATH")


def _check(context: Context, *, deep: bool, as_json: bool) -> None:
    from adaptive_rag.index import Index

    result = Index.check(str(context.index), deep=deep)
    if as_json:
        print_json({"healthy": result.healthy, **asdict(result)})
    else:
        _print_check(result)
    if not result.healthy:
        raise Exit(1)


def _print_check(result: IndexCheck) -> None:
    content = f"{format_count(result.chunks, 'chunk')} of {format_count(result.sources, 'source')}"
    files = f"{format_count(result.files, 'file')}, {result.bytes / 1e6:,.1f} MB"
    print_line(f"{result.index}: {content} · {files}")
    _print_damages(result.damages)
    for source in result.incomplete[:MAX_SOURCES_NAMED]:
        print_line(f"    {short_source(source)}")
    if len(result.incomplete) > MAX_SOURCES_NAMED:
        print_line(f"    and {len(result.incomplete) - MAX_SOURCES_NAMED:,} more")
    if result.healthy:
        verdict = "Sizes and counts are right; --deep compares the contents."
        print_line("Contents are as they were written." if result.deep else verdict, style="bold")
    else:
        print_line(f"{format_count(len(result.damages), 'damage')}. To mend the index:", style="bold")
    if result.mend:
        print_line(f"    {result.mend}")


def _print_damages(damages: Iterable[tuple[str, str]]) -> None:
    for part, problem in damages:
        print_line(("  ✗ ", "bold red"), f"{part}: {problem}")


def _repair(context: Context, *, as_json: bool) -> None:
    from adaptive_rag.index import Index

    with showing_progress("Repairing") as (show, print_message):
        report = Index.repair(
            str(context.index), embeddings=context.embeddings, progress=show, on_wait=print_message
        )
    if as_json:
        print_json(report)
    else:
        _print_repair(report)
    if report.lost:
        raise Exit(1)


def _print_repair(report: RepairReport) -> None:
    _print_damages(report.damages)
    outcomes = {"read again": report.read_again, "restored": report.restored, "lost": report.lost}
    counts = {"whole": report.whole} | {name: len(sources) for name, sources in outcomes.items()}
    sources = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count) or "none"
    result = "Mended" if report.damages else "Nothing was damaged"
    chunks = format_count(report.chunks, "chunk")
    print_line(f"{result} · sources: {sources} · {chunks} in the index")
    for source in report.restored:
        print_line(
            f"Restored: {short_source(source)} is kept, but its pages and metadata could not be checked. "
            "To be sure, index it again."
        )
    for source, reason in report.lost.items():
        print_note(("Lost: ", "bold red"), f"{short_source(source)}: {reason}")
    if report.lost:
        from adaptive_rag.index.manifest import quoted

        print_note(f"To index what was lost again: adaptive-rag index PATH --index {quoted(report.index)}")
