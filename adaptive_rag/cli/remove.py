"""`adaptive-rag remove`: take documents out of an index."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from adaptive_rag.cli import options
from adaptive_rag.cli.output import format_count, print_json, print_line, print_note, short_source


def remove(
    documents: Annotated[
        list[str],
        Argument(help="Documents as `list` names them, or paths of their files.", metavar="DOCUMENT"),
    ],
    index: options.Index = None,
    as_json: options.Json = False,
) -> None:
    """Remove documents from an index; their files stay, and so does a document with the same content.

    A file that is still in a folder comes back when the folder is indexed again: leave it out with
    `index FOLDER --exclude`.
    """
    from adaptive_rag.index.sources import remove_sources

    report = remove_sources(options.index_address(index), documents, on_wait=print_note)
    if as_json:
        print_json(report)
        return
    for source in report.sources:
        print_line(f"Removed: {short_source(source)}")
    remaining = (
        f"{format_count(report.unchanged, 'document')} and {format_count(report.total_chunks, 'chunk')}"
    )
    print_line(f"{remaining} in the index")
