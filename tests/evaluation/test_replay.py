"""Recorded replies in place of a chat model."""

import json

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.arms import ARMS, Bench
from adaptive_rag.evaluation.datasets import Dataset, Question
from adaptive_rag.evaluation.replay import only_replied, read_replies, replay_settings
from adaptive_rag.graph.builder import build_retrieval_graph

LINES = [
    {"_id": "a", "type": "analytical", "sub_questions": ["How do waves run?", "Who pays?", "What is lost?"]},
    {
        "_id": "o",
        "type": "opinion",
        "viewpoints": ["for it", "not it", "aside"],
        "sides": ["for", "against", "other"],
    },
    {"_id": "c", "type": "contextual", "context": "A renter.", "query": "How should a renter prepare?"},
]


@pytest.fixture
def replies(tmp_path):
    (tmp_path / "town.jsonl").write_text("\n".join(map(json.dumps, LINES)), encoding="utf-8")
    return tmp_path


def test_a_reply_is_read_for_the_steps_that_its_type_asks(replies):
    found = read_replies(replies, "town")
    assert set(found["a"]) == {"decompose"} and set(found["c"]) == {"infer", "contextualize"}
    assert found["o"]["viewpoints"]["sides"] == ["for", "against", "other"]


def test_a_data_set_without_replies_and_a_reply_without_its_fields_are_refused(replies):
    with pytest.raises(ConfigurationError, match=r"expected city\.jsonl"):
        read_replies(replies, "city")
    with pytest.raises(ConfigurationError, match=r"town\.jsonl holds no reply to a question of town"):
        only_replied(Dataset("town", (Question("z", "When?"),)), replies)
    (replies / "town.jsonl").write_text('{"_id": "x", "type": "factual"}\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"lacks 'query'"):
        read_replies(replies, "town")


def test_questions_without_a_reply_are_left_out_and_counted(replies):
    dataset = Dataset("town", (Question("a", "Why?"), Question("z", "When?")))
    kept = only_replied(dataset, replies)
    assert [question.id for question in kept.questions] == ["a"]
    assert kept.notes == ("town: 1 of 2 questions have a recorded reply; the others are left out",)


def test_nothing_is_asked_but_what_was_recorded_and_the_settings_name():
    settings = replay_settings({"decompose": {}, "infer": {}}, frozenset({"decompose", "generate"}))
    assert settings["models.steps"] == {"decompose"}


def test_an_arm_goes_by_the_recorded_plan(replies, town):
    found = read_replies(replies, "town")
    bench = Bench(source=town, graph=build_retrieval_graph().compile(), k=4, replies=found)
    question = Question("a", "How do waves affect the marsh of Saltmere?", type="analytical")
    planned = ARMS["with-all-plans"].run(question, bench)
    queries = [query for step in planned.trace for query in step.get("queries", [])]
    assert set(LINES[0]["sub_questions"]) <= set(queries) and planned.cost()["model_calls"] == 1
    default = ARMS["adaptive"].run(question, bench)
    assert default.cost()["model_calls"] == 0
    bare = ARMS["with-no-plans"].run(question, bench)
    assert [d["id"] for d in bare.documents] == [d["id"] for d in default.documents]
