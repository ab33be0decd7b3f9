"""Index each data set once, in a cache folder that is named after its content and its embedding model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from platformdirs import user_cache_path

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.index import Index, Progress
from adaptive_rag.ingest import SourceText
from adaptive_rag.models.embeddings import embedding_name
from adaptive_rag.models.onnx import MINILM

# A chunk size that is larger than any passage.
WHOLE_PASSAGE = 1_000_000


def default_cache() -> Path:
    """Return the folder for the indexes of data sets, within the user's cache folder."""
    return user_cache_path("adaptive-rag", appauthor=False) / "evaluation"


def open_corpus(
    dataset: Dataset,
    cache: Path,
    *,
    embeddings: str | Embeddings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Index, tuple[str, ...]]:
    """Open the index of a data set, after building what is missing of it.

    A passage becomes one chunk; documents are split as `adaptive-rag index` does.

    Returns:
        The index, and notes on documents that were not read or were read in part.

    Raises:
        ConfigurationError: a file is in the place of the cache.
        IndexingError: no document could be read.
    """
    model = embeddings or MINILM
    name = model if isinstance(model, str) else embedding_name(model)
    folder = cache / f"{dataset.name}-{_sha256(f'{dataset.corpus_digest} {name}')[:16]}"
    if folder.is_file() or cache.is_file():
        raise ConfigurationError(f"--cache {str(cache)!r} cannot hold indexes: it is not a folder.")
    documents: list[Any] = list(dataset.documents)
    sizes: dict[str, Any] = {}
    if dataset.passages:
        # Documents that are not split, so that a judged passage is one chunk.
        documents = [
            SourceText(p["source"], p["text"], _sha256(p["text"]), metadata=p["metadata"], whole=True)
            for p in dataset.passages
        ]
        sizes = {"chunk_size": WHOLE_PASSAGE, "chunk_overlap": 0}
    report = Index.build(documents, folder, embeddings=model, progress=progress, **sizes)
    notes = [str(failure) for failure in report.failed]
    notes += [f"{note.source}: {note.text}" for note in report.notes]
    return Index.open(folder, embeddings=embeddings), tuple(f"{dataset.name}: {note}" for note in notes)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
