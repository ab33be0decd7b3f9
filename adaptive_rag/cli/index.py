"""`adaptive-rag index`: bring an index up to date with files and folders; check it; mend it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Exit, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import count_of, print_json, print_line, print_note, short_source
from adaptive_rag.cli.session import format_report, index_documents, showing_progress
from adaptive_rag.cli.skipped import print_notes
from adaptive_rag.cli.watch import watch_folders

if TYPE_CHECKING:
    from adaptive_rag.index import IndexCheck, IndexReport, RepairReport

NAMED = 10  # sources that are not whole, as they are named at most


def index(
    paths: Annotated[
        list[str] | None,
        Argument(
            help="Files, folders or web addresses (https://...) to index.", metavar="PATH", show_default=False
        ),
    ] = None,
    index: options.Index = None,
    embeddings: Annotated[
        str | None, Option(help="Embedding model as provider:name.", show_default="the embedded one")
    ] = None,
    chunk_size: Annotated[
        int, Option(help="Characters a chunk has at most; no more than the embedding model reads.")
    ] = 1000,
    chunk_overlap: Annotated[int, Option(help="Characters that neighbours share at most.")] = 200,
    sentence_vectors: Annotated[
        Literal["apart", "pooled", "none"],
        Option(help="Vectors of sentences: each embedded by itself, all from their chunk's run, or none."),
    ] = "apart",
    include: Annotated[
        list[str] | None,
        Option(
            help="Read only files of the folders that match this pattern, such as '*.md'.", metavar="PATTERN"
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        Option(
            help="Leave these out as well; with '!' before it read what is otherwise left out.",
            metavar="PATTERN",
        ),
    ] = None,
    depth: Annotated[
        int, Option(help="Of a web address: links to follow, one after the other, on its site.", min=0)
    ] = 0,
    prune: Annotated[bool, Option(help="Remove what vanished from the folders and sites named.")] = True,
    rebuild: Annotated[
        bool, Option("--rebuild", help="Make the index anew, with these settings, also over a damaged one.")
    ] = False,
    ray: Annotated[
        str | None,
        Option(
            help="Read and embed on a Ray cluster: its HOST:PORT, 'auto' for one that runs on this machine, "
            "'local' to start one.",
            metavar="ADDRESS",
        ),
    ] = None,
    shards: Annotated[
        int | None,
        Option(
            help="Make a new index of so many shards, which one question asks side by side; with --ray "
            "each is made by a worker of its own.",
            metavar="NUMBER",
        ),
    ] = None,
    watch: Annotated[
        bool, Option("--watch", help="Go on: index the folders again whenever something in them changes.")
    ] = False,
    check: Annotated[
        bool, Option("--check", help="Check the index and change nothing; exit 1 where it is damaged.")
    ] = False,
    deep: Annotated[
        bool, Option("--deep", help="With --check: read all contents, compare checksums, check each row.")
    ] = False,
    repair: Annotated[
        bool, Option("--repair", help="Mend a damaged index; name what is lost, and exit 1 then.")
    ] = False,
    verbose: Annotated[
        int, Option("--verbose", "-v", count=True, help="Name each file that is skipped, and log each step.")
    ] = 0,
    as_json: options.Json = False,
) -> None:
    """Bring an index up to date with files, folders and web pages; what is unchanged costs nothing.

    Files that cannot be read are named on standard error with the reason, and the others are indexed. The
    exit code is 0 where everything was read, 1 where something was not, and 130 after Ctrl-C.

    In folders, hidden files, node_modules, __pycache__, virtual environments and what a .gitignore names are
    left out. --include and --exclude take patterns as .gitignore has them, and may be given more than once.

    Files of the same content are stored once, under all their names; one that was moved keeps its chunks.

    Without paths: --check tells whether the index is as it was written, --repair mends it.
    """
    _refuse_mixture(paths, check=check, deep=deep, repair=repair, rebuild=rebuild, watch=watch, ray=ray)
    if shards and (check or repair):
        from adaptive_rag.errors import ConfigurationError

        raise ConfigurationError("--shards is for making an index: leave it out.")
    settings = options.given_settings(index=index, embeddings=embeddings)
    if check:
        _check(settings, deep=deep, as_json=as_json)
        return
    if repair:
        _repair(settings, as_json=as_json)
        return

    def run() -> IndexReport:
        report = index_documents(
            paths or [],
            settings,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            sentence_vectors=sentence_vectors,
            include=include or (),
            exclude=exclude or (),
            depth=depth,
            prune=prune,
            rebuild=rebuild,
            ray=ray,
            shards=shards,
            verbose=bool(verbose),
        )
        # a change of what is not read is nothing to tell
        if not watch or report.changed or report.failed:
            _print_report(report, verbose=bool(verbose), as_json=as_json)
        return report

    if watch:
        watch_folders([Path(path) for path in paths or []], _folder_of(settings), run)
    elif run().failed:
        raise Exit(1)


def _print_report(report: IndexReport, *, verbose: bool, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    print_line(format_report(report))
    print_notes(report, verbose=verbose)


def _folder_of(settings: dict[str, Any]) -> Path | None:
    """Return the folder of the index; None where it lies in a bucket."""
    from adaptive_rag.context import make_context
    from adaptive_rag.index.location import open_location

    return open_location(str(make_context(settings).index)).path


def _refuse_mixture(
    paths: list[str] | None,
    *,
    check: bool,
    deep: bool,
    repair: bool,
    rebuild: bool,
    watch: bool,
    ray: str | None,
) -> None:
    from adaptive_rag.errors import ConfigurationError

    modes = [f"--{name}" for name, given in (("check", check), ("repair", repair)) if given]
    if deep and not check:
        raise ConfigurationError("--deep goes with --check: adaptive-rag index --check --deep")
    if len(modes) == 2 or (modes and rebuild):
        raise ConfigurationError("--check, --repair and --rebuild are three things: ask for one.")
    if watch and (modes or rebuild):
        raise ConfigurationError("--watch goes without --check, --repair and --rebuild: run these before it.")
    if modes and ray:
        raise ConfigurationError(f"{modes[0]} runs in this process: leave --ray out.")
    if modes and paths:
        raise ConfigurationError(f"{modes[0]} is of the whole index: leave {paths[0]} out.")
    if not modes and not paths:
        raise ConfigurationError("Name the files or folders to index: adaptive-rag index PATH")


def _check(settings: dict[str, Any], *, deep: bool, as_json: bool) -> None:
    from adaptive_rag.context import make_context
    from adaptive_rag.index import Index

    found = Index.check(str(make_context(settings).index), deep=deep)
    if as_json:
        print_json({"healthy": found.healthy, **asdict(found)})
    else:
        _print_check(found)
    if not found.healthy:
        raise Exit(1)


def _print_check(found: IndexCheck) -> None:
    held = f"{count_of(found.chunks, 'chunk')} of {count_of(found.sources, 'source')}"
    files = f"{count_of(found.files, 'file')}, {found.bytes / 1e6:,.1f} MB"
    print_line(f"{found.index}: {held} · {files}")
    for part, what in found.damages:
        print_line(("  ✗ ", "bold red"), f"{part}: {what}")
    for source in found.incomplete[:NAMED]:
        print_line(f"    {short_source(source)}")
    if len(found.incomplete) > NAMED:
        print_line(f"    and {len(found.incomplete) - NAMED:,} more")
    if found.healthy:
        compared = "Contents are as they were written" if found.deep else "Sizes and counts are right"
        deeper = "" if found.deep else "; --deep compares the contents"
        print_line(f"{compared}{deeper}.", style="bold")
    else:
        print_line(f"{count_of(len(found.damages), 'damage')}. To mend the index:", style="bold")
    if found.mend:
        print_line(f"    {found.mend}")


def _repair(settings: dict[str, Any], *, as_json: bool) -> None:
    from adaptive_rag.context import make_context
    from adaptive_rag.index import Index

    context = make_context(settings)
    with showing_progress("Repairing") as (show, tell):
        report = Index.repair(str(context.index), embeddings=context.embeddings, progress=show, on_wait=tell)
    if as_json:
        print_json(report)
    else:
        _print_repair(report)
    if report.lost:
        raise Exit(1)


def _print_repair(report: RepairReport) -> None:
    for part, what in report.damages:
        print_line(("  ✗ ", "bold red"), f"{part}: {what}")
    kept = {"whole": report.whole, "read again": len(report.read_again), "restored": len(report.restored)}
    sources = [f"{count:,} {what}" for what, count in {**kept, "lost": len(report.lost)}.items() if count]
    done = "Mended" if report.damages else "Nothing was damaged"
    print_line(
        f"{done} · sources: {', '.join(sources) or 'none'} · {count_of(report.chunks, 'chunk')} in the index"
    )
    for source in report.restored:
        said = "is kept, but its pages and metadata could not be checked. To be sure, index it again."
        print_line(f"Restored: {short_source(source)} {said}")
    for source, why in report.lost.items():
        print_note(("Lost: ", "bold red"), f"{short_source(source)}: {why}")
    if report.lost:
        from adaptive_rag.index.manifest import quoted

        print_note(f"To index what was lost again: adaptive-rag index PATH --index {quoted(report.index)}")
