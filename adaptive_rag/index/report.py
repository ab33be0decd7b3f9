"""What an indexing run did, and the error where it could read nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adaptive_rag.errors import IndexingError

if TYPE_CHECKING:
    from adaptive_rag.ingest import Failure, Note

COUNTED = ("added", "updated", "moved", "removed", "unchanged", "copies", "chunks", "total_chunks")


@dataclass(slots=True)
class IndexReport:
    """What a run did. Sources are counted; `failed` names those that could not be read, and why."""

    added: int = 0
    updated: int = 0
    moved: int = 0
    """Files that are only named otherwise now: their chunks were taken over."""
    removed: int = 0
    unchanged: int = 0
    copies: int = 0
    """How many of those added or updated have the content of another file, which is stored once."""
    failed: list[Failure] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Files of the folders that no loader reads, by name."""
    sources: list[str] = field(default_factory=list)
    """Names of the sources that were found and can be searched, new or not."""
    notes: list[Note] = field(default_factory=list)
    """What the user should know of these sources: "3 of 12 pages hold no text: 4-6"."""
    chunks: int = 0
    """Chunks written in this run."""
    total_chunks: int = 0
    """Chunks the index holds after it."""
    texts_embedded: int = 0
    seconds: float = 0.0
    embedding_seconds: float = 0.0

    @property
    def chunks_per_second(self) -> float:
        """Return the rate of the whole run."""
        return self.chunks / self.seconds if self.seconds else 0.0

    @property
    def changed(self) -> bool:
        """Tell whether the index holds something else than before."""
        return bool(self.added or self.updated or self.moved or self.removed)


class NothingReadError(IndexingError):
    """None of the documents could be read, and the index holds nothing yet."""

    def __init__(self, line: str, failed: Sequence[Failure]) -> None:
        super().__init__(line)
        self.failed = failed


def nothing_read(failed: Sequence[Failure]) -> NothingReadError:
    """Return the error that says, in a line for each document, why none could be read."""
    lines = [f"{failure}." for failure in failed] or ["none was named."]
    line = ("\n" if len(lines) > 1 else " ").join(["No document could be read:", *lines])
    return NothingReadError(line, failed)


def join_reports(reports: Sequence[IndexReport], seconds: float) -> IndexReport:
    """Return one report; what every shard came across, such as an unreadable archive, is named once."""
    joined = IndexReport(seconds=seconds)
    for report in reports:
        for name in (*COUNTED, "texts_embedded", "embedding_seconds"):
            setattr(joined, name, getattr(joined, name) + getattr(report, name))
        for name in ("failed", "unknown", "sources", "notes"):
            held = getattr(joined, name)
            held += [each for each in getattr(report, name) if each not in held]
    for name in ("unknown", "sources"):
        getattr(joined, name).sort()
    return joined
