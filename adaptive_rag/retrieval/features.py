"""Measures candidates against a question after the search: best sentence, word coverage."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answering.terms import terms
from adaptive_rag.models.cosines import cosines
from adaptive_rag.models.onnx import Vectors

Scores = NDArray[np.float64]


def best_sentence(query: Vectors, sentences: Sequence[Vectors]) -> Scores:
    """Return the cosine of the query with the nearest sentence of each chunk.

    The late interaction of ColBERT (Khattab and Zaharia, SIGIR 2020) at the grain of sentences. A chunk
    without sentences gets the lowest score of the others, so that it is neither favoured nor dropped.

    Args:
        query: unit vector, shape (dimension,).
        sentences: one array of unit vectors a chunk, shape (n, dimension).
    """
    counts = np.array([len(vectors) for vectors in sentences], dtype=np.int64)
    best = np.full(len(counts), np.nan)
    filled = [i for i, count in enumerate(counts) if count]
    if filled:
        similarity = cosines(np.concatenate([sentences[i] for i in filled]), query[None])[:, 0]
        starts = np.concatenate([[0], np.cumsum(counts[filled])[:-1]])
        best[filled] = np.maximum.reduceat(similarity, starts)
        best[np.isnan(best)] = np.nanmin(best)
    return np.asarray(np.nan_to_num(best), dtype=np.float64)


def term_coverage(question: str, texts: Sequence[str]) -> Scores:
    """Return the share of the question's content words that each text holds, rare words counting more.

    A word is rare by the candidates themselves: ln(1 + (n - df + 0.5) / (df + 0.5)), the idf of BM25
    (Robertson and Zaragoza, 2009) over the n texts given. Unlike BM25, neither length nor repeats matter.
    """
    asked = sorted(set(terms(question)))
    if not asked or not texts:
        return np.zeros(len(texts))
    # Stemming cuts endings only: a word that does not begin like a term cannot become it, and most do not.
    starts = "|".join(sorted({re.escape(term[:3]) for term in asked}))
    alike = re.compile(rf"(?<![^\W_])(?:{starts})[^\W_]*")
    held = [set(terms(" ".join(set(alike.findall(text.lower()))))) for text in texts]
    present = np.array([[term in stems for term in asked] for stems in held])
    frequency = present.sum(axis=0)
    weights = np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5))
    return np.asarray(present @ weights / weights.sum())
