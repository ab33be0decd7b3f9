"""Who is asked: at most three calls a question by default, whatever its type."""

from __future__ import annotations

import pytest

from adaptive_rag.llm.budget import Ledger, locally_because, open_ledger
from adaptive_rag.llm.steps import SKILLS, Ask
from adaptive_rag.testing import ScriptedChatModel
from tests.llm.made import budget, context, request_for


def reason(skill, settings=None, together=1, **left):
    asks = [Ask(SKILLS[skill], request_for(skill))] * together
    return locally_because(asks, context(ScriptedChatModel(), **(settings or {})), budget(**left))[0]


def test_by_default_two_skills_are_asked_before_the_answer():
    assert reason("enhance", asked=0) is None
    assert reason("score", asked=1) is None
    assert "planned" in reason("score", asked=2)
    assert reason("generate", asked=2) is None


@pytest.mark.parametrize("kind", ["analytical", "opinion"])
def test_branches_are_scored_by_what_they_found_unless_a_setting_says_otherwise(kind):
    assert kind in reason("score", query_type=kind)
    assert reason("score", {"reranker": "listwise"}, query_type=kind) is None


def test_a_reranker_without_a_model_is_respected():
    assert "fused" in reason("score", {"reranker": "fused"})
    assert "cross-encoder" in reason("score", {"reranker": "cross-encoder"})


def test_selection_is_local_unless_a_setting_says_otherwise():
    assert reason("select") == "selection = 'local'"
    assert reason("select", {"selection": "model"}) is None


def test_pointwise_scores_need_room_for_all_of_them_and_the_answer():
    assert reason("score", {"reranker": "pointwise"}, together=5, calls=6) is None
    assert "exceed" in reason("score", {"reranker": "pointwise"}, together=6, calls=6)


def test_strategies_that_run_side_by_side_are_asked_once_each():
    assert reason("enhance", branches=2) is None
    assert "two strategies" in reason("score", branches=2, asked=0)
    assert "planned" in reason("enhance", branches=2, asked=1)


def test_a_model_that_did_not_respond_is_asked_for_the_answer_only():
    assert "did not respond" in reason("score", unreachable=True)
    assert reason("generate", unreachable=True) is None


def test_a_passed_deadline_and_a_spent_budget_are_named():
    assert "deadline of 60 s" in reason("generate", seconds=-1)
    assert "budget of 6 calls" in reason("generate", calls=0)


def test_a_caller_reason_comes_first():
    ask = Ask(SKILLS["enhance"], request_for("enhance"), locally_because="because")
    assert locally_because([ask], context(ScriptedChatModel()), budget()) == ["because"]


def test_a_fast_model_alone_does_the_routing_but_not_the_answer():
    settings = context(None, fast_model=ScriptedChatModel())
    asks = [Ask(SKILLS[name], request_for(name)) for name in ("enhance", "generate")]
    assert locally_because(asks, settings, budget()) == [None, "no chat model is configured"]


def test_branches_share_the_calls_and_the_answer_keeps_one():
    ledger = open_ledger(budget(calls=6, branches=2))
    taken = 0
    while ledger.take("fast"):
        taken += 1
    assert taken == 2
    assert ledger.take("answer")


def test_a_ledger_gives_no_more_than_it_has():
    ledger = Ledger(1)
    assert ledger.take("answer")
    assert not ledger.take("answer")


def test_asks_of_one_round_count_against_the_plan_together():
    asks = [Ask(SKILLS[name], request_for(name)) for name in ("enhance", "score")]
    settings = context(ScriptedChatModel())
    assert locally_because(asks, settings, budget(asked=0)) == [None, None]
    first, second = locally_because(asks, settings, budget(asked=1))
    assert first is None
    assert "planned" in second
