"""Scores candidates without a chat model: by fused score, best sentence, word coverage and BM25."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.search.fusion import order_by, word_scores
from adaptive_rag.source import ChunkSource, Sentences, StoresSentences
from adaptive_rag.state import Candidate, Query
from adaptive_rag.text.vectors import Scores, Vectors, cosines, min_max
from adaptive_rag.text.words import terms, without_accents

# The fused score has the weight 1; docs/retrieval-experiments.md has what was tried instead.
SENTENCE_WEIGHT = 0.7
COVERAGE_WEIGHT = 0.3
WORDS_WEIGHT = 0.1
HEADING_CHARACTERS = 80
# Number of candidates, best first, whose sentences are embedded if they are not stored.
EMBEDDED_CHUNKS = 20
NO_SENTENCES = Sentences(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 0), dtype=np.float32))
ENDS_OF_SENTENCES = (".", "!", "?", ":", ";", ",", '"', "'", "”", "’", ")")
# Number of first hits that a query is moved towards, and how far.
FEEDBACK_HITS, FEEDBACK_WEIGHT = 3, 0.5
# Anserini's BM25 (Yang et al., SIGIR 2017).
K1, B = 0.9, 0.4
EPSILON = 1e-9


def score_relevance(
    candidates: Sequence[Candidate],
    sentences: Sequence[Sentences],
    query: Vectors,
    question: str,
    *,
    alone: bool = True,
    closeness: float = 1.0,
) -> list[float]:
    """Return a relevance of 0-10 for each candidate.

    It is the weighted mean of the fused score (weight 1), the best sentence (SENTENCE_WEIGHT), the coverage
    (COVERAGE_WEIGHT) and BM25 among the candidates (WORDS_WEIGHT), times 10. All are min-max scaled, except
    the coverage, which is already a share.

    `query` is the unit vector of the text that was searched. Coverage and BM25 use the words of the
    question. If it was not searched `alone`, BM25 does not count: the words of a question that depends on a
    conversation single out the wrong chunks. `closeness`, 0 to 1, multiplies all weights but the first.
    """
    if not candidates:
        return []
    fused = min_max(np.array([candidate["scores"]["fused"] for candidate in candidates]))
    bodies = [without_heading(c, s) for c, s in zip(candidates, sentences, strict=True)]
    best = min_max(best_sentence(query, bodies))
    counts = count_terms(question, [candidate["text"] for candidate in candidates])
    lengths = np.array([len(candidate["text"]) for candidate in candidates], dtype=np.float64)
    weights = (SENTENCE_WEIGHT, COVERAGE_WEIGHT, WORDS_WEIGHT * alone)
    others = np.array([best, term_coverage(counts), min_max(bm25_among(counts, lengths))])
    mixed = (fused + closeness * (np.array(weights) @ others)) / (1 + closeness * sum(weights))
    return [round(float(10 * value), 4) for value in mixed]


def sentences_of(source: ChunkSource, candidates: Sequence[Candidate]) -> list[Sentences]:
    """Return the sentences of candidates, given best first; if not stored, only those of the first ones.

    Embedding a sentence takes as long as embedding the question, and the candidates have hundreds of them.
    """
    limit = len(candidates)
    if isinstance(source, StoresSentences) and not source.stores_sentences:
        limit = EMBEDDED_CHUNKS
    sentences = source.sentences([candidate["id"] for candidate in candidates[:limit]])
    return [*sentences, *[NO_SENTENCES] * (len(candidates) - len(sentences))]


def without_heading(candidate: Candidate, sentences: Sentences) -> Vectors:
    """Return the vectors of a chunk's sentences, without a heading at its start.

    A heading is close to every question on its subject but answers none.
    """
    if len(sentences.spans) < 2:
        return sentences.vectors
    start, end = (int(offset) - candidate["start"] for offset in sentences.spans[0])
    line = candidate["text"][start:end].rstrip()
    is_heading = (
        len(line) <= HEADING_CHARACTERS
        and not line.endswith(ENDS_OF_SENTENCES)
        and candidate["text"][end : end + 1] == "\n"
    )
    return sentences.vectors[1:] if is_heading else sentences.vectors


def score_candidates(
    source: ChunkSource, question: str, candidates: Sequence[Candidate], *, queries: Sequence[Query] = ()
) -> list[float]:
    """Score all candidates for a question, 0-10 each; scoring only the first ones would lose most gain.

    The words are those of the question. Sentences are compared with the weighted mean of the queries that
    were searched, else with the question.
    """
    weights = {query["text"]: query.get("dense", 1.0) for query in queries if "label" not in query}
    texts = {text: weight for text, weight in weights.items() if weight} or {question: 1.0}
    query = np.array(list(texts.values()), dtype=np.float32) @ load_minilm().encode(list(texts))
    sentences = sentences_of(source, candidates)
    unit = query / max(float(np.linalg.norm(query)), EPSILON)
    return score_relevance(candidates, sentences, unit, question, alone=list(texts) == [question])


def score_opinions(source: ChunkSource, question: str, candidates: Sequence[Candidate]) -> list[float]:
    """Score candidates for an opinion question, 0-10 each.

    Sentences and coverage count by the share of candidates that have several sentences. A text of one
    sentence has no best one; and if all texts are that short, counting the question's words again would
    undo the feedback from the first hits.
    """
    if not candidates:
        return []
    sentences = sentences_of(source, candidates)
    share_with_several = float(np.mean([len(own.spans) > 1 for own in sentences]))
    query = load_minilm().encode([question])[0]
    return score_relevance(candidates, sentences, query, question, closeness=share_with_several)


def with_feedback(source: ChunkSource, candidates: Sequence[Candidate], *, alpha: float) -> list[Candidate]:
    """Return the candidates fused again, after moving the query towards the first hits.

    If many short texts are about one subject, as opinions are, the first hits describe it in more words
    than the question does.
    """
    vectors = source.vectors([candidate["id"] for candidate in candidates])
    dense = np.array([candidate["scores"]["dense"] for candidate in candidates])
    # Rocchio's formula (1971) without negative examples: cos(q + w * mean, x) is proportional to
    # dense + w * mean . x, so the query's own vector is not needed.
    mean = vectors[:FEEDBACK_HITS].mean(axis=0, keepdims=True)
    moved = np.asarray(dense + FEEDBACK_WEIGHT * cosines(vectors, mean)[:, 0])
    sparse = min_max(word_scores(candidates))
    return order_by(alpha * min_max(moved) + (1 - alpha) * sparse, candidates)


def best_sentence(query: Vectors, sentences: Sequence[Vectors]) -> Scores:
    """Return the cosine of the query with the nearest sentence of each chunk.

    This is the late interaction of ColBERT (Khattab and Zaharia, SIGIR 2020) at the level of sentences. A
    chunk without sentences gets the lowest score of the others, so that it is neither favoured nor dropped.
    All vectors must have unit length.
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
    """Return how often each text contains each content word of the question, shape (texts, words)."""
    question_terms = sorted(set(terms(question)))
    counts = np.zeros((len(texts), len(question_terms)))
    if not question_terms:
        return counts
    # Stemming only cuts endings, so only words that begin like a term are stemmed, which most do not.
    starts = "|".join(re.escape(start) for start in {term[:3] for term in question_terms})
    similar = re.compile(rf"(?<![^\W_])(?:{starts})[^\W_]*")
    for row, text in in_time(zip(counts, texts, strict=True)):
        term_counts = Counter(terms(" ".join(similar.findall(without_accents(text.lower())))))
        row[:] = [term_counts[term] for term in question_terms]
    return counts


def term_coverage(counts: Scores) -> Scores:
    """Return the share of the question's content words that each text contains; rare words count more.

    Unlike BM25, neither length nor repeats matter.
    """
    weights = rarity(counts)
    return np.asarray((counts > 0) @ weights / max(float(weights.sum()), EPSILON))


def bm25_among(counts: Scores, lengths: Scores) -> Scores:
    """Return the BM25 of each candidate, with the candidates as the whole corpus.

    A word that nearly all candidates contain does not show which of them answers, however rare it is in
    the corpus.
    """
    if not counts.size:
        return np.zeros(len(counts))
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), EPSILON))
    return np.asarray((counts * (K1 + 1) / (counts + norm[:, None])) @ rarity(counts))


def rarity(counts: Scores) -> Scores:
    """Return the idf of each word among the texts: ln(1 + (n - df + 0.5) / (df + 0.5)).

    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
    """
    df = (counts > 0).sum(axis=0)
    return np.asarray(np.log1p((len(counts) - df + 0.5) / (df + 0.5)))
