"""All four strategies with a real chat model: schema-constrained routing, streamed answers, injections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessageChunk

from adaptive_rag.llm.exchange import wire_schema
from adaptive_rag.llm.structured import bind_schema
from adaptive_rag.models.chat import load_chat_model
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.state import ROUTED_TYPES
from tests.chat.local_model import local_url  # noqa: F401  (a fixture)
from tests.conftest import EVERY_STEP

pytestmark = [pytest.mark.slow]

QUESTIONS = {
    "factual": "How long is the sea wall of Saltmere?",
    "analytical": "Why does the marsh lose its edge and what does that mean for the sea wall?",
    "opinion": "Should the sea wall be raised?",
    "contextual": "What should I do before a flood?",
}
INJECTIONS = Path(__file__).parents[1] / "llm" / "injections.jsonl"


def make_rag(town, local_url, **settings):  # noqa: F811
    settings |= {"models.base_url": local_url, "budget.max_tokens": 40, "budget.deadline_s": 600}
    return AdaptiveRAG(town, model="openai:smollm2", k=2, **settings)


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("factual", {"models": {"steps": ["generate"]}}),
        *(pytest.param(kind, EVERY_STEP, marks=pytest.mark.nightly) for kind in ROUTED_TYPES),
    ],
)
def test_every_strategy_runs_end_to_end_and_the_answer_streams(town, local_url, kind, steps):  # noqa: F811
    rag = make_rag(town, local_url, route=kind, **steps)
    state = {"question": QUESTIONS[kind], "user_context": "I keep sheep." if kind == "contextual" else ""}
    tokens, output = [], {}
    for mode, part in rag.graph.stream(state, context=rag.context, stream_mode=["messages", "values"]):
        if mode == "values":
            output = part
        elif isinstance(part[0], AIMessageChunk):
            tokens.append(part[0].text)
    assert len(tokens) > 3
    assert output["answer"]
    assert output["query_type"] == kind
    trace = output["trace"]
    # The generate call reached the model, whatever its words were worth.
    assert "generate" in [name for record in trace for name in record.get("asked", ())]
    assert sum(record.get("tokens", {}).get("output", 0) for record in trace) > 3
    assert sum(record.get("calls", 0) for record in trace) <= 6
    assert not any(record.get("unreachable") for record in trace)


@pytest.mark.parametrize("step", ["classify", "score"])
def test_a_form_is_kept_by_constrained_output(local_url, step):  # noqa: F811
    from tests.llm.made import request_for

    model = load_chat_model("openai:smollm2", base_url=local_url, timeout=600)
    model = model.model_copy(update={"max_tokens": 80})
    request = request_for(step)
    schema = wire_schema(request.schema, request.bounds)
    reply = bind_schema(model, schema, "json_schema").invoke(
        "Fill in the form about the opening of the bridge."
    )
    text = reply.text
    if step == "classify":
        assert text.startswith("{") and any(f'"{kind}"' in text for kind in ROUTED_TYPES)
    else:
        scores = json.loads(text)["scores"]
        assert len(scores) == 3
        assert all(isinstance(score, int) and 0 <= score <= 10 for score in scores)


@pytest.mark.nightly
def test_twenty_hostile_passages_at_once_change_nothing_that_counts(town, local_url):  # noqa: F811
    """The model may say anything; what is checked is what becomes of it."""
    from adaptive_rag.index.memory import MemoryIndex

    lines = INJECTIONS.read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines if line.strip()][:20]
    fact = "The sea wall of Saltmere is 2,340 metres long."
    index = MemoryIndex.from_texts([f"{fact}\n{text[:300]}" for text in texts], source="hostile.txt")
    knobs = {"index": index, "route": "factual", "k": 20, "without": ["rerank", "enhance", "window"]}
    rag = make_rag(town, local_url, **EVERY_STEP)
    output = rag.invoke(QUESTIONS["factual"], context=knobs)
    assert len(output["documents"]) == 20
    assert "generate" in [name for record in output["trace"] for name in record.get("asked", ())]
    assert output["query_type"] == "factual"
    assert {citation["source"] for citation in output["citations"]} <= {"hostile.txt"}
    assert all(1 <= citation["marker"] <= 20 for citation in output["citations"])
    # Either the passages support what it says, or it was replaced by sentences that stand in them.
    assert output["grounding"] > 0 or output["abstained"]
