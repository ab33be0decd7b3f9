"""`adaptive-rag list`: the documents that an index holds."""

from __future__ import annotations

from datetime import datetime

from adaptive_rag.cli import options
from adaptive_rag.cli.output import count_of, print_json, print_line, print_table, short_source
from adaptive_rag.text.places import format_other_names


def list_documents(index: options.Index = None, as_json: options.Json = False) -> None:
    """List the documents of an index, each with its chunks, when it was read, and what to know of it."""
    from adaptive_rag.index.sources import list_sources

    documents = list_sources(options.index_of(index))
    if as_json:
        print_json(documents)
        return
    others: dict[str, list[str]] = {}
    for each in documents:
        if each.copy_of is not None:
            others.setdefault(each.copy_of, []).append(short_source(each.source))
    rows = []
    for each in documents:
        copied = () if each.copy_of is None else (f"the same as {short_source(each.copy_of)}",)
        if each.source in others:
            copied = (format_other_names(others[each.source]),)
        read = each.indexed and datetime.fromtimestamp(each.indexed).astimezone()
        date = read.isoformat(" ", "minutes")[:16] if read else ""
        notes = "; ".join((*copied, *each.notes))
        rows.append((short_source(each.source), each.kind or "", f"{each.chunks:,}", date, notes))
    print_table(("document", "kind", "chunks", "indexed", "notes"), rows)
    stored = sum(each.chunks for each in documents if each.copy_of is None)
    print_line(f"{count_of(len(documents), 'document')} · {count_of(stored, 'chunk')}", style="dim")
