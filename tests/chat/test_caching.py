"""A repeated question costs no second call; anything that could change its answer makes it a new one."""

from __future__ import annotations

import sqlite3
import time
from importlib import import_module

import ormsgpack
import pytest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.graph.caching import open_cache
from adaptive_rag.index import Index
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.llm import exchange
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.testing import ScriptedChatModel
from tests.conftest import EVERY_STEP, TOWN
from tests.models.made_cross_encoder import forget_rerankers, write_cross_encoder

QUESTION = "How long is the sea wall of Saltmere?"
ANSWER = "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high [1]."


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.nightly)])
def cache(request, tmp_path):
    return open_cache("memory" if request.param == "memory" else tmp_path / "cache" / "steps.sqlite")


@pytest.fixture
def model():
    return ScriptedChatModel(script={"generate": ANSWER})


@pytest.mark.parametrize("path", ["sync", "async"])
async def test_a_repeated_question_makes_no_second_call(town, model, cache, path):
    rag = AdaptiveRAG(town, model=model, cache=cache, route="factual", **EVERY_STEP)
    outputs = [rag.invoke(QUESTION) if path == "sync" else await rag.ainvoke(QUESTION) for _ in range(2)]
    assert len(model.asked) == 3
    assert outputs[0]["answer"] == outputs[1]["answer"] == ANSWER
    assert outputs[0]["citations"] == outputs[1]["citations"]


def test_a_cached_step_ends_in_the_stream_too(town, cache):
    rag = AdaptiveRAG(town, cache=cache, route="factual")
    for cached in (False, True):
        *chunks, output = rag.stream(QUESTION, steps=True)
        steps = [chunk["step"] for chunk in chunks if "step" in chunk]
        ended = {step["name"]: step["record"] for step in steps if step["state"] == "finished"}
        assert ended.keys() == {step["name"] for step in steps if step["state"] == "started"}
        assert ended["generate"] == output["trace"][-1] and ("rerank" in ended) is not cached


@pytest.mark.parametrize(
    "change",
    [
        {"question": "How high is the sea wall of Saltmere?"},
        {"user_context": "I live by the quay."},
        {"history": [{"role": "user", "text": "Tell me about Saltmere."}]},
        {"context": {"k": 2}},
        {"context": {"route": "analytical"}},
        {"context": {"budget": {"max_llm_calls": 2}}},
        {"context": {"model": ScriptedChatModel(script={"generate": ANSWER})}},
        {"context": {"index": MemoryIndex.from_texts(TOWN[:5])}},
    ],
    ids=lambda change: next(iter(change.get("context", change))),
)
def test_whatever_may_change_the_answer_makes_a_new_question(town, model, cache, change):
    rag = AdaptiveRAG(town, model=model, cache=cache, route="factual")
    rag.invoke(QUESTION)
    other = change.get("context", {}).get("model", model)
    before = len(other.asked)
    state = {"question": QUESTION, **{key: value for key, value in change.items() if key != "context"}}
    rag.invoke(state, context=change.get("context"))
    assert len(other.asked) > before


def test_a_deadline_does_not_make_a_new_question(town, model, cache):
    rag = AdaptiveRAG(town, model=model, cache=cache, route="factual", **EVERY_STEP)
    rag.invoke(QUESTION)
    rag.invoke(QUESTION, context={"budget.deadline_s": 10})
    assert len(model.asked) == 3


def test_what_a_failing_model_left_behind_is_not_kept(town, cache, monkeypatch):
    monkeypatch.setattr(exchange, "BACKOFF", 0.001)
    failing = [True]

    def script(step, messages):
        return ConnectionError("down") if failing[0] else (ANSWER if step == "generate" else None)

    rag = AdaptiveRAG(town, model=ScriptedChatModel(script=script), cache=cache, route="factual")
    first = rag.invoke(QUESTION)
    failing[0] = False
    second = rag.invoke(QUESTION)
    assert any(record.get("unreachable") for record in first["trace"])
    assert not any(record.get("unreachable") for record in second["trace"])
    assert second["answer"] == ANSWER


def test_what_was_made_without_a_model_for_want_of_time_is_not_kept(town, model, cache):
    rag = AdaptiveRAG(town, model=model, cache=cache, route="factual")
    first = rag.invoke(QUESTION, context={"budget.deadline_s": 1e-6})
    assert "deadline" in first["trace"][-1]["stand_ins"][0]["reason"]
    assert rag.invoke(QUESTION)["answer"] == ANSWER


def failing_parts(output):
    decisions = [d for record in output["trace"] for d in record.get("decisions", ())]
    return [d["chosen"] for d in decisions if d["what"] == "left out"]


