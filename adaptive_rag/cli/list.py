"""`adaptive-rag list`: the documents that an index holds."""

from __future__ import annotations

from datetime import datetime

from adaptive_rag.cli import options
from adaptive_rag.cli.output import format_count, print_json, print_line, print_table, short_source
from adaptive_rag.text.places import format_other_names


def list_documents(index: options.Index = None, as_json: options.Json = False) -> None:
    """List the documents of an index, each with its number of chunks, its date of indexing, and notes."""
    from adaptive_rag.index.sources import list_sources

    documents = list_sources(options.index_address(index))
    if as_json:
        print_json(documents)
        return
    copies: dict[str, list[str]] = {}
    for document in documents:
        if document.copy_of is not None:
            copies.setdefault(document.copy_of, []).append(short_source(document.source))
    rows = []
    for document in documents:
        notes = list(document.notes)
        if document.source in copies:
            notes.insert(0, format_other_names(copies[document.source]))
        elif document.copy_of is not None:
            notes.insert(0, f"the same as {short_source(document.copy_of)}")
        date = ""
        if document.indexed:
            date = datetime.fromtimestamp(document.indexed).isoformat(" ", "minutes")
        name, kind = short_source(document.source), document.kind or ""
        rows.append((name, kind, f"{document.chunks:,}", date, "; ".join(notes)))
    print_table(("document", "kind", "chunks", "indexed", "notes"), rows)
    chunks = sum(document.chunks for document in documents if document.copy_of is None)
    print_line(f"{format_count(len(documents), 'document')} · {format_count(chunks, 'chunk')}", style="dim")
