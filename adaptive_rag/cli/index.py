"""`adaptive-rag index`: bring the index up to date with files and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adaptive_rag.cli.options import IndexOption, JsonOption, knobs


def index(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders to index.", metavar="PATH...")],
    index: IndexOption = None,
    embeddings: Annotated[
        str | None, typer.Option(help="Embedding model as provider:name.", show_default="the embedded one")
    ] = None,
    chunk_size: Annotated[int, typer.Option(help="Characters a chunk has at most.")] = 1000,
    chunk_overlap: Annotated[int, typer.Option(help="Characters that neighbours share at most.")] = 200,
    sentence_vectors: Annotated[bool, typer.Option(help="Keep a vector for every sentence.")] = True,
    prune: Annotated[bool, typer.Option(help="Remove what vanished from the folders named.")] = True,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make the index anew, with these settings.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring an index up to date with files and folders; what is unchanged costs nothing."""
    from dataclasses import asdict

    from adaptive_rag.cli.output import print_json, short_source, stdout
    from adaptive_rag.cli.session import format_report, index_documents

    report = index_documents(
        paths,
        knobs(index=index, embeddings=embeddings),
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        sentence_vectors=sentence_vectors,
        prune=prune,
        rebuild=rebuild,
    )
    if as_json:
        print_json(asdict(report))
    else:
        stdout().print(format_report(report), markup=False, soft_wrap=True)
        for note in report.notes:
            stdout().print(f"Note: {short_source(note.source)}: {note.text}", markup=False, soft_wrap=True)
    if report.failed:
        raise typer.Exit(1)
