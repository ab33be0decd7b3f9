"""One search: queries whose scores are summed, then weighed as settings, plan or the words say."""

import numpy as np
import pytest

from adaptive_rag.context import make_context
from adaptive_rag.search.search import TRACED, search, sum_scores, summarise
from adaptive_rag.state import Query, SearchPlan

QUERIES = [Query(text="q", dense=0.5, sparse=1.0), Query(text="talk", dense=0.5, sparse=0.0)]


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


def test_scores_of_queries_are_summed(found):
    got = scores(sum_scores(Blind(found), QUERIES, limit=50))
    assert got["a"]["dense"] == pytest.approx(0.7)
    assert got["a"]["sparse"] == pytest.approx(2.0)  # the words of the second do not count


def test_what_one_query_did_not_find_gets_the_lowest_that_it_gave(found):
    got = scores(sum_scores(Blind(found), QUERIES, limit=50))
    assert got["b"]["dense"] == pytest.approx(0.5 * 0.4 + 0.5 * 0.9)
    assert got["c"]["dense"] == pytest.approx(0.5 * 0.4 + 0.5 * 0.6)


def test_a_source_that_can_compare_is_asked_to(found):
    got = scores(sum_scores(Seeing(found), QUERIES, limit=50))
    assert got["b"]["dense"] == pytest.approx(0.45)


ANALYSIS = {"ontology_terms": {}, "domain_relevance": 0.5, "intent": "factual"}
PLAN = SearchPlan(alpha=0.7, dense_only=False, why="planned")


def by_intent(**more):
    return {"retrieval": {"alpha_by": "intent", **more}}


@pytest.mark.parametrize(
    ("settings", "plan", "chosen", "why"),
    [
        ({}, None, "alpha 0.40", "stands 100% above"),
        ({}, PLAN, "alpha 0.70", "planned"),
        ({"retrieval": {"alpha": 0.25}}, PLAN, "alpha 0.25", "set by the caller"),
        ({"without": "analysis"}, PLAN, "alpha 0.50", "no analysis"),
        ({"without": "analysis", "retrieval": {"alpha": 0.0}}, None, "alpha 0.00", "set by the caller"),
        # a factual question is not in the table of intents: what else would decide does, within bounds
        (by_intent(), None, "alpha 0.40", "the table has no alpha for a factual"),
        (by_intent(), PLAN, "alpha 0.70", "no alpha for a factual question; planned"),
        (by_intent(alpha_table={"factual": 0.4}), PLAN, "alpha 0.40", "factual"),
        (by_intent(alpha=0.25), PLAN, "alpha 0.25", "set by the caller"),
        ({"retrieval": {"fusion": "reciprocal-rank"}}, PLAN, "reciprocal-rank", "retrieval.fusion = "),
        ({"without": "fusion"}, PLAN, "dense", "without fusion"),
    ],
)
def test_what_weighs_the_scores_is_told(found, settings, plan, chosen, why):
    _, decision = search(Blind(found), [Query(text="q")], make_context(**settings), ANALYSIS, plan)
    assert decision["chosen"] == chosen
    assert why in decision["why"]


@pytest.mark.parametrize(
    ("k", "pool", "limit"), [(4, None, 50), (20, None, 60), (4, 2, 8), (20, 2, 40), (5, 1, 5)]
)
def test_the_pool_grows_with_what_the_answer_reads(make, k, pool, limit):
    asked = []

    class Watched(Blind):
        def search(self, queries, *, limit):
            asked.append(limit)
            return super().search(queries, limit=limit)

    context = make_context(k=k, retrieval={"pool": pool})
    search(Watched({"q": [make("a", dense=1.0, sparse=0.0)]}), [Query(text="q")], context, ANALYSIS)
    assert asked == [limit]


@pytest.mark.parametrize("settings", [{"without": "fusion"}, {"retrieval": {"fusion": "dense"}}])
def test_by_vector_alone_the_pool_holds_the_nearest_and_none_that_only_words_found(town, settings):
    question = "Which chapel was built in 1160 by herring fishers?"
    context = make_context({"k": 4, "retrieval.pool": 2}, settings)
    found, _ = search(town, [Query(text=question)], context, ANALYSIS)
    [every] = town.search([question], limit=100)
    nearest = sorted(every, key=lambda candidate: -candidate["scores"]["dense"])[:8]
    assert [c["id"] for c in found] == [c["id"] for c in nearest]
    both, _ = search(town, [Query(text=question)], make_context({"k": 4, "retrieval.pool": 2}), ANALYSIS)
    assert not {c["id"] for c in both} <= {c["id"] for c in nearest}


def test_by_words_alone_the_pool_holds_the_best_by_words(make):
    near = make("near", dense=0.9, sparse=0.0)
    source = Blind({"q": [near, *(make(str(i), dense=0.1, sparse=9.0 - i) for i in range(8))]})
    context = make_context(k=4, retrieval={"pool": 2, "fusion": "sparse"})
    found, _ = search(source, [Query(text="q")], context, ANALYSIS)
    assert [c["id"] for c in found] == [str(i) for i in range(8)]


def test_a_plan_that_goes_by_vector_alone_does_so_where_scores_are_weighed(make):
    far = make("far", dense=0.0, sparse=99.0)
    source = Blind({"q": [*(make(str(i), dense=1 - i / 100, sparse=0.0) for i in range(50)), far]})
    plan = SearchPlan(alpha=0.5, dense_only=True, why="planned")
    weighed, _ = search(source, [Query(text="q")], make_context(), ANALYSIS, plan)
    ranked = make_context(retrieval={"fusion": "reciprocal-rank"})
    by_rank, _ = search(source, [Query(text="q")], ranked, ANALYSIS, plan)
    by_words, _ = search(source, [Query(text="q")], make_context(retrieval={"alpha": 0}), ANALYSIS, plan)
    assert "far" not in scores(weighed) and "far" in scores(by_rank)
    assert by_words[0]["id"] == "far"  # a caller's alpha takes precedence over the plan


def test_a_trace_keeps_the_scores_of_the_first_candidates_and_no_text(make):
    summary = summarise([make(str(i), "text", fused=1.0) for i in range(TRACED + 1)])
    assert len(summary) == TRACED
    assert summary[0] == {"id": "0", "source": "a.txt", "page": None, "scores": {"fused": 1.0}, "labels": []}
