"""The sample corpus: documents about an invented coastal town, for `adaptive-rag demo` and first steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adaptive_rag.state import RoutedType


@dataclass(frozen=True)
class SampleQuestion:
    """A question that the sample documents answer, and the strategy that it calls for."""

    question: str
    type: RoutedType
    user_context: str | None = None


SAMPLE_QUESTIONS: tuple[SampleQuestion, ...] = (
    SampleQuestion("What is the highest water level ever recorded at Pellhythe?", "factual"),
    SampleQuestion("How does dredging the harbour affect Cotter Marsh?", "analytical"),
    SampleQuestion("What are the different views on raising the sea wall?", "opinion"),
    SampleQuestion(
        "How should I prepare for a flood?", "contextual", "I rent a ground-floor flat in Mill Street."
    ),
)


def samples_path() -> Path:
    """Return the folder of the sample documents, ready to be indexed."""
    return Path(__file__).parent / "documents"


def questions_path() -> Path:
    """Return the evaluation questions over the samples (JSON lines; see `SAMPLE_QUESTIONS` for four).

    Beside them stands an ontology that fits the samples.
    """
    return Path(__file__).parent / "questions.jsonl"


def lend_vectors(index: Path) -> None:
    """Begin an index with the vectors of the samples, so that indexing them embeds nothing.

    They are what the embedded model makes of them, to half precision; `training/sample_vectors.py` made them.
    """
    import numpy as np

    from adaptive_rag.index.cache import EmbeddingCache
    from adaptive_rag.private import make_folder

    with np.load(Path(__file__).parent / "vectors.npz") as stored:
        keys, vectors = [key.tobytes() for key in stored["keys"]], stored["vectors"].astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    make_folder(index)
    cache = EmbeddingCache(index)
    cache.put_keys(keys, vectors)
    cache.close()
