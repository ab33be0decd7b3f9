"""The fakes that are shipped: a chat model with a script, and a way to run one node alone."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from adaptive_rag.analysis import analyse
from adaptive_rag.context import make_context
from adaptive_rag.llm.request import asking_step
from adaptive_rag.nodes import balance, decompose, enhance, viewpoints
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.state import ROUTED_TYPES, Hit
from adaptive_rag.testing import ScriptedChatModel, arun_node, run_node
from tests.conftest import EVERY_STEP
from tests.nodes.made import first_hits
from tests.traces import stand_ins

QUESTION = "Should the sea wall of Saltmere be raised?"
STATE = {"question": QUESTION, "query_type": "opinion", "analysis": analyse(QUESTION)}


def reply_to(model, step):
    token = asking_step.set(step)
    try:
        return model.invoke([HumanMessage("?")]).text
    finally:
        asking_step.reset(token)


def test_replies_of_a_list_are_used_once_each_and_the_last_one_ever_after():
    model = ScriptedChatModel(script={"enhance": ["one", "two"]})
    assert [reply_to(model, "enhance") for _ in range(3)] == ["one", "two", "two"]
    assert model.skills == ["enhance"] * 3


def test_objects_are_written_as_json_and_exceptions_raised():
    model = ScriptedChatModel(script={"enhance": {"query": "x"}, "generate": ValueError("no")})
    assert reply_to(model, "enhance") == '{"query": "x"}'
    with pytest.raises(ValueError, match="no"):
        reply_to(model, "generate")


def test_a_reply_to_a_step_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"'answer'.*'generate'"):
        ScriptedChatModel(script={"answer": "It is 2,340 metres long [1]."})


def test_what_is_not_in_the_script_is_answered_sensibly(town):
    for route in ROUTED_TYPES:
        rag = AdaptiveRAG(town, model=ScriptedChatModel(), route=route, **EVERY_STEP)
        output = rag.invoke("How long is the sea wall of Saltmere?")
        assert not any("usable" in reason for _, reason in stand_ins(output))


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize(("node", "setting"), [(decompose, "sub_questions"), (viewpoints, "viewpoints")])
def test_a_list_has_as_many_items_as_were_asked_for(town, node, setting, n):
    context = make_context(EVERY_STEP, index=town, model=ScriptedChatModel(), retrieval={setting: n})
    update = run_node(node, STATE, context)
    labels = [query["label"] for query in update["queries"] if query.get("label")]
    assert len(set(labels)) == n


def test_a_stream_adds_up_to_the_reply_with_its_tokens():
    model = ScriptedChatModel(script={"": "one two three"})
    chunks = list(model.stream([HumanMessage("four five")]))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    assert whole.text == "one two three"
    assert (whole.usage_metadata["input_tokens"], whole.usage_metadata["output_tokens"]) == (2, 3)


def test_one_node_runs_alone_and_returns_what_it_changed(town):
    update = run_node(viewpoints, STATE, make_context(index=town))
    assert update["queries"][0]["text"] == STATE["question"]
    assert update["trace"][-1]["step"] == "viewpoints"
    assert "documents" not in update


@pytest.mark.parametrize("node", [viewpoints, decompose])
async def test_a_node_gives_the_same_on_both_paths(town, node):
    context = make_context(EVERY_STEP, index=town, model=ScriptedChatModel())
    sync = run_node(node, STATE, context)
    asynchronous = await arun_node(node, STATE, context)
    for update in (sync, asynchronous):
        for record in update["trace"]:
            record.pop("ms")
    assert sync == asynchronous


def test_a_node_that_is_told_to_do_nothing_keeps_the_question(town):
    model = ScriptedChatModel()
    context = make_context(EVERY_STEP, index=town, model=model, without="enhance")
    update = run_node(enhance, STATE, context)
    assert [query["text"] for query in update["queries"]] == [STATE["question"]]
    assert model.asked == []


def test_a_node_of_a_strategy_runs_alone_on_what_its_branches_found(town):
    found = first_hits(town, STATE["question"])
    hits = [Hit(order=0, label=None, candidates=found, record={"step": "retrieve"})]
    update = run_node(balance, {**STATE, "hits": hits}, make_context(index=town, k=2))
    assert len(update["documents"]) == 2
    assert [record["step"] for record in update["trace"]] == ["retrieve", "balance"]


def test_a_script_that_is_a_function_hears_the_step_and_its_messages():
    model = ScriptedChatModel(script=lambda step, messages: f"{step}: {messages[-1].text}")
    assert reply_to(model, "generate") == "generate: ?"
    assert [step for step, _ in model.asked] == ["generate"]
