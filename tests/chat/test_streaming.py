"""What a caller sees while a question is answered: tokens, steps, progress; the same on both paths."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.state import ROUTED_TYPES
from adaptive_rag.testing import ScriptedChatModel
from tests.chat.conftest import ANSWER
from tests.conftest import EVERY_STEP

UNSURE = {"threshold": 1.0, "classify": "router"}
QUESTION = "How long is the sea wall of Saltmere?"


@pytest.fixture
def model():
    return ScriptedChatModel(script={"generate": ANSWER})


@pytest.fixture
def rag(town, model):
    return AdaptiveRAG(town, model=model, **{"retrieval.fusion": "sparse"}, **EVERY_STEP)


def streamed(runnable, path, question, **options):
    """Return what a runnable streams, on either path."""
    if path == "sync":
        return list(runnable.stream(question, **options))

    async def gather():
        return [part async for part in runnable.astream(question, **options)]

    return asyncio.run(gather())


def collect(rag, path, **options):
    """Return the parts of a stream of the compiled graph."""
    context = rag.context.model_copy(update=options.pop("context", {}))
    return streamed(rag.graph, path, {"question": QUESTION}, context=context, **options)


both_paths = pytest.mark.parametrize("path", ["sync", "async"])


@pytest.mark.few(5)
@both_paths
@pytest.mark.parametrize("route", ROUTED_TYPES)
@pytest.mark.parametrize("subgraphs", [False, True])
def test_the_stream_of_messages_holds_the_answer_and_nothing_else(rag, model, path, route, subgraphs):
    parts = collect(rag, path, stream_mode="messages", subgraphs=subgraphs, context={"route": route})
    messages = [part[1][0] if subgraphs else part[0] for part in parts]
    assert len(model.asked) >= 2, "routing calls were made"
    assert all(isinstance(message, AIMessageChunk) for message in messages)
    assert "".join(message.text for message in messages) == ANSWER
    assert len(messages) > 5


@both_paths
def test_a_routing_model_of_its_own_stays_out_of_the_stream_too(town, model, path):
    routing = ScriptedChatModel()
    rag = AdaptiveRAG(town, model=model, **{"models.fast_model": routing}, **EVERY_STEP)
    parts = collect(rag, path, stream_mode="messages", context={"route": "factual"})
    assert "".join(message.text for message, _ in parts) == ANSWER
    assert routing.skills == ["enhance", "score"]


@both_paths
def test_without_a_model_the_stream_holds_the_answer_as_one_message(town, path):
    rag = AdaptiveRAG(town)
    parts = collect(rag, path, stream_mode=["messages", "values"], context={"route": "factual"})
    messages = [part[0] for mode, part in parts if mode == "messages"]
    [final] = [part for mode, part in parts if mode == "values"][-1:]
    assert [type(message) for message in messages] == [AIMessage]
    assert messages[0].text == final["answer"]


@both_paths
def test_custom_events_report_the_progress_of_every_step(rag, path):
    parts = collect(rag, path, stream_mode="custom", subgraphs=True, context={"route": "factual"})
    events = [(event["step"], event["event"]) for _, event in parts]
    steps = ["classify", "enhance", "retrieve", "rerank", "generate"]
    assert events == [(step, event) for step in steps for event in ("started", "finished")]


@pytest.mark.parametrize("settings", [{}, EVERY_STEP], ids=["by default", "every step"])
@pytest.mark.parametrize("route", ROUTED_TYPES)
def test_sync_and_async_give_the_same_result_in_three_calls_and_rounds_at_most(town, route, settings):
    def answer(path):
        model = ScriptedChatModel(script={"generate": ANSWER})
        rag = AdaptiveRAG(town, model=model, route=route, **settings)
        return rag.invoke(QUESTION) if path == "sync" else asyncio.run(rag.ainvoke(QUESTION))

    sync, asynchronous = answer("sync"), answer("async")
    for count in ("calls", "rounds"):
        assert sum(record.get(count, 0) for record in sync["trace"]) <= 3
    for record in (*sync["trace"], *asynchronous["trace"]):
        del record["ms"]
    for key in ("answer", "citations", "grounding", "abstained", "documents", "query_type", "trace"):
        assert sync[key] == asynchronous[key], key


@pytest.mark.parametrize(
    ("route", "asked"),
    [
        ("factual", ["score", "generate"]),
        ("analytical", ["generate"]),
        ("opinion", ["viewpoints", "generate"]),
        ("contextual", ["score", "generate"]),
    ],
)
def test_by_default_a_question_asks_only_for_what_earns_its_call(town, model, route, asked):
    AdaptiveRAG(town, model=model, route=route).invoke(QUESTION)
    assert model.skills == asked


@pytest.mark.parametrize("settings", [{}, EVERY_STEP], ids=["by default", "every step"])
@pytest.mark.parametrize("kind", ROUTED_TYPES)
def test_a_question_that_the_model_had_to_classify_costs_three_calls_at_most(town, kind, settings):
    model = ScriptedChatModel(script={"classify": {"type": kind, "reason": ""}, "generate": ANSWER})
    output = AdaptiveRAG(town, model=model, routing={"classify": "model"}, **settings).invoke(QUESTION)
    assert output["query_type"] == kind
    assert model.skills[0] == "classify"
    assert len(model.asked) <= 3
    assert model.skills[-1] == "generate"


@pytest.mark.few(5)
@both_paths
@pytest.mark.parametrize("route", [*ROUTED_TYPES, None])
def test_steps_are_told_as_they_start_and_end_with_what_they_found(rag, path, route):
    # Without a route the question is left open between two types, and both are run.
    context = {"route": route, "routing": UNSURE}
    chunks = streamed(rag, path, QUESTION, drafts=True, steps=True, context=context)
    output = chunks[-1]
    assert bool(output["analysis"]["alternatives"]) == (route is None)
    steps = [chunk["step"] for chunk in chunks if "step" in chunk]
    started = [step["id"] for step in steps if step["state"] == "started"]
    finished = [step for step in steps if step["state"] == "finished"]
    assert sorted(started) == sorted(step["id"] for step in finished)
    records = [step["record"] for step in finished]
    assert all(record in records for record in output["trace"])
    assert [step["name"] for step in finished] == [record["step"] for record in records]
    ways = {step["strategy"] for step in steps if step["name"] not in ("classify", "generate", "fuse")}
    assert ways == {output["query_type"], *output["analysis"]["alternatives"]}
    assert [chunk["route"] for chunk in chunks if "route" in chunk] == [output["analysis"]]
    *_, passages = [chunk["passages"] for chunk in chunks if "passages" in chunk]
    assert {p["id"] for p in passages} >= {d["id"] for d in output["documents"]}
    kinds = list(dict.fromkeys(next(iter(chunk)) for chunk in chunks[:-1]))
    assert kinds == ["step", "route", "passages", "draft"]


@both_paths
def test_a_draft_that_its_check_changed_is_followed_by_the_answer_as_a_message(town, path):
    model = ScriptedChatModel(script={"generate": f"{ANSWER} And bananas grow there [99]."})
    parts = collect(AdaptiveRAG(town, model=model), path, stream_mode=["messages", "values"])
    [answer] = [part for mode, part in parts if mode == "values"][-1:]
    *draft, last = [part[0] for mode, part in parts if mode == "messages"]
    assert "[99]" in "".join(message.text for message in draft)
    assert (type(last), last.text) == (AIMessage, answer["answer"])
    assert last.id not in {message.id for message in draft}


async def test_closing_a_stream_makes_no_further_call(town):
    model = ScriptedChatModel(script={"generate": ANSWER}, seconds=0.05)
    rag = AdaptiveRAG(town, model=model, **EVERY_STEP)
    stream = rag.astream(QUESTION, stream_mode="custom", context={"route": "factual"})
    async for event in stream:
        if event["event"] == "finished":
            break
    await stream.aclose()
    made = len(model.asked)
    await asyncio.sleep(0.3)
    assert len(model.asked) == made < 3