def test_what_was_made_without_a_part_that_failed_is_not_kept(town, cache, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("the disk is gone")

    rag = AdaptiveRAG(town, cache=cache, route="factual", strict=False)
    with monkeypatch.context() as patched:
        patched.setattr(import_module("adaptive_rag.nodes.rerank"), "score_candidates", fail)
        assert failing_parts(rag.invoke(QUESTION)) == ["relevance"]
    assert failing_parts(rag.invoke(QUESTION)) == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_was_found_without_the_cross_encoder_is_not_kept(town, cache, tmp_path):
    forget_rerankers()
    retrieval = {"reranker": "cross-encoder", "reranker_model": str(tmp_path / "encoder")}
    rag = AdaptiveRAG(town, cache=cache, route="factual", retrieval=retrieval)
    assert "cross_encoder" not in rag.invoke(QUESTION)["documents"][0]["scores"]
    (tmp_path / "encoder").mkdir()
    write_cross_encoder(tmp_path / "encoder", *TOWN, QUESTION)
    forget_rerankers()
    assert "cross_encoder" in rag.invoke(QUESTION)["documents"][0]["scores"]


def test_a_question_may_be_repeated_as_a_message_and_in_a_thread(town, cache):
    rag = AdaptiveRAG(town, cache=cache, route="factual", checkpointer=InMemorySaver())
    history = [{"role": "user", "text": "Tell me about Saltmere."}]
    inputs = [
        {"question": QUESTION, "history": history},
        {"question": QUESTION, "history": history},
        {"messages": [HumanMessage(QUESTION)], "history": history},
        {"question": QUESTION, "history": history},
    ]
    for state in inputs:
        started = time.time()
        messages = rag.invoke(state, {"configurable": {"thread_id": "one"}})["messages"]
        assert messages[-1].response_metadata["asked_at"] >= started
    assert [message.type for message in messages] == ["human", "ai"] * 4


@pytest.mark.parametrize("path", ["sync", "async"])
async def test_a_cache_that_cannot_be_read_or_written_costs_no_answer(town, path):
    class Broken(InMemoryCache):
        def get(self, keys):
            raise sqlite3.DatabaseError("file is not a database")

        def set(self, pairs):
            raise sqlite3.OperationalError("database or disk is full")

    rag = AdaptiveRAG(town, cache=Broken(), route="factual")
    output = rag.invoke(QUESTION) if path == "sync" else await rag.ainvoke(QUESTION)
    assert "2,340" in output["answer"]


def test_a_file_keeps_answers_over_restarts(built_town, tmp_path):
    for cached in ([False, False, False], [False, True, True]):
        rag = AdaptiveRAG(str(tmp_path / "index"), cache=tmp_path / "steps.sqlite", route="factual")
        parts = list(rag.graph.stream({"question": QUESTION}, context=rag.context))
        assert [part.get("__metadata__", {}).get("cached", False) for part in parts] == cached


def test_a_changed_index_makes_a_new_question(built_town, tmp_path):
    rag = AdaptiveRAG(str(tmp_path / "index"), cache="memory", route="factual")
    assert "2,340" in rag.invoke(QUESTION)["answer"]
    (tmp_path / "01.txt").write_text("The sea wall of Saltmere is 9,999 metres long.\n")
    Index.build(tmp_path / "01.txt", tmp_path / "index")
    assert "9,999" in rag.invoke(QUESTION)["answer"]


def test_nothing_of_a_store_is_cached_since_it_may_have_changed():
    store = InMemoryVectorStore(load_minilm())
    rag = AdaptiveRAG(retriever=store, cache="memory", route="factual")
    for metres in ("2,340", "9,999"):
        store.add_documents([Document(f"The sea wall of Saltmere is {metres} metres long.", id="a")])
        assert metres in rag.invoke(QUESTION)["answer"]


def test_a_cache_is_made_in_the_users_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    open_cache("~/cache/steps.sqlite")
    assert (tmp_path / "cache" / "steps.sqlite").exists()


def test_a_cache_that_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ConfigurationError, match="taken"):
        open_cache(tmp_path / "taken" / "cache.sqlite")


def test_a_cache_in_memory_stays_small_and_forgets_what_is_least_used(monkeypatch):
    monkeypatch.setattr("adaptive_rag.graph.caching.MEMORY_BYTES", 10_000)
    cache = open_cache("memory")
    keys = [(("generate",), str(number)) for number in range(50)]
    for key in keys:
        cache.set({key: ([("answer", "x" * 1_000)], None)})
    assert len(cache.get(keys)) < 10
    assert keys[-1] in cache.get(keys) and keys[0] not in cache.get(keys)
    cache.set({keys[0]: ([("answer", "x" * 20_000)], None)})
    assert keys[0] not in cache.get(keys)


def test_a_cache_in_memory_can_be_cleared_by_node():
    cache = open_cache("memory")
    keys = [(("a",), "1"), (("b",), "1")]
    cache.set({key: ([("answer", key[0][0])], None) for key in keys})
    cache.clear([("a",)])
    assert list(cache.get(keys)) == [keys[1]]
    cache.clear()
    assert cache.get(keys) == {}


def test_what_somebody_else_wrote_into_a_cache_calls_nothing(tmp_path):
    made, key = tmp_path / "made", (("graph", "search"), "k")
    cache = open_cache(tmp_path / "cache.sqlite")
    call = ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", str(made))))
    cache.set({key: ([("candidates", [])], None)})
    with sqlite3.connect(tmp_path / "cache.sqlite") as file:
        changed = file.execute("UPDATE cache SET val = ?", [ormsgpack.packb([call])])
        assert changed.rowcount == 1
    assert cache.get([key]) == {}
    assert not made.exists()
