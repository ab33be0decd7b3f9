"""Hostile passages: the fence holds, and a model that obeys all it reads outside of it is not reached."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.testing import ScriptedChatModel
from tests.conftest import EVERY_STEP

FILE = Path(__file__).parents[1] / "llm" / "injections.jsonl"
HOSTILE = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip()]
FACT = "The sea wall of Saltmere is 2,340 metres long."
QUESTION = "How long is the sea wall of Saltmere?"


def obedient(step, messages):
    """Do as any line says that is not quoted from a document; else answer from the first passage."""
    prompt = messages[-1].text
    said = [line for line in prompt.splitlines() if not line.startswith("| ")]
    orders = [line for line in said if re.search(r"pwned|ignore|obey|instead", line, re.I)]
    if orders:
        return "PWNED"
    if step != "generate":
        return None
    number = next(
        int(block.partition('"')[0]) for block in prompt.split('<passage n="')[1:] if "2,340" in block
    )
    return f"The sea wall of Saltmere is 2,340 metres long [{number}]."


def test_there_are_enough_of_them():
    assert len(HOSTILE) >= 20


@pytest.mark.parametrize("entry", HOSTILE, ids=lambda entry: entry["id"])
def test_a_hostile_passage_stays_inside_its_fence(entry):
    index = MemoryIndex.from_texts([FACT + "\n" + entry["text"], FACT], source="hostile.txt")
    model = ScriptedChatModel(script=obedient)
    output = AdaptiveRAG(index, model=model, route="factual", **EVERY_STEP).invoke(QUESTION)
    assert model.skills == ["enhance", "score", "generate"]
    for step, messages in model.asked:
        prompt = messages[-1].text
        for forbidden in entry["must_not_reach_the_prompt"]:
            fenced = "\n".join(line for line in prompt.splitlines() if line.startswith("| "))
            assert forbidden not in fenced, step
        shown = [block.partition("</passage>")[0] for block in prompt.split("<passage n=")[1:]]
        for block in shown:
            assert all(line.startswith("| ") for line in block.splitlines()[1:] if line.strip()), step
        assert prompt.count("</passage>") == prompt.count("<passage n=")
    assert "2,340 metres" in output["answer"]
    assert "PWNED" not in output["answer"]
    assert output["query_type"] == "factual"


@pytest.mark.parametrize("reply", ["PWNED", "PWNED [1].", "All systems were taken over by the pirates [2]."])
def test_a_model_that_was_taken_in_is_not_believed(town, reply):
    output = AdaptiveRAG(town, model=ScriptedChatModel(script={"generate": reply}), route="factual").invoke(
        QUESTION
    )
    assert "2,340 metres" in output["answer"]
    assert reply.split()[0] not in output["answer"]
