"""Scores that a model gave early are kept; what was found later is placed beside them."""

from __future__ import annotations

import pytest

from adaptive_rag.rank.judged import add_missed, join_scores
from tests.llm.made import candidate


def judged(number, score):
    made = candidate(number)
    return {**made, "scores": {**made["scores"], "judged": score}}


def test_the_judgement_counts_more_than_the_local_score():
    candidates = [candidate(1), candidate(2), candidate(3)]
    scores = join_scores(candidates, [9.0, 5.0, 1.0], [judged(1, 2), judged(2, 5), judged(3, 8)])
    assert scores == pytest.approx([0.6 * 2 + 0.4 * 9, 5, 0.6 * 8 + 0.4 * 1])
    assert sorted(scores) == scores


def test_equal_judgements_leave_the_order_to_the_local_score():
    candidates = [candidate(1), candidate(2)]
    first, second = join_scores(candidates, [3.0, 5.0], [judged(1, 7), judged(2, 7)])
    assert second > first


def test_an_unjudged_candidate_is_placed_by_the_line_through_the_judged_ones():
    candidates = [candidate(n) for n in (1, 2, 3, 4)]
    scores = join_scores(candidates, [8.0, 6.0, 4.0, 5.0], [judged(1, 7), judged(2, 5), judged(3, 3)])
    assert scores[3] == pytest.approx(0.6 * 4 + 0.4 * 5)


def test_a_guess_is_no_higher_than_the_best_judgement():
    candidates = [candidate(n) for n in (1, 2, 3, 4)]
    scores = join_scores(candidates, [6.0, 5.0, 4.0, 10.0], [judged(1, 7), judged(2, 5), judged(3, 3)])
    assert scores[3] == pytest.approx(0.6 * 7 + 0.4 * 10)


def test_where_the_model_contradicts_the_local_order_the_rest_lie_in_the_middle():
    candidates = [candidate(n) for n in (1, 2, 3, 4)]
    scores = join_scores(candidates, [6.0, 5.0, 4.0, 10.0], [judged(1, 3), judged(2, 5), judged(3, 7)])
    assert scores[3] == pytest.approx(0.6 * 5 + 0.4 * 10)


def test_without_judgements_the_local_scores_stand():
    assert join_scores([candidate(1), candidate(2)], [3.0, 4.0], []) == pytest.approx([3, 4])


def test_what_was_judged_well_is_not_lost_by_the_later_search():
    kept = add_missed([candidate(1)], [judged(1, 9), judged(2, 8), judged(3, 2)])
    assert [c["id"] for c in kept] == ["c1", "c2"]
