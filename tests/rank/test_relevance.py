"""Relevance without a model: the nearest sentence, the question's words, and what the first hits teach."""

from types import SimpleNamespace

import numpy as np
import pytest

from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.rank.relevance import (
    EMBEDDED_CHUNKS,
    best_sentence,
    bm25_among,
    count_terms,
    score_candidates,
    score_opinions,
    score_relevance,
    term_coverage,
    with_feedback,
    without_heading,
)
from adaptive_rag.search.fusion import fuse
from adaptive_rag.source import Sentences
from adaptive_rag.state import Query


def unit(*rows):
    array = np.array(rows, dtype=np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def test_a_chunk_without_sentences_gets_the_lowest_score():
    query = unit([1, 0])[0]
    none = np.zeros((0, 2), dtype=np.float32)
    assert best_sentence(query, [none, unit([1, 1]), none, unit([1, 0])]) == pytest.approx(
        [0.5**0.5, 0.5**0.5, 0.5**0.5, 1.0]
    )


def covered(question, texts):
    return term_coverage(count_terms(question, texts))


def test_a_word_with_an_accent_is_counted_as_people_type_it():
    assert count_terms("elan Düsseldorf", ["Élan!", "in Dusseldorf", "Düsseldorf"]).tolist() == [
        [0, 1],
        [1, 0],
        [1, 0],
    ]


def test_a_rare_word_covers_more_than_a_common_one():
    shares = covered("harbour lantern", ["harbour harbour", "harbour", "harbour tides", "harbour lantern"])
    assert shares[3] == pytest.approx(1.0)
    assert shares[0] == shares[1] == shares[2]  # neither repeats nor other words count
    assert shares[0] < 0.5


def test_a_question_of_stop_words_covers_nothing():
    assert covered("what is it?", ["anything"]).tolist() == [0.0]
    assert covered("harbour", []).tolist() == []
    assert bm25_among(count_terms("what is it?", ["anything"]), np.ones(1)).tolist() == [0.0]


def test_among_candidates_repeats_count_and_length_weighs():
    texts = ["harbour", "harbour harbour", "tides", "tides", "harbour"]
    once, twice, none, _, long = bm25_among(count_terms("harbour", texts), np.array([10, 10, 10, 10, 40.0]))
    assert none == 0 < long < once < twice


def test_feedback_lifts_what_resembles_the_first_hits(make):
    vectors = {"a": [1, 0], "near": [0.96, 0.28], "far": [0, 1]}
    source = SimpleNamespace(vectors=lambda ids: np.array([vectors[id_] for id_ in ids], dtype=np.float32))
    ranked = [
        make("a", dense=0.9, sparse=0.0),
        make("far", dense=0.5, sparse=0.0),
        make("near", dense=0.48, sparse=0.0),
    ]
    got = with_feedback(source, fuse(ranked, method="weighted", alpha=1.0), alpha=1.0)
    assert [c["id"] for c in got] == ["a", "near", "far"]


def test_relevance_lies_between_0_and_10_and_heeds_the_best_sentence(make):
    pool = [make("a", "harbour", fused=0.5), make("b", "harbour", fused=0.5)]
    spans = np.zeros((1, 2), dtype=np.int64)
    sentences = [Sentences(spans, np.array([v], dtype=np.float32)) for v in ([0, 1], [1, 0])]
    got = score_relevance(pool, sentences, np.array([1, 0], dtype=np.float32), "harbour")
    assert 0 <= got[0] < got[1] <= 10
    assert score_relevance([], [], np.array([1, 0], dtype=np.float32), "x") == []


@pytest.mark.parametrize(("stored", "read"), [(True, 50), (False, EMBEDDED_CHUNKS)])
def test_sentences_that_would_have_to_be_embedded_are_read_of_the_best_alone(make, stored, read):
    asked = []

    def sentences(ids):
        asked.extend(ids)
        return [Sentences(np.array([[0, 5]]), np.ones((1, 384), dtype=np.float32) / 384**0.5) for _ in ids]

    source = SimpleNamespace(stores_sentences=stored, sentences=sentences)
    source.search = source.vectors = None
    candidates = [make(f"c{i}", fused=1 - i / 50) for i in range(50)]
    scores = score_candidates(source, "sea walls", candidates)
    assert asked == [f"c{i}" for i in range(read)]
    assert len(scores) == 50 and scores == sorted(scores, reverse=True)


def sentences_of(text, *vectors):
    spans, at = [], 0
    for line in text.split("\n"):
        spans.append((at, at + len(line)))
        at += len(line) + 1
    return Sentences(np.array(spans), np.array(vectors, dtype=np.float32))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Sea walls\nThey hold.", 1),
        ("They hold.\nSea walls", 2),  # the last line heads nothing
        ("Walls:\nThey hold.", 2),
        (f"{'Sea ' * 21}walls\nThey hold.", 2),  # too long for a heading
    ],
)
def test_a_heading_is_no_sentence_that_answers(make, text, left):
    assert len(without_heading(make("a", text), sentences_of(text, [1, 0], [0, 1]))) == left


def test_sentences_are_compared_with_the_mean_of_the_texts_that_were_searched(make):
    source = SimpleNamespace(
        sentences=lambda ids: [
            Sentences(np.array([[0, 1]]), load_minilm().encode([text])) for text in ("sea walls", "goats")
        ]
    )
    candidates = [make("wall", "x", fused=0.5), make("goat", "x", fused=0.5)]
    plain = score_candidates(source, "sea walls", candidates)
    queries = [Query(text="goats", dense=1.0, sparse=1.0), Query(text="sea walls", dense=0.0, sparse=1.0)]
    moved = score_candidates(source, "sea walls", candidates, queries=queries)
    labelled = [Query(text="sea walls"), Query(text="goats", label="goats")]
    assert plain[0] > plain[1] and moved[0] < moved[1]
    assert score_candidates(source, "sea walls", candidates, queries=labelled) == plain


def test_sentences_count_for_opinions_as_far_as_texts_have_several(make):
    near, far = (load_minilm().encode([text])[0] for text in ("sea walls", "goats"))
    candidates = [make("far", "x", fused=0.6), make("near", "x", fused=0.5)]

    def scores(*counts):
        held = [
            Sentences(np.array([[0, 1]] * n), np.array([vector] * n))
            for n, vector in zip(counts, (far, near), strict=True)
        ]
        return score_opinions(SimpleNamespace(sentences=lambda ids: held), "sea walls", candidates)

    single, several = scores(1, 1), scores(2, 2)
    assert single == [10.0, 0.0]  # the fused order alone
    assert several[1] - several[0] > single[1] - single[0]
    assert score_opinions(SimpleNamespace(), "sea walls", []) == []
