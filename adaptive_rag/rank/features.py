"""Measures candidates against a question after the search: the best sentence, and the question's words."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.models.onnx import Vectors
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.words import terms

Scores = NDArray[np.float64]

K1, B = 0.9, 0.4
EPSILON = 1e-9

_WORD = re.compile(r"[^\W_]+")


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


def count_terms(question: str, texts: Sequence[str]) -> Scores:
    """Return how often each text holds each content word of the question, shape (texts, words)."""
    asked = sorted(set(terms(question)))
    column = {term: j for j, term in enumerate(asked)}
    counts = np.zeros((len(texts), len(asked)))
    if not asked:
        return counts
    # Stemming cuts endings only: a word that does not begin like a term cannot become it, and most do not.
    starts = {term[:3] for term in asked}
    # A short term may begin like another one; each word is to be found once.
    starts = {start for start in starts if not any(start[:n] in starts for n in range(1, len(start)))}
    for row, text in zip(counts, texts, strict=True):
        for term in terms(" ".join(_words_beginning(text.lower(), starts))):
            if term in column:
                row[column[term]] += 1
    return counts


def _words_beginning(text: str, starts: Collection[str]) -> list[str]:
    """Return the words of a text that begin with one of these; to look for each is faster than to split."""
    found: list[str] = []
    for start in starts:
        at = text.find(start)
        while at >= 0:
            word = None if at and text[at - 1].isalnum() else _WORD.match(text, at)
            if word is not None:
                found.append(word.group())
            at = text.find(start, word.end() if word else at + 1)
    return found


def term_coverage(counts: Scores) -> Scores:
    """Return the share of the question's content words that each text holds, rare words counting more.

    Unlike BM25, neither length nor repeats matter.

    Args:
        counts: of the question's words in the candidates, from `count_terms`.
    """
    weights = rarity(counts)
    return np.asarray((counts > 0) @ weights / max(float(weights.sum()), EPSILON))


def bm25_among(counts: Scores, lengths: Scores) -> Scores:
    """Return the BM25 of each candidate as if the candidates were the whole corpus.

    A word that nearly all candidates hold says nothing of which of them answers, however rare it is in
    the corpus. k1 and b are Anserini's (Yang et al., SIGIR 2017).

    Args:
        counts: of the question's words in the candidates, from `count_terms`.
        lengths: of the texts, in any unit.
    """
    if not counts.size:
        return np.zeros(len(counts))
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), EPSILON))
    return np.asarray((counts * (K1 + 1) / (counts + norm[:, None])) @ rarity(counts))


def rarity(counts: Scores) -> Scores:
    """Return the idf of each word among the texts: ln(1 + (n - df + 0.5) / (df + 0.5)).

    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
    """
    held = (counts > 0).sum(axis=0)
    return np.asarray(np.log1p((len(counts) - held + 0.5) / (held + 0.5)))
