"""Scoring candidates again: who is asked, what is read, and how scores of two kinds are joined."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.context import Context, make_context
from adaptive_rag.llm.request import Reply
from adaptive_rag.rank.rerankers import RERANKERS
from adaptive_rag.rank.scoring import (
    PassageScores,
    RerankRequest,
    add_missed,
    ask_to_score,
    early_scores,
    join_scores,
)
from adaptive_rag.state import Candidate
from tests.llm.made import candidate, finish
from tests.models.made_cross_encoder import POISON, forget_rerankers, write_cross_encoder


def judged(number: int, score: float) -> Candidate:
    made = candidate(number)
    return {**made, "scores": {**made["scores"], "judged": score}}


def test_the_models_score_counts_more_than_the_local_score():
    candidates = [candidate(1), candidate(2), candidate(3)]
    scores = join_scores(candidates, [3.0, 5.0, 7.0], [judged(1, 0), judged(2, 5), judged(3, 10)])
    assert scores == pytest.approx([0.6 * 0 + 0.4 * 3, 5, 0.6 * 10 + 0.4 * 7])


def test_a_weight_of_one_asks_for_the_model_alone():
    candidates = [candidate(n) for n in (1, 2)]
    assert join_scores(candidates, [9.0, 1.0], [judged(1, 2), judged(2, 8)], 1.0) == [2, 8]


@pytest.mark.parametrize(
    ("local", "by_model", "estimate"),
    [
        ([8.0, 6.0, 4.0, 5.0], [7, 5, 3], 4),  # on the line through the others
        ([6.0, 5.0, 4.0, 10.0], [7, 5, 3], 7),  # no higher than what the model gave its best
        ([6.0, 5.0, 4.0, 10.0], [3, 5, 7], 5),  # in the middle, where the model contradicts the local order
    ],
)
def test_the_score_of_a_candidate_that_the_model_did_not_score_is_estimated(local, by_model, estimate):
    found = [judged(number, score) for number, score in enumerate(by_model, start=1)]
    scores = join_scores([candidate(n) for n in (1, 2, 3, 4)], local, found)
    assert scores[3] == pytest.approx(0.6 * estimate + 0.4 * local[3])


def test_what_the_model_scored_well_is_not_lost_by_the_later_search():
    kept = add_missed([candidate(1)], [judged(1, 9), judged(2, 8), judged(3, 2)])
    assert [c["id"] for c in kept] == ["c1", "c2"]


def test_early_scores_are_those_of_the_model_and_none_where_it_gave_none():
    pool = [candidate(1), candidate(2)]
    said = Reply(PassageScores(scores=[7, 3]))
    assert early_scores(pool, [said]) == [judged(1, 7), judged(2, 3)]
    assert early_scores(pool, [Reply(reason="no chat model is configured")]) == []
    assert early_scores([], []) == []


LOCAL = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
POOL = [candidate(n) for n in range(1, 7)]


def rerank(name: str, *results: Any, **more: Any) -> tuple[list[Candidate], Any]:
    """Return what a reranker makes of the pool, and what it requested."""
    request = RerankRequest("How long?", "I rent.", POOL, 2, lambda: list(LOCAL), Context(), **more)
    return finish(RERANKERS[name].rerank(request), *results)


def ranks(candidates: list[Candidate]) -> str:
    return "".join(c["id"][1:] for c in candidates)


def relevance(candidates: list[Candidate]) -> list[float]:
    return [c["scores"]["relevance"] for c in candidates]


def scores(*given: float) -> PassageScores:
    return PassageScores(scores=list(given))


@pytest.mark.parametrize("name", ["auto", "listwise"])
def test_a_model_scores_two_candidates_for_each_passage_in_one_call(name):
    ranked, [request] = rerank(name, [scores(1, 4, 9, 6)])
    assert request.values()["n"] == "4" and request.values()["context"] == "I rent."
    assert request.bounds["scores"]["minItems"] == request.bounds["scores"]["maxItems"] == 4
    assert ranks(ranked) == "3421"
    joined = [0.6 * a + 0.4 * b for a, b in ((9, 3), (6, 4), (4, 2), (1, 1))]
    assert relevance(ranked) == pytest.approx(joined)


@pytest.mark.parametrize("name", ["auto", "listwise", "fused", "pointwise"])
def test_without_a_reply_all_are_scored_locally(name):
    ranked, _ = rerank(name)
    assert ranks(ranked) == "654321"
    assert relevance(ranked) == LOCAL[::-1]
    assert all("judged" not in c["scores"] for c in ranked)


def test_a_model_that_scores_one_by_one_is_asked_for_each_at_once():
    ranked, requests = rerank("pointwise", [scores(1), scores(4), scores(9), scores(6)])
    assert [request.values()["n"] for request in requests] == ["1"] * 4
    assert ranks(ranked) == "3421"


def test_where_one_of_several_calls_failed_none_counts():
    ranked, _ = rerank("pointwise", [scores(9), None, scores(5), scores(7)])
    assert relevance(ranked) == LOCAL[::-1]


def test_only_a_setting_that_names_the_model_goes_beyond_the_planned_calls():
    by_setting = {name: rerank(name)[1][0].by_setting for name in ("auto", "fused", "listwise", "pointwise")}
    assert by_setting == {"auto": False, "fused": False, "listwise": True, "pointwise": True}


def test_the_fused_reranker_asks_no_model_and_says_so():
    _, [request] = rerank("fused")
    assert request.locally_because == "reranker = 'fused' scores without a chat model"


def test_a_strategy_that_scores_by_its_branches_is_heeded_unless_a_setting_says_otherwise():
    asked = {
        name: rerank(name, locally_because="by branches")[1][0].locally_because
        for name in ("auto", "listwise", "pointwise")
    }
    assert asked == {"auto": "by branches", "listwise": "", "pointwise": ""}


def test_no_reranker_keeps_the_order_and_gives_no_relevance():
    assert rerank("none") == (POOL, [])


def test_scores_are_one_a_passage_from_0_to_10():
    check: Any = ask_to_score("How long?", "", POOL[:2]).check
    assert check(scores(0, 10)).scores == [0, 10]
    with pytest.raises(ValueError, match="expected 2 scores, got 1"):
        check(scores(5))
    for wrong in (-1, 11):
        with pytest.raises(ValueError, match="between 0 and 10"):
            check(scores(5, wrong))


def test_a_prompt_made_shorter_asks_for_the_same():
    request = ask_to_score("How long?", "", [candidate(1, "word " * 5000)], by_setting=True)
    assert request.shortened is not None
    shorter = request.shortened()
    assert (shorter.by_setting, shorter.bounds, shorter.step) == (True, request.bounds, "score")
    assert len(shorter.values()["passages"]) < len(request.values()["passages"]) / 2


# Cross-encoders

QUESTION = "How long is the sea wall?"
PASSAGES = ["the sea wall is long", "the wall", "herring", "is the sea warm"]


@pytest.fixture
def nothing_loaded() -> Iterator[None]:
    forget_rerankers()
    yield
    forget_rerankers()


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def scored(id_: str, text: str, fused: float) -> Candidate:
    return {**candidate(1, text), "id": id_, "scores": {"dense": fused, "sparse": 0.0, "fused": fused}}


def cross_encode(
    folder: Path, candidates: list[Candidate], context: str = "", **scoring: Any
) -> tuple[list[Candidate], list[str]]:
    """Return what the cross-encoder makes of candidates, and what it says of it."""
    settings = make_context(retrieval={"reranker_model": str(folder)}, scoring=scoring)
    request = RerankRequest(QUESTION, context, candidates, 4, list, settings)
    ranked, requests = finish(RERANKERS["cross-encoder"].rerank(request))
    assert all(request.step == "score" for request in requests)
    return ranked, [request.locally_because for request in requests]


def test_the_cross_encoder_weighs_six_tenths(tmp_path, nothing_loaded):
    write_cross_encoder(tmp_path, QUESTION, *PASSAGES)
    given = [scored("a", "herring", 1.0), scored("b", "the sea wall is long", 0.5), scored("c", "", 0.0)]
    ranked, reasons = cross_encode(tmp_path, given)
    assert [c["id"] for c in ranked] == ["b", "a", "c"]
    assert ranked[0]["scores"]["cross_encoder"] == pytest.approx(sigmoid(7))
    assert ranked[0]["scores"]["relevance"] == pytest.approx(10 * (0.6 * sigmoid(7) + 0.4 * 0.5), abs=1e-3)
    assert ranked[1]["scores"]["relevance"] == pytest.approx(10 * (0.6 * sigmoid(-3) + 0.4), abs=1e-3)
    assert reasons == [f"scored by the cross-encoder {tmp_path}"]
    by_search, _ = cross_encode(tmp_path, given, weight=0.1)
    assert [c["id"] for c in by_search] == ["a", "b", "c"]
    assert by_search[0]["scores"]["relevance"] == pytest.approx(10 * (0.1 * sigmoid(-3) + 0.9), abs=1e-3)


def test_the_users_context_is_read_beside_the_question(tmp_path, nothing_loaded):
    write_cross_encoder(tmp_path, QUESTION, *PASSAGES, "renters")
    given = [scored("a", "the sea", 0.5), scored("b", "the sea renters", 0.5)]
    ranked, _ = cross_encode(tmp_path, given, context="renters")
    assert ranked[0]["id"] == "b"


def test_a_cross_encoder_that_fails_leaves_the_order_of_the_search(tmp_path, nothing_loaded):
    write_cross_encoder(tmp_path, QUESTION, *PASSAGES)
    given = [scored("a", "herring", 1.0), scored("b", "the sea wall is long", 0.5)]
    given.append(scored("c", POISON, 0.2))
    with pytest.warns(RuntimeWarning, match="InvalidArgument") as warned:
        ranked, [reason] = cross_encode(tmp_path, given)
        assert cross_encode(tmp_path, given) == (ranked, [reason])
    assert len(warned) == 1
    assert ranked == given
    assert "does not score" in reason and "the scores of the search stand" in reason
