"""What becomes of a model's answer: markers, grounding, the fallback, "I don't know", other ways to score."""

from __future__ import annotations

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.testing import ScriptedChatModel
from tests.conftest import EVERY_STEP
from tests.traces import decisions

QUESTION = "How long is the sea wall of Saltmere?"


def answer(town, reply, **settings):
    model = ScriptedChatModel(script={"generate": reply})
    rag = AdaptiveRAG(town, model=model, **{"route": "factual", "k": 4, **settings})
    output = rag.invoke(QUESTION)
    return output, model


def number_of(output, words):
    return next(i for i, d in enumerate(output["documents"], start=1) if words in d["text"])


@pytest.fixture
def marker(town):
    output, _ = answer(town, "I don't know.")
    return number_of(output, "2,340 metres")


def test_unknown_markers_are_dropped_and_recorded(town, marker):
    output, _ = answer(town, f"The sea wall of Saltmere is 2,340 metres long [{marker}][9][77].")
    assert "[9]" not in output["answer"]
    assert "[77]" not in output["answer"]
    assert decisions(output, "markers dropped")[0]["chosen"] == [9, 77]


def test_an_answer_that_nothing_supports_is_replaced_by_the_extractive_one(town, marker):
    output, _ = answer(town, "Bananas grow well in Iceland since 1873 [1].")
    assert "2,340 metres" in output["answer"]
    assert decisions(output, "answer")[0]["chosen"] == "extractive"
    assert output["grounding"] == 1.0


def test_the_replacement_can_be_switched_off_and_the_answer_is_flagged(town):
    output, _ = answer(town, "Bananas grow well in Iceland since 1873 [1].", without={"extractive-fallback"})
    assert output["answer"].startswith("Bananas")
    assert output["grounding"] == 0
    assert decisions(output, "unsupported")


def test_a_model_that_does_not_know_makes_an_abstention(town):
    output, _ = answer(town, "I don't know.")
    assert output["abstained"] is True
    assert output["citations"] == []
    assert "do not contain" in output["answer"]


def test_pointwise_scores_are_asked_for_at_once_one_a_candidate(town):
    output, model = answer(
        town, "I don't know.", retrieval={"reranker": "pointwise"}, budget={"max_llm_calls": 20}, k=3
    )
    assert model.skills.count("score") == 6
    [rerank] = [record for record in output["trace"] if record["step"] == "rerank"]
    assert (rerank["calls"], rerank["rounds"]) == (6, 1)


@pytest.mark.parametrize(("route", "least"), [("factual", 7), (None, 8)])
def test_pointwise_scores_that_the_budget_cannot_hold_are_refused_before_any_call(town, route, least):
    model = ScriptedChatModel()
    settings = {"route": route, "k": 3, "retrieval": {"reranker": "pointwise"}}
    budget = {"max_llm_calls": least - 1}
    rag = AdaptiveRAG(town, model=model, budget=budget, **settings)
    with pytest.raises(
        ConfigurationError, match=rf"2 \* k = 6 calls .*Set it to at least {least}, or lower k"
    ):
        rag.invoke(QUESTION)
    assert model.asked == []
    rag = AdaptiveRAG(town, model=model, budget={"max_llm_calls": least}, **settings)
    assert rag.invoke(QUESTION)["answer"] and model.skills.count("score") == 6


def test_pointwise_scores_for_which_a_repeated_call_left_no_room_are_left_to_the_stand_in(town):
    model = ScriptedChatModel(script={"classify": "Hard to tell.", "generate": "I don't know."})
    settings = {"k": 3, "retrieval": {"reranker": "pointwise"}, "routing": {"classify": "model"}}
    output = AdaptiveRAG(town, model=model, budget={"max_llm_calls": 8}, **settings).invoke(QUESTION)
    assert model.skills == ["classify", "classify", "generate"]
    [rerank] = [record for record in output["trace"] if record["step"] == "rerank"]
    assert "exceed the 6 that are left" in rerank["stand_ins"][0]["reason"]


@pytest.mark.parametrize("question", ["What do I do?", "When can I visit the library?"])
def test_strategies_that_run_side_by_side_leave_the_last_call_to_the_answer(town, question):
    bad = dict.fromkeys(("infer", "contextualize", "enhance"), "None")
    model = ScriptedChatModel(script={**bad, "generate": "I don't know."})
    settings = {
        "models": {"steps": {*bad, "generate"}},
        "routing": {"threshold": 1.0, "classify": "router"},
        "retrieval": {"rewrites": "always"},
        "budget": {"max_llm_calls": 5, "planned_calls": 10},
    }
    output = AdaptiveRAG(town, model=model, **settings).invoke(question)
    assert {output["query_type"], *output["analysis"]["alternatives"]} == {"factual", "contextual"}
    assert sorted(model.skills) == ["enhance", "enhance", "generate", "infer", "infer"]


def test_what_the_model_scores_highest_comes_first(town):
    wanted = "The library of Saltmere"

    def script(step, messages):
        if step != "score":
            return None
        passages = messages[-1].text.split("<passage ")[1:]
        return {"scores": [10 if wanted in passage else 0 for passage in passages]}

    question = "When is the library of Saltmere open?"
    for reranker in ("auto", "listwise"):
        model = ScriptedChatModel(script=script)
        output = AdaptiveRAG(town, model=model, route="factual", retrieval={"reranker": reranker}).invoke(
            question
        )
        assert wanted in output["documents"][0]["text"], reranker
        assert "score" in model.skills


def test_tokens_and_known_prices_stand_in_the_trace(town, monkeypatch):
    monkeypatch.setattr(
        "adaptive_rag.llm.exchange.price_of", lambda _, tokens: tokens["input"] + 2 * tokens["output"]
    )
    output, _ = answer(town, "I don't know.")
    for record in output["trace"]:
        if record.get("calls"):
            tokens = record["tokens"]
            assert record["cost"] == tokens["input"] + 2 * tokens["output"] > 0
        else:
            assert "cost" not in record


@pytest.mark.parametrize("route", ["analytical", "opinion"])
def test_the_model_may_choose_the_set(town, route):
    def run(**settings):
        model = ScriptedChatModel(script={"select": {"passages": [4, 3]}, "generate": "I don't know."})
        question = "Should the sea wall be raised, and what does it do to the marsh?"
        rag = AdaptiveRAG(town, model=model, route=route, k=2, **{**EVERY_STEP, **settings})
        return rag.invoke(question), model

    local, _ = run()
    chosen, model = run(retrieval={"selection": "model"})
    assert len(model.asked) == 3
    prompt = next(messages[-1].text for step, messages in model.asked if step == "select")
    numbered = prompt.split("<passage n=")[1:]
    wanted = [numbered[3], numbered[2]]
    assert all(d["text"] in block for d, block in zip(chosen["documents"], wanted, strict=True))
    assert [d["id"] for d in chosen["documents"]] != [d["id"] for d in local["documents"]]
