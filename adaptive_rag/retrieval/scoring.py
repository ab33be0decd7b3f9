"""Scores candidates for relevance without a model: fused score and best sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptive_rag.index.source import ChunkSource, Sentences
from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.retrieval.fusion import min_max
from adaptive_rag.state import Candidate

SENTENCE_WEIGHT = 0.5


def relevance(candidates: Sequence[Candidate], sentences: Sequence[Sentences], query: Vectors) -> list[float]:
    """Return a relevance of 0-10 for each candidate."""
    fused = min_max(np.array([candidate["scores"]["fused"] for candidate in candidates]))
    best = np.array([float((s.vectors @ query).max()) if len(s.vectors) else 0.0 for s in sentences])
    mixed = (1 - SENTENCE_WEIGHT) * fused + SENTENCE_WEIGHT * min_max(best)
    return [round(float(10 * value), 3) for value in mixed]


def score_candidates(source: ChunkSource, question: str, candidates: Sequence[Candidate]) -> list[float]:
    """Fetch the candidates' sentences and score them for a question, 0-10 each."""
    sentences = source.sentences([candidate["id"] for candidate in candidates])
    return relevance(candidates, sentences, load_minilm().encode([question])[0])
