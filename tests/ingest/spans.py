"""What the tests of all formats ask of a text that was read."""

from __future__ import annotations

from typing import Any

from adaptive_rag.ingest import SourceText, split


def checked_chunks(source: SourceText, **sizes: int) -> list[dict[str, Any]]:
    """Split a source, and check that the span of each chunk covers its text."""
    chunks = [dict(chunk) for chunk in split(source, **sizes)]
    assert all(source.text[chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks)
    return chunks


def texts(source: SourceText) -> list[str]:
    """Return the text of each record."""
    return [source.text[record.start : record.end] for record in source.records]
