"""`adaptive-rag index`: bring the index up to date with files and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_json, print_line, short_source
from adaptive_rag.cli.session import format_report, index_documents


def index(
    paths: Annotated[list[Path], Argument(help="Files or folders to index.", metavar="PATH...")],
    index: options.Index = None,
    embeddings: Annotated[
        str | None, Option(help="Embedding model as provider:name.", show_default="the embedded one")
    ] = None,
    chunk_size: Annotated[int, Option(help="Characters a chunk has at most.")] = 1000,
    chunk_overlap: Annotated[int, Option(help="Characters that neighbours share at most.")] = 200,
    sentence_vectors: Annotated[bool, Option(help="Keep a vector for every sentence.")] = True,
    prune: Annotated[bool, Option(help="Remove what vanished from the folders named.")] = True,
    rebuild: Annotated[bool, Option("--rebuild", help="Make the index anew, with these settings.")] = False,
    as_json: options.Json = False,
) -> None:
    """Bring an index up to date with files and folders; what is unchanged costs nothing.

    A file that cannot be read is named on standard error with the reason, and the others are indexed. The
    exit code is 0 where everything was read, 1 where something was not, and 130 after Ctrl-C.
    """
    report = index_documents(
        paths,
        options.given_settings(index=index, embeddings=embeddings),
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        sentence_vectors=sentence_vectors,
        prune=prune,
        rebuild=rebuild,
    )
    if as_json:
        print_json(report)
    else:
        print_line(format_report(report))
        for note in report.notes:
            print_line(f"Note: {short_source(note.source)}: {note.text}")
    if report.failed:
        raise Exit(1)
