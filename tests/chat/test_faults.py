"""Whatever the server does, an answer comes, with its reason; only the user's mistakes are raised."""

from __future__ import annotations

import asyncio
import re
import socket
import time

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.runnable import AdaptiveRAG
from tests.chat.conftest import ANSWER
from tests.conftest import EVERY_STEP
from tests.traces import decisions, stand_ins

QUESTION = "How long is the sea wall of Saltmere?"


def ask(rag, path="sync", **knobs):
    context = {"route": "factual", **knobs}
    if path == "sync":
        return rag.invoke(QUESTION, context=context)
    return asyncio.run(rag.ainvoke(QUESTION, context=context))


def reasons(output):
    return dict(stand_ins(output))


def calls(output):
    return sum(record.get("calls", 0) for record in output["trace"])


def test_with_a_server_that_works_three_calls_in_two_rounds_make_the_answer(rag, server):
    output = ask(rag)
    assert "2,340 metres" in output["answer"]
    assert reasons(output) == {}
    assert calls(output) == len(server.calls) == 3
    assert sum(record.get("rounds", 0) for record in output["trace"]) == 2
    assert sum(record.get("tokens", {}).get("input", 0) for record in output["trace"]) > 100


# behaviour -> what the trace says of it
ABSORBED = {
    "500": "HTTP 500",
    "429": "HTTP 429",
    "reset": "Connection error",
    "reset midway": "",
    "not json": "",
    "empty": "empty",
    "garbage": "not usable",
    "too long": "maximum context length",
}


@pytest.mark.parametrize("path", ["sync", "async"])
@pytest.mark.parametrize("behaviour", sorted(ABSORBED))
def test_a_server_that_fails_throughout_is_answered_for_by_the_stand_ins(rag, server, behaviour, path):
    server.behave = lambda number, body: behaviour
    output = ask(rag, path)
    assert "2,340 metres" in output["answer"]
    assert output["citations"]
    assert len(server.calls) <= 3
    told = {"generate": ""} if behaviour in ("reset midway", "garbage") else {}
    told |= reasons(output)
    assert "generate" in told
    assert any(ABSORBED[behaviour] in reason for reason in told.values()), told


@pytest.mark.parametrize(
    "behaviour", ["500", "429", "reset", "reset midway", "not json", "empty", "too long"]
)
def test_a_failure_that_passes_costs_one_more_call(town, server, behaviour):
    server.behave = lambda number, body: behaviour if number == 2 else "answer"
    output = ask(AdaptiveRAG(town, model="openai:scripted", models={"base_url": server.url}))
    assert "generate" not in reasons(output)
    assert (calls(output), len(server.calls)) == (3, 3)
    assert [decision["chosen"] for decision in decisions(output, "repeated")] == ["generate"]


def test_a_server_that_is_down_is_answered_for(town):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    rag = AdaptiveRAG(town, model="openai:scripted", **{"models.base_url": address}, **EVERY_STEP)
    output = ask(rag)
    assert "2,340 metres" in output["answer"]
    assert "onnect" in reasons(output)["enhance"]
    assert reasons(output)["score"] == "the chat model did not respond earlier in this question"


@pytest.mark.parametrize("path", ["sync", "async"])
@pytest.mark.parametrize("behaviour", ["hang", "hang midway"])
def test_a_server_that_hangs_is_left_when_the_deadline_has_passed(rag, server, behaviour, path):
    server.behave = lambda number, body: behaviour if behaviour == "hang" or body.get("stream") else "answer"
    started = time.monotonic()
    output = ask(rag, path, budget={"deadline_s": 1})
    assert time.monotonic() - started < 30
    assert "2,340 metres" in output["answer"]
    # On a busy machine the earlier steps may have used up what was left for the answer.
    assert re.search("did not finish within|deadline of 1 s has passed", reasons(output)["generate"])


def test_retry_after_is_honoured(rag, server):
    server.retry_after = 0.3
    server.behave = lambda number, body: "429" if number == 1 else "answer"
    output = ask(rag, without={"rerank"})
    assert reasons(output) == {}
    assert server.calls[1].received - server.calls[0].received >= 0.3


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(rag, server):
    server.retry_after = 3600
    server.behave = lambda number, body: "429"
    output = ask(rag)
    assert "3600 s, longer than is left" in reasons(output)["enhance"]
    assert "2,340 metres" in output["answer"]


@pytest.mark.parametrize(
    ("behaviour", "said"), [("wrong key", "refused the key"), ("unknown model", "does not know")]
)
@pytest.mark.parametrize("path", ["sync", "async"])
def test_the_user_mistakes_are_raised_at_the_first_call(rag, server, behaviour, said, path):
    server.behave = lambda number, body: behaviour
    with pytest.raises(ConfigurationError, match=said):
        ask(rag, path)
    assert len(server.calls) <= 2, "what was asked at once with the call that failed, and nothing after it"


def test_a_server_without_json_schema_is_asked_in_other_ways_and_remembered(rag, server):
    server.behave = lambda number, body: "no schema"
    form = '{"query": "sea wall of Saltmere length", "scores": [9,8,7,6,5,4,3,2]}'
    server.say = lambda body: form if "JSON" in body["messages"][-1]["content"] else ANSWER
    first, second = (ask(rag, k=4, budget={"max_llm_calls": 6}) for _ in range(2))
    assert reasons(first) == reasons(second) == {}
    assert any("json_schema is not supported" in decision["why"] for decision in decisions(first))
    assert calls(second) < calls(first)
    assert not any("response_format" in request.body for request in server.calls[calls(first) :])


def test_the_budget_counts_repetitions_and_is_hard(rag, server):
    server.behave = lambda number, body: "500"
    for most in (0, 1, 2, 4):
        server.requests.clear()
        output = ask(rag, budget={"max_llm_calls": most})
        assert calls(output) == len(server.calls) <= most
        assert "2,340 metres" in output["answer"]


async def test_closing_a_stream_ends_the_call(rag, server):
    server.behave = lambda number, body: "hang midway" if body.get("stream") else "answer"
    stream = rag.astream(QUESTION, stream_mode="messages", context={"route": "factual"})
    async for chunk, _ in stream:
        if chunk.text:
            break
    await stream.aclose()
    for _ in range(200):
        if server.calls[-1].abandoned:
            break
        await asyncio.sleep(0.02)
    assert server.calls[-1].abandoned
    assert len(server.calls) == 3


def test_one_model_serves_several_event_loops(rag, server):
    for _ in range(3):
        assert reasons(ask(rag, "async")) == {}


def test_the_length_of_answers_is_limited_on_the_wire(rag, server):
    ask(rag, budget={"max_tokens": 77})
    assert {
        request.body.get("max_completion_tokens") or request.body.get("max_tokens")
        for request in server.calls
    } == {77}
