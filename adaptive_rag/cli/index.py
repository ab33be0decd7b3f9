"""`adaptive-rag index`: bring an index up to date with files and folders, check it or repair it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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

NAMED = 10  # incomplete sources that are named, at most


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """How documents become an index: the options of `Index.build`."""

    embeddings: Annotated[
        str | None, Option(help="Embedding model, provider:name.", show_default=False, metavar="NAME")
    ] = None
    chunk_size: Annotated[int, Option(help="Characters a chunk has at most.", metavar="N")] = 1000
    chunk_overlap: Annotated[int, Option(help="Characters that neighbours share.", metavar="N")] = 200
    sentence_vectors: Annotated[
        Literal["apart", "pooled", "none"],
        Option(help="apart, pooled or none.", metavar="WAY"),
    ] = "apart"
    include: Annotated[list[str] | None, Option(help="Read only files like '*.md'.", metavar="PATTERN")] = (
        None
    )
    exclude: Annotated[list[str] | None, Option(help="Leave these out too.", metavar="PATTERN")] = None
    prune: Annotated[bool, Option(help="Remove what vanished.")] = True
    rebuild: Annotated[bool, Option("--rebuild", help="Make the index anew.")] = False
    ray: Annotated[str | None, Option(help="Ray cluster: HOST:PORT, auto or local.", metavar="ADDRESS")] = (
        None
    )
    shards: Annotated[int | None, Option(help="Make a new index of shards.", metavar="NUMBER")] = None

    def given(self) -> dict[str, Any]:
        """Return the arguments of `Index.build`, except the embedding model and the documents."""
        lists = {"include": self.include or (), "exclude": self.exclude or ()}
        return {name: value for name, value in vars(self).items() if name != "embeddings"} | lists


@dataclass(frozen=True, kw_only=True)
class IndexMode:
    """Modes that replace a single run."""

    watch: Annotated[bool, Option("--watch", help="Index again at each change.")] = False
    check: Annotated[bool, Option("--check", help="Check the index; exit 1 if damaged.")] = False
    deep: Annotated[bool, Option("--deep", help="With --check: compare contents.")] = False
    repair: Annotated[bool, Option("--repair", help="Mend the index; exit 1 at losses.")] = False


def index(
    making: IndexOptions,
    mode: IndexMode,
    paths: Annotated[list[str] | None, Argument(metavar="PATH", show_default=False)] = None,
    index: options.Index = None,
    depth: Annotated[int, Option(help="Links to follow on a web site.", min=0, metavar="N")] = 0,
    verbose: Annotated[
        int, Option("--verbose", "-v", count=True, help="Name each skipped file.", show_default=False)
    ] = 0,
    as_json: options.Json = False,
) -> None:
    """Bring an index up to date with files, folders and web addresses.

    Exits 1 where something could not be read. Patterns are those of .gitignore.
    """
    _refuse_mixture(paths, mode, making)
    settings = options.given_settings(index=index, embeddings=making.embeddings)
    if mode.check:
        _check(settings, deep=mode.deep, as_json=as_json)
        return
    if mode.repair:
        _repair(settings, as_json=as_json)
        return

    def run() -> IndexReport:
        report = index_documents(paths or [], settings, depth=depth, verbose=bool(verbose), **making.given())
        # changes of files that are not read are not reported
        if not mode.watch or report.changed or report.failed:
            _print_report(report, verbose=bool(verbose), as_json=as_json)
        return report

    if mode.watch:
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
    """Return the folder of the index; None if it is in a bucket."""
    from adaptive_rag.context import make_context
    from adaptive_rag.index.location import open_location

    return open_location(str(make_context(settings).index)).path


def _refuse_mixture(paths: list[str] | None, mode: IndexMode, making: IndexOptions) -> None:
    from adaptive_rag.errors import ConfigurationError

    modes = [f"--{name}" for name in ("check", "repair") if getattr(mode, name)]
    if mode.deep and not mode.check:
        raise ConfigurationError("--deep goes with --check: adaptive-rag index --check --deep")
    if len(modes) == 2 or (modes and making.rebuild):
        raise ConfigurationError("Use only one of --check, --repair and --rebuild.")
    if mode.watch and (modes or making.rebuild):
        raise ConfigurationError(
            "--watch cannot be combined with --check, --repair or --rebuild: run these before it."
        )
    if modes and making.ray:
        raise ConfigurationError(f"{modes[0]} runs in this process: leave --ray out.")
    if modes and making.shards:
        raise ConfigurationError("--shards is for making an index: leave it out.")
    if modes and paths:
        raise ConfigurationError(f"{modes[0]} covers the whole index: leave out {paths[0]!r}.")
    if not modes and not paths:
        raise ConfigurationError("Name the files or folders to index: adaptive-rag index PATH")


def _check(settings: dict[str, Any], *, deep: bool, as_json: bool) -> None:
    from adaptive_rag.context import make_context
    from adaptive_rag.index import Index

    result = Index.check(str(make_context(settings).index), deep=deep)
    if as_json:
        print_json({"healthy": result.healthy, **asdict(result)})
    else:
        _print_check(result)
    if not result.healthy:
        raise Exit(1)


def _print_check(result: IndexCheck) -> None:
    held = f"{count_of(result.chunks, 'chunk')} of {count_of(result.sources, 'source')}"
    files = f"{count_of(result.files, 'file')}, {result.bytes / 1e6:,.1f} MB"
    print_line(f"{result.index}: {held} · {files}")
    for part, what in result.damages:
        print_line(("  ✗ ", "bold red"), f"{part}: {what}")
    for source in result.incomplete[:NAMED]:
        print_line(f"    {short_source(source)}")
    if len(result.incomplete) > NAMED:
        print_line(f"    and {len(result.incomplete) - NAMED:,} more")
    if result.healthy:
        compared = "Contents are as they were written" if result.deep else "Sizes and counts are right"
        deeper = "" if result.deep else "; --deep compares the contents"
        print_line(f"{compared}{deeper}.", style="bold")
    else:
        print_line(f"{count_of(len(result.damages), 'damage')}. To mend the index:", style="bold")
    if result.mend:
        print_line(f"    {result.mend}")


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
