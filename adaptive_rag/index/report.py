"""The report of an indexing run, and the error of a run that could read no document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import Failure, Note


@dataclass(slots=True)
class IndexReport:
    """What an indexing run did: counts of sources and chunks, and the sources that could not be read."""

    added: int = 0
    updated: int = 0
    moved: int = 0
    """Files that were only moved or renamed; their chunks were kept."""
    removed: int = 0
    unchanged: int = 0
    copies: int = 0
    """How many added or updated files have the same content as another file; it is stored once."""
    failed: list[Failure] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Names of files in the folders that no loader can read."""
    sources: list[str] = field(default_factory=list)
    """Names of all sources that were found and can be searched, new or not."""
    notes: list[Note] = field(default_factory=list)
    """Notes on these sources for the user, such as "3 of 12 pages hold no text: 4-6"."""
    chunks: int = 0
    """Chunks written in this run."""
    total_chunks: int = 0
    """Chunks in the index after this run."""
    texts_embedded: int = 0
    seconds: float = 0.0
    embedding_seconds: float = 0.0

    @property
    def changed(self) -> bool:
        """Return whether the run changed the index."""
        return bool(self.added or self.updated or self.moved or self.removed)


class NothingReadError(IndexingError):
    """None of the documents could be read, each for the reason in a line, and the index is still empty."""

    def __init__(self, failed: Sequence[Failure]) -> None:
        super().__init__(failed)  # pickling passes the same argument again
        self.failed = failed

    def __str__(self) -> str:
        lines = [f"{failure}." for failure in self.failed] or ["none was passed."]
        return ("\n" if len(lines) > 1 else " ").join(["No document could be read:", *lines])


def join_reports(reports: Sequence[IndexReport], seconds: float) -> IndexReport:
    """Join the reports of shards; items of several, such as an unreadable archive, are listed once."""
    joined = IndexReport()
    for report in reports:
        for name in (entry.name for entry in fields(IndexReport)):
            setattr(joined, name, getattr(joined, name) + getattr(report, name))
    joined.seconds = seconds
    for name in ("failed", "unknown", "sources", "notes"):
        setattr(joined, name, list(dict.fromkeys(getattr(joined, name))))
    joined.unknown.sort()
    joined.sources.sort()
    return joined
