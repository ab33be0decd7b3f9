"""Lends the vectors of the sample documents to indexes that are made of them: most of the time goes there."""

import shutil
from collections.abc import Callable
from pathlib import Path

from adaptive_rag.index.cache import FILE, EmbeddingCache


def begin_with(vectors: Path) -> Callable[[EmbeddingCache, Path | None], None]:
    """Return a way to begin a cache that finds what another index embedded, given that one's file."""
    begin = EmbeddingCache.__init__

    def begin_lent(self: EmbeddingCache, folder: Path | None) -> None:
        if folder is not None and not (folder / FILE).exists():
            shutil.copy(vectors, folder / FILE)
        begin(self, folder)

    return begin_lent


def lend(vectors: Path) -> None:
    """Have all caches of this process begin with those vectors."""
    EmbeddingCache.__init__ = begin_with(vectors)  # type: ignore[method-assign]
