"""Scores the quotable sentences for a question or a branch of it: by meaning, by words, by form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.form import fits, read_question
from adaptive_rag.answer.request import cosines
from adaptive_rag.answer.sentences import Quotable
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.text.words import coverage, terms, weighted_terms

Scores = NDArray[np.float64]

# What each signal may add to a sentence's score. Cosines of the embedded model lie between 0 and 0.9 for
# related sentences, the others between 0 and 1, so that meaning leads and words decide close calls.
MEANING, WORDS, COVERED, FORM, RANK = 1.0, 0.15, 0.25, 0.15, 0.06
EXACT_FORM = 0.25  # the form's share where a date or a number is asked for
# The words around a sentence say what it is about: those of NEAR sentences before it and of the one after.
AROUND, NEAR = 0.3, 2
BEFORE = 0.6  # share of the sentence before in the meaning of one that refers back
POOR = 0.4  # taken from a sentence of quality 0
REFERS_BACK = 0.08  # taken from a sentence that needs its predecessor
# Taken for each word beyond those that are read in one breath, up to MOST.
BREATH, LONG, MOST = 45, 0.002, 0.12
# Two sentences as close as this say the same.
SAME_MEANING, SAME_WORDS = 0.93, 0.8


class Ranking:
    """The sentences of one request, ready to be scored for several texts in focus."""

    def __init__(self, sentences: Sequence[Quotable]) -> None:
        self.sentences = sentences
        self.vectors = np.stack([sentence.vector for sentence in sentences])
        at = {(s.document, s.position): i for i, s in enumerate(sentences)}
        # What "It" stands for is said in the sentence before: both are read together.
        self._before = [at.get((s.document, s.position - 1)) if s.refers_back else None for s in sentences]
        self._resolved = self.vectors.copy()
        for i, before in enumerate(self._before):
            if before is not None:
                both = self.vectors[i] + BEFORE * self.vectors[before]
                self._resolved[i] = both / np.linalg.norm(both)
        self._near = [
            set().union(
                *(
                    sentences[at[key]].terms
                    for step in range(-NEAR, 2)
                    if (key := (s.document, s.position + step)) in at
                )
            )
            for s in sentences
        ]
        chunks = max(sentence.rank for sentence in sentences)
        self._prior = np.array([_prior(sentence, chunks) for sentence in sentences])

    def score(self, focus: str, vector: Vectors) -> Scores:
        """Score the sentences for the question itself, a sub-question or a viewpoint.

        Returns:
            One score a sentence, about 0 to 1.5.
        """
        weights = weighted_terms(focus)
        sought, question_terms = read_question(focus), set(terms(focus))
        closeness = np.maximum(cosines(self.vectors, vector), cosines(self._resolved, vector))
        scores: Scores = self._prior + MEANING * closeness
        scores += WORDS * self._bm25(list(weights))
        scores += COVERED * np.array([coverage(weights, set(s.terms)) for s in self.sentences])
        scores += AROUND * np.array([coverage(weights, near) for near in self._near])
        form = EXACT_FORM if sought.form in ("time", "number") else FORM
        scores += form * np.array([fits(sought, s.text, question_terms) for s in self.sentences])
        return scores

    def _bm25(self, query: Sequence[str]) -> Scores:
        """Return each sentence's BM25 score as a share of the best one's; zeros where no word matches."""
        if not query or self._index is None:
            return np.zeros(len(self.sentences))
        scores = np.maximum(np.asarray(self._index.get_scores(list(query)), dtype=np.float64), 0.0)
        best = scores.max()
        return np.asarray(scores / best if best > 0 else scores, dtype=np.float64)

    @cached_property
    def _index(self) -> Any:
        from rank_bm25 import BM25Okapi

        tokenised = [sentence.terms for sentence in self.sentences]
        # BM25Okapi divides by the number of words it was given.
        return BM25Okapi(tokenised) if any(tokenised) else None


def _prior(sentence: Quotable, chunks: int) -> float:
    """Score what does not depend on the focus: the rank of its chunk and the sentence's own fitness."""
    too_long = min(MOST, LONG * max(0, len(sentence.text.split()) - BREATH))
    unfit = POOR * (1 - sentence.quality) + REFERS_BACK * sentence.refers_back + too_long
    return RANK * (1 - (sentence.rank - 1) / chunks) - unfit


def says_the_same(sentence: Quotable, other: Quotable) -> bool:
    """Tell whether two sentences repeat each other, in words or in meaning."""
    if float(sentence.vector @ other.vector) >= SAME_MEANING:
        return True
    mine, theirs = set(sentence.terms), set(other.terms)
    return bool(mine and theirs) and len(mine & theirs) / min(len(mine), len(theirs)) >= SAME_WORDS
