"""Indexes a data set once: a folder under the cache, named by what it holds and how it was embedded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import ConfigurationError, import_extra
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.index import Index, IndexReport, Progress
from adaptive_rag.ingest import SourceText
from adaptive_rag.models.embeddings import embedding_name
from adaptive_rag.models.onnx import MINILM

# Larger than any passage: what was judged as one is found as one.
WHOLE_PASSAGE = 1_000_000


def default_cache() -> Path:
    """Return the folder for indexes of data sets, where the user's caches lie.

    Raises:
        MissingExtraError: platformdirs is not installed.
    """
    platformdirs = import_extra("platformdirs", extra="eval", purpose="Finding the user's cache folder")
    return Path(platformdirs.user_cache_dir("adaptive-rag", appauthor=False)) / "evaluation"


def open_corpus(
    dataset: Dataset,
    cache: Path,
    *,
    embeddings: str | Embeddings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Index, tuple[str, ...]]:
    """Open the index of a data set, building it where it is missing or was broken off; note what is unread.

    Passages become one chunk each; documents are cut as `adaptive-rag index` does it.

    Raises:
        ConfigurationError: a file stands where the cache should be.
        IndexingError: no document could be read.
    """
    model = embeddings or MINILM
    name = model if isinstance(model, str) else embedding_name(model)
    folder = cache / f"{dataset.name}-{_sha256(f'{dataset.corpus_digest} {name}')[:16]}"
    if folder.is_file() or cache.is_file():
        raise ConfigurationError(f"--cache {str(cache)!r} cannot hold indexes: a file stands in the way.")
    if dataset.passages:
        sources = [
            SourceText(
                p["source"], p["text"], hashlib.sha256(p["text"].encode()).hexdigest(), metadata=p["metadata"]
            )
            for p in dataset.passages
        ]
        sizes: Any = {"chunk_size": WHOLE_PASSAGE, "chunk_overlap": 0}
        report = Index.build(sources, folder, embeddings=model, progress=progress, **sizes)
    else:
        report = Index.build(list(dataset.documents), folder, embeddings=model, progress=progress)
    return Index.open(folder, embeddings=embeddings), reading_notes(dataset, report)


def reading_notes(dataset: Dataset, report: IndexReport) -> tuple[str, ...]:
    """Return what an index report says of documents that were not read, or not in full, as sentences."""
    return tuple(f"{dataset.name}: {failure}" for failure in report.failed)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
