"""Splits and embeds texts into table rows, in this process or in a worker of a cluster."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import TypeAlias

from adaptive_rag.index.manifest import Settings, SourceRecord
from adaptive_rag.index.plan import Work, content_key
from adaptive_rag.index.progress import Meter
from adaptive_rag.index.table import TableRow
from adaptive_rag.index.vectorize import Vectorizer
from adaptive_rag.ingest import Failure, SourceText, split
from adaptive_rag.state import Chunk

CHUNKS_PER_STEP = 32

Contents: TypeAlias = dict[tuple[str, str], tuple[str, SourceRecord]]
"""Maps the key of a content to the source that holds its chunks, and to that source's record."""
Result: TypeAlias = Failure | list[TableRow] | tuple[Work, SourceRecord]
"""A source that cannot be read, rows of one or more sources, or a source with its record."""


def make_rows(
    texts: Iterable[tuple[Work, SourceText | Failure]],
    settings: Settings,
    vectorizer: Vectorizer,
    contents: Contents,
    meter: Meter,
) -> Generator[Result, None, None]:
    """Split and embed texts; chunks of several small sources are embedded together.

    The record of a source may come before its rows. A source with the same content as one in `contents`
    is recorded as its copy, without rows. New contents are added to `contents`.
    """
    sizes = {"size": settings.chunk_size, "overlap": settings.chunk_overlap}
    pending: list[tuple[Chunk, str]] = []

    def embed() -> list[TableRow]:
        rows = vectorizer.rows([chunk for chunk, _ in pending], [doc for _, doc in pending])
        pending.clear()
        return rows

    for item, text in texts:
        if isinstance(text, Failure):
            yield text
            meter.finish_source(item.size)
            continue
        record = item.record(text)
        content = content_key(record.path, record.hash)
        if content is not None and content in contents:
            owner, first = contents[content]
            yield item, replace(record, doc=first.doc, chunks=first.chunks, copy_of=owner)
            meter.finish_source(item.size)
            continue
        before = meter.chunks
        notes = list(text.notes)
        for chunk in split(text, **sizes, limit=vectorizer.limit, notes=notes):
            pending.append((chunk, record.doc))
            meter.count_chunk(item.size * min(1.0, chunk["end"] / max(1, len(text.text))))
            if len(pending) >= CHUNKS_PER_STEP:
                yield embed()
        record = replace(record, chunks=meter.chunks - before, notes=tuple(notes))
        if content is not None:
            contents[content] = text.source, record
        yield item, record
        meter.finish_source(item.size)
    if pending:
        yield embed()
