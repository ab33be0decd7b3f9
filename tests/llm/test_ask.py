"""Who is asked: at most three calls a question by default, whatever its type."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.llm.ask import aask, ask
from adaptive_rag.llm.ask import refusals as refusals_of
from adaptive_rag.llm.budget import open_ledger
from adaptive_rag.rank.scoring import ask_to_score
from adaptive_rag.testing import ScriptedChatModel
from tests.llm.made import QUESTION, STEPS, budget, candidate, context, request_for


def refusals(*given) -> list[str]:
    """Return why no model is asked, in words; "" where one is."""
    return [said["text"] if said else "" for said in refusals_of(*given)]


def score(**more):
    return ask_to_score(QUESTION, "", [candidate(1)], **more)


def refusal(request, together=1, **left):
    request = request_for(request) if isinstance(request, str) else request
    return refusals([request] * together, context(ScriptedChatModel()), budget(**left))[0]


@pytest.mark.parametrize(
    ("request_", "left", "reason"),
    [
        # by default, two requests are made before the answer
        ("score", {"asked": 1}, ""),
        ("score", {"asked": 2}, "planned"),
        ("decompose", {"asked": 2}, "planned"),
        ("generate", {"asked": 2}, ""),
        # what a setting asks for is made beyond the plan
        ("select", {"asked": 2}, ""),
        (score(by_setting=True), {"asked": 2}, ""),
        # scores of one passage each need calls for all of them, and one for the answer
        (score(by_setting=True), {"together": 5, "calls": 6}, ""),
        (score(by_setting=True), {"together": 6, "calls": 6}, "exceed"),
        (
            score(by_setting=True),
            {"calls": 1},
            "1 call at once and one for the answer exceed the 1 that is left",
        ),
        # strategies that run side by side ask once each
        ("enhance", {"branches": 2}, ""),
        ("enhance", {"branches": 2, "asked": 1}, "planned"),
        ("score", {"branches": 2}, "two strategies"),
        ("select", {"branches": 2}, "two strategies"),
        # a model that did not respond is asked for the answer only
        ("score", {"unreachable": True}, "did not respond"),
        ("generate", {"unreachable": True}, ""),
        ("generate", {"seconds": -1}, "deadline of 60 s"),
        ("generate", {"calls": 0}, "budget of 3 calls"),
    ],
)
def test_a_model_is_asked_within_the_plan_the_budget_and_the_deadline(request_, left, reason):
    found = refusal(request_, **left)
    assert reason in found if reason else not found


def test_a_step_that_no_setting_names_goes_its_local_way_and_by_default_two_do():
    settings = make_context(model=ScriptedChatModel(), index="nowhere")
    local = "models.steps leaves it to the local method"
    left = [step for step in STEPS if refusals([request_for(step)], settings, budget()) == [local]]
    assert left == ["enhance", "decompose"]
    settings = make_context(model=ScriptedChatModel(), index="nowhere", models={"steps": ["generate"]})
    left = [step for step in STEPS if refusals([request_for(step)], settings, budget()) == [local]]
    # a selection is a setting of its own
    assert left == [step for step in STEPS if step not in ("select", "generate")]


def test_a_fast_model_alone_does_the_steps_before_the_answer_only():
    settings = context(None, models={"fast_model": ScriptedChatModel()})
    requests = [request_for(step) for step in ("enhance", "generate")]
    assert refusals(requests, settings, budget()) == ["", "no chat model is configured"]


def test_branches_share_the_calls_and_the_answer_keeps_one():
    ledger = open_ledger(budget(calls=6, branches=2))
    taken = 0
    while ledger.take("fast"):
        taken += 1
    assert taken == 2
    assert ledger.take("answer") and not open_ledger(budget(calls=0)).take("answer")


def test_requests_of_one_round_count_against_the_plan_together():
    requests = [request_for(step) for step in ("enhance", "score")]
    settings = context(ScriptedChatModel())
    assert refusals(requests, settings, budget(asked=0)) == ["", ""]
    first, second = refusals(requests, settings, budget(asked=1))
    assert first == ""
    assert "planned" in second
    refused = [replace(requests[1], locally_because="because"), requests[0]]
    assert refusals(refused, settings, budget(asked=1)) == ["because", ""], "it leaves the plan to the others"


@pytest.mark.parametrize("refused", [0, 1, 2])
async def test_replies_come_in_the_order_of_the_requests_whichever_is_refused(refused):
    steps = ["enhance", "classify", "generate"]
    requests = [request_for(step) for step in steps]
    requests[refused] = replace(requests[refused], locally_because="because")
    for replies in (
        ask(requests, context(ScriptedChatModel()), budget()),
        await aask(requests, context(ScriptedChatModel()), budget()),
    ):
        assert [reply.reason for reply in replies] == ["because" if i == refused else "" for i in range(3)]
        assert [reply.result is None for reply in replies] == [i == refused for i in range(3)]
        fields = [{"query"}, {"type", "reason"}, {"text", "message_id"}]
        for reply, expected in zip(replies, fields, strict=True):
            assert reply.result is None or set(reply.result.model_dump()) == expected


@pytest.mark.parametrize("settings", [{"model": None}, {"model": "nobody:knows-this"}])
def test_where_every_request_is_refused_no_model_is_opened(settings):
    request = replace(request_for("enhance"), locally_because="because")
    [reply] = ask([request], context(**settings), budget())
    assert (reply.result, reply.reason, reply.calls) == (None, "because", 0)
