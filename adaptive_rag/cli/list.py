"""`adaptive-rag list`: the documents that an index holds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from typer import Argument

from adaptive_rag.cli import options
from adaptive_rag.cli.output import (
    format_count,
    print_json,
    print_line,
    print_note,
    print_table,
    short_source,
)
from adaptive_rag.text.places import format_other_names

Prefix = Annotated[
    str,
    Argument(help="List only documents whose name begins so, with or without its folders.", metavar="PREFIX"),
]


def list_documents(prefix: Prefix = "", index: options.Index = None, as_json: options.Json = False) -> None:
    """List the documents of an index, each with its number of chunks, its date of indexing, and notes."""
    from adaptive_rag.index.sources import begins_so, list_sources

    documents = list_sources(options.index_address(index))
    copies: dict[str, list[str]] = {}
    for document in documents:
        if document.copy_of is not None:
            copies.setdefault(document.copy_of, []).append(short_source(document.source))
    documents = [document for document in documents if begins_so(short_source(document.source), prefix)]
    if as_json:
        print_json(documents)
        return
    if prefix and not documents:
        print_note(f"No document's name begins with {prefix!r}. To list all: adaptive-rag list")
        return
    rows, notes = [], []
    for document in documents:
        name, read = short_source(document.source), document.indexed
        date = datetime.fromtimestamp(read).isoformat(" ", "minutes") if read else ""
        rows.append((name, document.kind or "", f"{document.chunks:,}", date))
        if document.source in copies:
            notes.append(f"{name}: {format_other_names(copies[document.source])}")
        elif document.copy_of is not None:
            notes.append(f"{name}: the same as {short_source(document.copy_of)}")
        notes += [f"{name}: {note}" for note in document.notes]
    print_table(("document", "kind", "chunks", "indexed"), rows, unbroken=True)
    for note in notes:
        print_line(note, style="dim")
    chunks = sum(document.chunks for document in documents if document.copy_of is None)
    print_line(f"{format_count(len(documents), 'document')} · {format_count(chunks, 'chunk')}", style="dim")
