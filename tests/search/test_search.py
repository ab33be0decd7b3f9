from types import SimpleNamespace

import numpy as np
import pytest

from adaptive_rag.context import make_context
from adaptive_rag.query.expansion import QueryPart
from adaptive_rag.rank.relevance import EMBEDDED_CHUNKS, relevance, score_candidates, with_feedback
from adaptive_rag.search.branches import BRANCH_WEIGHT, gather
from adaptive_rag.search.fusion import fuse
from adaptive_rag.search.search import search_parts
from adaptive_rag.source import Sentences

PARTS = [QueryPart("q", 0.5, 1.0), QueryPart("talk", 0.5, 0.0)]


class Blind:
    """A source that cannot compare texts beyond what it found."""

    def __init__(self, found):
        self.found = found

    def search(self, queries, *, limit):
        return [self.found[query] for query in queries]


class Seeing(Blind):
    def similarities(self, texts, ids):
        return np.array(
            [[{"q": 0.0, "talk": 0.9}[text] if id_ == "b" else 0.5 for id_ in ids] for text in texts]
        )


@pytest.fixture
def found(make):
    return {
        "q": [make("a", dense=0.8, sparse=2.0), make("c", dense=0.4, sparse=0.0)],
        "talk": [make("b", dense=0.9, sparse=7.0), make("a", dense=0.6, sparse=5.0)],
    }


def scores(candidates):
    return {c["id"]: c["scores"] for c in candidates}


def test_parts_are_summed_before_they_are_fused(found):
    got = scores(search_parts(Blind(found), PARTS, make_context()))
    assert got["a"]["dense"] == pytest.approx(0.7)
    assert got["a"]["sparse"] == pytest.approx(2.0)  # the talk's words do not count


def test_what_one_part_did_not_find_gets_that_parts_lowest(found):
    got = scores(search_parts(Blind(found), PARTS, make_context()))
    assert got["b"]["dense"] == pytest.approx(0.5 * 0.4 + 0.5 * 0.9)
    assert got["c"]["dense"] == pytest.approx(0.5 * 0.4 + 0.5 * 0.6)


def test_a_source_that_can_compare_is_asked_to(found):
    got = scores(search_parts(Seeing(found), PARTS, make_context()))
    assert got["b"]["dense"] == pytest.approx(0.45)


def test_by_meaning_only_the_nearest_become_candidates(make):
    far = make("far", dense=0.0, sparse=99.0)
    many = [make(str(i), dense=1 - i / 100, sparse=0.0) for i in range(50)]
    part = [QueryPart("q", 1.0, 1.0)]
    by_words = search_parts(Blind({"q": [*many, far]}), part, make_context())
    by_meaning = search_parts(Blind({"q": [*many, far]}), part, make_context(), by_meaning=True)
    assert len(by_words) == 51 and "far" in scores(by_words)
    assert len(by_meaning) == 50 and "far" not in scores(by_meaning)


def test_the_question_leads_and_its_branches_add_a_share(make):
    hits = [
        {"order": 1, "candidates": [{**make("b", fused=1.0), "labels": ["x"]}]},
        {"order": 0, "candidates": [make("a", fused=0.9), make("b", fused=0.6)]},
        {"order": 2, "candidates": [make("stray", fused=1.0)]},
    ]
    got = gather(hits)
    assert [c["id"] for c in got] == ["a", "b", "stray"]
    assert got[1]["scores"]["fused"] == pytest.approx(0.6 + BRANCH_WEIGHT / 2)
    assert got[1]["labels"] == ["x"]
    assert gather([]) == []


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
    got = relevance(pool, sentences, np.array([1, 0], dtype=np.float32), "harbour")
    assert 0 <= got[0] < got[1] <= 10
    assert relevance([], [], np.array([1, 0], dtype=np.float32), "x") == []


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
