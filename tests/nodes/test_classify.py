"""Who decides the type of a question, by `routing`, and that the trace says what really happened."""

from __future__ import annotations

import pytest

from adaptive_rag.analysis.question_types import TYPES, describe_types
from adaptive_rag.context import make_context
from adaptive_rag.context.groups import RoutingSettings
from adaptive_rag.llm.messages import format_messages
from adaptive_rag.nodes.classify import ask_to_classify, chosen_strategy, classify
from adaptive_rag.state import ROUTED_TYPES
from adaptive_rag.testing import ScriptedChatModel, arun_node, run_node
from tests.nodes import made

SURE, UNSURE = made.QUESTIONS["factual"], "sea wall height views"


@pytest.fixture(scope="module")
def source():
    return made.index()


def settings_of(source, **settings):
    """Return the context, `routing` given by the names of its settings."""
    grouped = {
        f"routing.{name}" if name in RoutingSettings.model_fields else name: settings[name]
        for name in settings
    }
    return make_context(grouped, index=source)


def ask(source, question, reply=None, *, model=True, **settings):
    """Return the node's update and the model that it may have asked."""
    script = {} if reply is None else {"classify": reply}
    scripted = ScriptedChatModel(script=script) if model else None
    context = settings_of(source, model=scripted, **settings)
    return run_node(classify, {"question": question}, context), scripted


def decided(update):
    """Return what was chosen, by whom, and why, as the analysis and the trace have it."""
    analysis, decisions = update["analysis"], update["trace"][-1]["decisions"]
    [decision] = [decision for decision in decisions if decision["what"] == "type"]
    assert (decision["chosen"], decision["why"]) == (analysis["type"], analysis["reason"])
    assert update["query_type"] == analysis["type"]
    return analysis["type"], analysis["decided_by"], analysis["reason"]


def test_a_bare_pronoun_with_nothing_before_it_is_read_as_what_the_documents_are_about(source):
    update, _ = ask(source, "When was it founded?", model=False)
    chosen, _, why = decided(update)
    assert chosen == "factual"
    assert "no earlier conversation" in why


def test_a_low_confidence_keeps_the_router_unsure_where_no_conversation_was_before(source):
    update, _ = ask(source, "When was it founded?", model=False, low_confidence=0.8)
    assert decided(update)[1] == "hedge"
    assert chosen_strategy(update) == "hedge"


@pytest.mark.parametrize("question", ["What about Sundays?", "Can I bring my dog?"])
def test_what_leans_on_a_conversation_or_on_who_asks_stays_contextual(source, question):
    assert decided(ask(source, question, model=False)[0])[0] == "contextual"


def test_a_pronoun_after_a_conversation_stays_contextual(source):
    history = [{"role": "user", "text": "Who built the Long Wall?"}]
    state = {"question": "When was it founded?", "history": history}
    assert run_node(classify, state, settings_of(source))["query_type"] == "contextual"


def test_by_default_a_model_is_asked_only_where_the_router_is_unsure(source):
    update, model = ask(source, SURE, {"type": "opinion"})
    assert model.skills == []
    assert decided(update)[:2] == ("factual", "local")
    update, model = ask(source, UNSURE, {"type": "analytical", "reason": "asks how high"}, threshold=0.99)
    assert model.skills == ["classify"]
    chosen, by, why = decided(update)
    assert (chosen, by, chosen_strategy(update)) == ("analytical", "model", "analytical")
    assert why.startswith("the router was unsure between ") and why.endswith(
        "the model decided: asks how high"
    )
    assert "both are run" not in why


def test_the_router_alone_never_asks_a_model(source):
    update, model = ask(source, UNSURE, classify="router", threshold=0.99)
    assert model.skills == []
    _, by, why = decided(update)
    assert by == "hedge" and why.endswith("so both are run")
    assert chosen_strategy(update) == "hedge"


def test_a_model_that_classifies_every_question_is_asked_where_the_router_is_sure(source):
    update, model = ask(source, SURE, {"type": "opinion", "reason": ""}, classify="model")
    assert model.skills == ["classify"]
    chosen, by, why = decided(update)
    assert (chosen, by) == ("opinion", "model")
    assert "unsure" not in why
    assert why.startswith("a model classifies every question (the router: factual at ")


async def test_both_paths_decide_alike(source):
    model = ScriptedChatModel(script={"classify": "opinion"})
    context = settings_of(source, model=model, classify="model")
    update = await arun_node(classify, {"question": SURE}, context)
    assert decided(update)[:2] == ("opinion", "model")


def test_a_model_chosen_by_setting_is_asked_beyond_the_planned_calls(source):
    update, model = ask(source, UNSURE, "opinion", threshold=0.99, budget={"planned_calls": 1})
    assert model.skills == [] and decided(update)[1] == "hedge"
    update, model = ask(source, SURE, "opinion", classify="model", budget={"planned_calls": 1})
    assert model.skills == ["classify"] and decided(update)[:2] == ("opinion", "model")


