"""Scores candidates for relevance without a model: fused score, best sentence and word coverage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.query.expansion import FEEDBACK_HITS, QueryPart, feedback_scores
from adaptive_rag.rank.features import best_sentence, bm25_among, count_terms, term_coverage
from adaptive_rag.search.fusion import min_max, with_scores
from adaptive_rag.source import ChunkSource, Sentences, StoresSentences
from adaptive_rag.state import Candidate

SENTENCE_WEIGHT = 0.7
COVERAGE_WEIGHT = 0.3
WORDS_WEIGHT = 0.1
HEADING_CHARACTERS = 80
# Candidates whose sentences are worth embedding when asked; most of what sentences gain lies among the first.
EMBEDDED_CHUNKS = 20
NO_SENTENCES = Sentences(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 0), dtype=np.float32))
ENDS_OF_SENTENCES = (".", "!", "?", ":", ";", ",", '"', "'", "”", "’", ")")


def relevance(
    candidates: Sequence[Candidate],
    sentences: Sequence[Sentences],
    query: Vectors,
    question: str = "",
    *,
    alone: bool = True,
    closeness: float = 1.0,
) -> list[float]:
    """Return a relevance of 0-10 for each candidate.

    fused + SENTENCE_WEIGHT * best sentence + COVERAGE_WEIGHT * coverage + WORDS_WEIGHT * BM25 among the
    candidates; all but coverage, which is a share already, min-max scaled.

    Args:
        candidates: with `scores["fused"]`.
        sentences: of each candidate, in the same order.
        query: unit vector of the embedded model, of the text that the search used.
        question: whose words are looked for; without it they do not count.
        alone: whether the question was searched as it stands; a question that leans on a conversation
            has words that single out the wrong chunks, so that their BM25 does not count.
        closeness: how much sentences and words count beside the fused score, 0 to 1.
    """
    if not candidates:
        return []
    fused = min_max(np.array([candidate["scores"]["fused"] for candidate in candidates]))
    bodies = [without_heading(c, s) for c, s in zip(candidates, sentences, strict=True)]
    best = min_max(best_sentence(query, bodies))
    counts = count_terms(question, [candidate["text"] for candidate in candidates])
    lengths = np.array([len(candidate["text"]) for candidate in candidates], dtype=np.float64)
    weights = (
        SENTENCE_WEIGHT,
        COVERAGE_WEIGHT if question else 0.0,
        WORDS_WEIGHT if question and alone else 0.0,
    )
    beside = np.array([best, term_coverage(counts), min_max(bm25_among(counts, lengths))])
    mixed = (fused + closeness * (np.array(weights) @ beside)) / (1 + closeness * sum(weights))
    return [round(float(10 * value), 4) for value in mixed]


def sentences_of(source: ChunkSource, candidates: Sequence[Candidate]) -> list[Sentences]:
    """Return the sentences of candidates, best first; none of the later ones where they are not stored.

    To embed a sentence takes as long as to embed the question, and the candidates have hundreds of them.
    """
    read = len(candidates)
    if isinstance(source, StoresSentences) and not source.stores_sentences:
        read = EMBEDDED_CHUNKS
    found = source.sentences([candidate["id"] for candidate in candidates[:read]])
    return [*found, *[NO_SENTENCES] * (len(candidates) - len(found))]


def without_heading(candidate: Candidate, sentences: Sentences) -> Vectors:
    """Return the vectors of a chunk's sentences without the heading that it may begin with.

    A heading is near to every question on its subject and answers none.
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
    source: ChunkSource,
    question: str,
    candidates: Sequence[Candidate],
    *,
    parts: Sequence[QueryPart] = (),
) -> list[float]:
    """Fetch the candidates' sentences and score them for a question, 0-10 each.

    Args:
        source: holds the sentences.
        question: what was asked; its words are looked for.
        candidates: all that were found; scoring only the first ones forgoes most of the gain.
        parts: what was searched, where it is more than the question; sentences are compared with their mean.
    """
    texts = {part.text: part.dense for part in parts if part.dense} or {question: 1.0}
    query = np.array(list(texts.values()), dtype=np.float32) @ load_minilm().encode(list(texts))
    sentences = sentences_of(source, candidates)
    unit = query / max(float(np.linalg.norm(query)), 1e-9)
    return relevance(candidates, sentences, unit, question, alone=list(texts) == [question])


def score_opinions(source: ChunkSource, question: str, candidates: Sequence[Candidate]) -> list[float]:
    """Score candidates for a question after views, 0-10 each.

    Sentences and coverage count by the share of candidates that have several sentences: a text of one
    sentence has no best one, and where all texts are that short, to weigh the question's own words again
    would undo what the first hits taught the search.
    """
    if not candidates:
        return []
    sentences = sentences_of(source, candidates)
    several = float(np.mean([len(found.spans) > 1 for found in sentences]))
    query = load_minilm().encode([question])[0]
    return relevance(candidates, sentences, query, question, closeness=several)


def with_feedback(source: ChunkSource, candidates: Sequence[Candidate], *, alpha: float) -> list[Candidate]:
    """Return the candidates fused anew after their dense scores moved towards the first hits.

    Where many short texts speak of one matter, as opinions do, the first hits say it in more words than
    the question has.

    Args:
        source: holds the vectors.
        candidates: fused, best first, all with a dense and a sparse score.
        alpha: weight of the dense score.
    """
    vectors = source.vectors([candidate["id"] for candidate in candidates])
    dense = np.array([candidate["scores"]["dense"] for candidate in candidates])
    moved = feedback_scores(dense, vectors, range(min(FEEDBACK_HITS, len(candidates))))
    sparse = min_max(np.array([candidate["scores"]["sparse"] for candidate in candidates]))
    fused = alpha * min_max(moved) + (1 - alpha) * sparse
    order = np.argsort(-fused, kind="stable")
    return [with_scores(candidates[i], fused=float(fused[i])) for i in order]
