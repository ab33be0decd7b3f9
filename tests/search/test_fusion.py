"""Joining scores: by vector and by words, of the branches of one question, of two strategies."""

import numpy as np
import pytest

from adaptive_rag.search.fusion import (
    ALPHA_BOUNDS,
    BRANCH_WEIGHT,
    HIGHEST_ALPHA,
    IN_DOMAIN_ALPHA,
    RRF_K,
    alpha_by_intent,
    bound_alpha,
    choose_alpha,
    fuse,
    fuse_rankings,
    join_branches,
    min_max,
    word_margin,
)

PLAIN = {"ontology_terms": {}, "domain_relevance": 0.5}
CLEAR = np.array([10.0] + [1.0] * 20)
UNCLEAR = np.full(20, 4.0)


def test_words_that_single_out_a_chunk_count_more():
    assert choose_alpha(CLEAR, PLAIN)[0] < 0.5 < choose_alpha(UNCLEAR, PLAIN)[0]


@pytest.mark.parametrize(
    ("sparse", "margin"),
    [
        ([8.0, 7, 7, 7, 4, 4, 4, 4, 4, 4, 0], 0.5),  # against ranks 5 to 10, in any order
        (
            [8.0, *[2.0] * 8, *[0.0] * 30],
            None,
        ),  # no tenth chunk holds a word: a stray match singles nothing out
        ([8.0, *[2.0] * 8], 0.75),  # of a small index, all others are rivals
        ([8.0], None),
        ([0.0, 0.0, 0.0], None),
        ([], None),
    ],
)
def test_the_margin_is_the_share_by_which_the_best_leads(sparse, margin):
    assert word_margin(np.array(sparse)) == pytest.approx(margin)


def test_alpha_stays_between_its_bounds():
    assert choose_alpha(np.array([1e6] + [1e-3] * 20), PLAIN)[0] == pytest.approx(0.4)
    assert choose_alpha(UNCLEAR, PLAIN)[0] == HIGHEST_ALPHA
    alpha, why = choose_alpha(np.zeros(3), PLAIN)
    assert (alpha, why) == (HIGHEST_ALPHA, "too few passages hold the question's words to compare them")


def test_in_a_known_domain_meaning_counts_more():
    known = {"ontology_terms": {"sea": ["wall"]}, "domain_relevance": 0.9}
    alpha, why = choose_alpha(CLEAR, known)
    assert alpha == IN_DOMAIN_ALPHA and "domain" in why
    assert choose_alpha(CLEAR, {"ontology_terms": {}, "domain_relevance": 0.9})[0] < 0.5


def table(intent, relevance=0.5, own=None):
    found = alpha_by_intent({"intent": intent, "domain_relevance": relevance}, own)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("intent", "relevance", "alpha"),
    [
        ("technical", 0.5, 0.5),
        ("conceptual", 0.5, 0.8),
        ("factual", 0.5, None),
        ("troubleshooting", 0.5, None),
        ("factual", 0.81, 0.8),
        ("factual", 0.29, 0.5),
        ("technical", 0.9, 0.65),  # they disagree: the mean
    ],
)
def test_alpha_follows_intent_and_domain_by_the_table(intent, relevance, alpha):
    assert table(intent, relevance) == (None if alpha is None else pytest.approx(alpha))


def test_a_callers_entries_replace_those_of_the_table():
    own = {"technical": 0.4, "troubleshooting": 0.6, "in-domain": 0.6}
    assert table("technical", own=own) == 0.4
    assert table("troubleshooting", own=own) == 0.6
    assert table("technical", 0.9, own) == pytest.approx(0.5)
    assert table("procedural", own=own) == 0.5


def test_alpha_by_the_table_stays_within_its_bounds_and_says_so():
    low, high = ALPHA_BOUNDS
    assert (low, high) == (0.3, 0.9)
    assert table("technical", own={"technical": 1.0}) == high
    assert table("technical", own={"technical": 0.0}) == low
    assert bound_alpha(0.95, "by the words") == (high, "by the words, held between 0.3 and 0.9")
    assert bound_alpha(0.5, "by the words") == (0.5, "by the words")


def test_the_question_leads_and_its_branches_add_a_share(make):
    hits = [
        {"order": 1, "candidates": [{**make("b", fused=1.0), "labels": ["x"]}]},
        {"order": 0, "candidates": [make("a", fused=0.9), make("b", fused=0.6)]},
        {"order": 2, "candidates": [make("stray", fused=1.0)]},
    ]
    got = join_branches(hits)
    assert [c["id"] for c in got] == ["a", "b", "stray"]
    assert got[1]["scores"]["fused"] == pytest.approx(0.6 + BRANCH_WEIGHT / 2)
    assert got[1]["labels"] == ["x"]
    assert join_branches([]) == []


def test_min_max_spans_0_to_1_and_equal_scores_are_worth_nothing():
    assert min_max(np.array([2.0, 4.0, 3.0])) == pytest.approx([0, 1, 0.5])
    assert min_max(np.array([7.0, 7.0])).tolist() == [0, 0]
    assert min_max(np.array([])).tolist() == []


@pytest.mark.parametrize(
    ("method", "alpha", "order"),
    [
        ("weighted", 1.0, "abc"),
        ("weighted", 0.6, "acb"),
        ("dense", 0.0, "abc"),
        ("sparse", 1.0, "cab"),
        ("reciprocal-rank", 0.5, "acb"),
    ],
)
def test_scores_are_fused_as_the_setting_says(make, method, alpha, order):
    scored = {"b": (0.5, 0.0), "c": (0.1, 9.0), "a": (0.9, 1.0)}
    found = [make(id_, dense=dense, sparse=sparse) for id_, (dense, sparse) in scored.items()]
    fused = fuse(found, method=method, alpha=alpha)
    assert "".join(c["id"] for c in fused) == order
    scores = [c["scores"]["fused"] for c in fused]
    assert scores == sorted(scores, reverse=True)
    assert all("fused" not in c["scores"] for c in found)


def test_rankings_of_two_strategies_are_joined_by_rank_and_weight(make):
    first = [make("a", relevance=9), {**make("b", relevance=1), "labels": ["x"]}]
    second = [{**make("b", relevance=5), "labels": ["y", "x"]}, make("c")]
    fused = fuse_rankings([first, second], [0.6, 0.4])
    assert {c["id"]: c["scores"]["hedged"] for c in fused} == pytest.approx(
        {"b": 0.6 / (RRF_K + 2) + 0.4 / (RRF_K + 1), "a": 0.6 / (RRF_K + 1), "c": 0.4 / (RRF_K + 2)}
    )
    assert [c["id"] for c in fused] == ["b", "a", "c"]
    assert fused[0]["scores"]["relevance"] == 1
    assert fused[0]["labels"] == ["x", "y"]