def test_where_the_model_cannot_decide_the_router_does_and_the_trace_says_so(source):
    update, model = ask(source, SURE, "I would rather not say.", classify="model")
    assert model.skills == ["classify"] * 2
    chosen, by, why = decided(update)
    assert (chosen, by) == ("factual", "local")
    assert "the model did not decide: the model's reply was not usable" in why
    update, _ = ask(source, SURE, model=False, classify="model")
    assert decided(update)[2].endswith("the model did not decide: no chat model is configured")
    update, _ = ask(source, UNSURE, "no idea", threshold=0.99)
    assert decided(update)[1] == "hedge"
    assert decided(update)[2].endswith("so both are run")


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("Analytical, though it could be factual.", "analytical"),
        ("This question is not an opinion.", "opinion"),
        ('{"type": "opinion", "reason": "not factual"}', "opinion"),
        ('{"reason": "it is not factual", "type": "opinion"}', "opinion"),
        ('{"kind": "x", "note": "contextual"}', "contextual"),
        ('{"answer": 1}\nIt is an opinionated question.', "opinion"),
    ],
)
def test_with_a_fallback_the_first_type_that_a_reply_names_counts(source, reply, chosen):
    update, model = ask(source, SURE, reply, classify="model", fallback="factual")
    assert model.skills == ["classify"]
    assert decided(update)[:2] == (chosen, "model")
    assert "the model decided" in decided(update)[2]


@pytest.mark.parametrize("reply", ["A question about a wall.", "", '{"type": "poem"}', "{}"])
def test_a_reply_that_names_no_type_is_the_fallback_without_a_second_call(source, reply):
    update, model = ask(source, SURE, reply, classify="model", fallback="contextual")
    assert model.skills == ["classify"]
    chosen, by, why = decided(update)
    assert (chosen, by) == ("contextual", "model")
    assert why.endswith("the model's reply named no type, so routing.fallback decided: contextual")
    assert [decision["what"] for decision in update["trace"][-1]["decisions"]] == ["type"]


def test_the_fallback_is_no_answer_of_a_model_that_was_not_reached(source):
    update, _ = ask(source, SURE, TimeoutError("the model timed out"), classify="model", fallback="opinion")
    assert decided(update)[:2] == ("factual", "local")


def test_a_low_confidence_is_unsure_as_well(source):
    update, _ = ask(source, SURE, model=False, low_confidence=1.0)
    _, by, why = decided(update)
    assert by == "hedge" and chosen_strategy(update) == "hedge"
    assert "the confidence, " in why and "is under 1; " in why
    update, model = ask(source, SURE, "opinion", low_confidence=1.0)
    assert model.skills == ["classify"] and decided(update)[:2] == ("opinion", "model")


def test_without_the_hedge_the_likeliest_type_is_run_alone(source):
    update, _ = ask(source, UNSURE, model=False, threshold=1.0, without={"hedge"})
    chosen, by, why = decided(update)
    assert by == "local" and chosen_strategy(update) == chosen
    assert why.endswith(f"without the hedge, only {chosen} is run")


def test_a_route_that_the_caller_fixed_asks_nobody(source):
    update, model = ask(source, SURE, "opinion", route="analytical", classify="model")
    assert model.skills == []
    assert decided(update) == ("analytical", "caller", "the caller fixed the route to analytical")


def test_a_situation_that_the_question_tells_stands_apart_for_this_question_alone(source):
    question = "I rent a cellar flat in Mill Street. How should I prepare for a flood?"
    update, _ = ask(source, question, model=False, route="contextual")
    assert update["question"] == question
    assert update["spelt_question"] == "How should I prepare for a flood?"
    assert update["user_context"] == "I rent a cellar flat in Mill Street."
    # the next question of the thread is asked by somebody of whom only their own words are known
    later = {
        "question": "How high is the sea wall?",
        **{key: update[key] for key in ("user_context", "profile")},
    }
    assert run_node(classify, later, settings_of(source))["user_context"] == ""


def test_a_situation_that_was_given_already_is_not_doubled(source):
    told = "I rent a cellar flat in Mill Street."
    given = {"question": f"{told} How should I prepare for a flood?", "user_context": told}
    update = run_node(classify, given, settings_of(source, route="contextual"))
    assert update["user_context"] == told


def test_other_types_are_searched_for_as_a_whole(source):
    question = "I read about the sea wall. How high is it?"
    assert ask(source, question, model=False, route="factual")[0]["spelt_question"] == question


def test_several_questions_for_facts_in_one_are_factual(source) -> None:
    parts = ("what is the remark of W-203", "what is the place of L-003")
    update, _ = ask(source, " and ".join(parts), model=False)
    assert decided(update) == ("factual", "local", "each of its questions asks for a fact")
    update, _ = ask(source, " and ".join(parts), model=False, without={"parts"})
    assert decided(update)[0] == "analytical"
    update, _ = ask(source, "how does the sea wall affect the marsh and why do people oppose it", model=False)
    assert decided(update)[0] == "analytical"


def test_the_prompt_lists_the_types_of_the_table():
    system, human = format_messages(ask_to_classify("Is it wet?", "", []))
    assert describe_types() in system.text
    assert human.text.endswith('{"type": "factual, analytical, opinion or contextual", "reason": "..."}')
    assert tuple(TYPES) == ROUTED_TYPES
