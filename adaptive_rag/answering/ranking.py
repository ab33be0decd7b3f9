"""Scores the quotable sentences for a question or a branch of it: by meaning, by words, by form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answering.questions import fits, read_question
from adaptive_rag.answering.quotable import Quotable
from adaptive_rag.answering.request import AnswerRequest, cosines
from adaptive_rag.answering.terms import coverage, terms, weighted_terms
from adaptive_rag.models.onnx import Vectors

Scores = NDArray[np.float64]

# What each signal may add to a sentence's score. Cosines of the embedded model lie between 0 and 0.9 for
# related sentences, the others between 0 and 1, so that meaning leads and words decide close calls.
MEANING, WORDS, COVERED, FORM, RANK = 1.0, 0.15, 0.25, 0.15, 0.06
POOR = 0.4  # taken from a sentence of quality 0
REFERS_BACK = 0.04  # taken from a sentence that needs its predecessor
# Two sentences as close as this say the same.
SAME_MEANING, SAME_WORDS = 0.93, 0.8


def rank(request: AnswerRequest, sentences: Sequence[Quotable], focus: str, vector: Vectors) -> Scores:
    """Score sentences for a text in focus: the question itself, a sub-question, a viewpoint.

    Returns:
        One score a sentence, about 0 to 1.5.
    """
    if not sentences:
        return np.zeros(0)
    tokenised = [terms(sentence.text) for sentence in sentences]
    weights = weighted_terms(focus)
    sought = read_question(focus)
    question_terms = set(terms(focus))
    scores: Scores = MEANING * cosines(np.stack([s.vector for s in sentences]), vector).astype(np.float64)
    scores += WORDS * bm25(tokenised, list(weights))
    for i, sentence in enumerate(sentences):
        scores[i] += COVERED * coverage(weights, set(tokenised[i]))
        scores[i] += FORM * fits(sought, sentence.text, question_terms)
        scores[i] += RANK * (1 - sentence.document / len(request.documents))
        scores[i] -= POOR * (1 - sentence.quality) + REFERS_BACK * sentence.refers_back
    return scores


def bm25(tokenised: Sequence[Sequence[str]], query: Sequence[str]) -> Scores:
    """Return the BM25 score of each sentence as a share of the best one's; zeros where no word matches."""
    from rank_bm25 import BM25Okapi

    if not query or not any(tokenised):
        return np.zeros(len(tokenised))
    scores = np.maximum(np.asarray(BM25Okapi(tokenised).get_scores(list(query)), dtype=np.float64), 0.0)
    best = scores.max()
    return np.asarray(scores / best if best > 0 else scores, dtype=np.float64)


def says_the_same(sentence: Quotable, other: Quotable) -> bool:
    """Tell whether two sentences repeat each other, in words or in meaning."""
    if float(sentence.vector @ other.vector) >= SAME_MEANING:
        return True
    mine, theirs = set(terms(sentence.text)), set(terms(other.text))
    return bool(mine and theirs) and len(mine & theirs) / min(len(mine), len(theirs)) >= SAME_WORDS
