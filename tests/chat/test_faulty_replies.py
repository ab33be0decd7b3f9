"""Whatever a server or a model gives for a reply, the question ends in time, with a checked answer."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.testing import ScriptedChatModel
from benchmarks.chat_server import ChatServer
from benchmarks.faulty_replies import MODES, QUESTION, Bench, Fault, all_faults
from tests.traces import decisions

ROOT = Path(__file__).parents[2]
FAULTS = all_faults()
# The benchmark takes the promise at its word, a second; here other work may keep the processor busy.
SLACK = 20


@pytest.fixture(scope="module")
def bench():
    with ChatServer() as server:
        yield Bench(server, deadline=0.5, slack=SLACK)


def test_there_are_enough_of_them():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 80


# Two doors for each fault, in turn; `python -m benchmarks.faulty_replies` takes all five for all of them.
@pytest.mark.few(30)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(
    ("fault", "mode"),
    [
        pytest.param(fault, MODES[(number + more) % 5], marks=[pytest.mark.nightly] if more else [])
        for number, fault in enumerate(FAULTS)
        for more in (0, 2)
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else value,
)
def test_a_faulty_reply_ends_in_time_and_is_never_the_answer(bench, fault, mode):
    assert bench.run(fault, mode).problems == ()


@pytest.mark.few(8)
@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sends 10 MB of body", "more than 1,114,112 bytes"),
        ("sends a line without end", "more than 1,114,112 bytes"),
        ("sends 500 with 10 MB", "more than 1,114,112 bytes"),
        ("sends a gzip bomb", "more than 1,114,112 bytes"),
        ("sends an encoding nobody asked for", "encoding 'zstd'"),
        ("sends 500 as a page", "HTTP 500"),
        ("says JSON of a form of its own", "expected an answer as plain text"),
        ("says an error as text", "got an error"),
        ("says a list in lists", "expected an answer in sentences"),
        ("says thoughts alone", "the reply was empty"),
        ("a model that streams the user", "a message of type"),
    ],
)
def test_the_trace_names_what_was_wrong(town, bench, name, said, mode):
    [fault] = [fault for fault in FAULTS if fault.name == name]
    patient = Bench(bench.server, deadline=30, slack=SLACK)
    outcome = patient.run(fault, mode)
    assert outcome.problems == ()
    assert said in outcome.reason


def test_what_was_left_out_of_a_long_reply_stands_in_the_trace(town):
    text = "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high [1]. "
    model = ScriptedChatModel(script={"generate": text * 40, "score": "7 " * 20_000})
    output = AdaptiveRAG(town, model=model, route="factual", budget={"max_tokens": 64}).invoke(QUESTION)
    assert [(decision["chosen"], decision["why"]) for decision in decisions(output, "cut")] == [
        (step, f"the reply was too long: {characters} characters of it were read")
        for step, characters in (("score", 511), ("generate", 496))
    ]
    # Of the sentence in the middle of which it was cut, nothing is left.
    assert output["answer"] == (text * 7).strip()


def test_an_answer_has_no_more_sentences_than_are_checked(town):
    text = " ".join(f"The sea wall of Saltmere is 2,340 metres long, says note {n} [1]." for n in range(130))
    model = ScriptedChatModel(script={"generate": text})
    settings = {"without": {"extractive-fallback"}, "budget": {"max_tokens": 4096}}
    output = AdaptiveRAG(town, model=model, route="factual", **settings).invoke(QUESTION)
    assert output["answer"].count("note") == 100
    [left] = decisions(output, "shortened")
    assert "30 more were left out" in left["why"]


LEAVES = """
import asyncio, sys
from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.memory import MemoryIndex
from benchmarks.faulty_replies import DOCUMENTS, QUESTION, HangingModel
index = MemoryIndex.from_texts(DOCUMENTS, source="t")
rag = AdaptiveRAG(index, model=HangingModel(), budget={"deadline_s": 0.5})
print(rag.invoke(QUESTION)["answer"])
print(asyncio.run(rag.ainvoke(QUESTION))["answer"])
"""


def test_a_process_ends_though_a_model_still_holds_its_threads():
    started = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", LEAVES], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("2,340 metres") == 2
    # The model sleeps for an hour, in a thread for each of its calls.
    assert time.monotonic() - started < 100
