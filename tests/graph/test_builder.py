"""The whole graph: which way a question goes, and what comes back."""

import json
import re
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from adaptive_rag.context import Context
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.index import Index
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.state import OutputState, RoutedType
from adaptive_rag.testing import ScriptedChatModel
from adaptive_rag.text.phrases import english
from tests.conftest import EVERY_STEP, TOWN
from tests.traces import stand_ins

GRAPH = build_graph().compile()

QUESTIONS = {
    "factual": "How long is the sea wall of Saltmere?",
    "analytical": "How does dredging the harbour affect the sea wall?",
    "opinion": "What are the different views on raising the sea wall?",
    "contextual": "How should I prepare for a flood?",
}
STEPS = {
    "factual": ["classify", "enhance", "retrieve", "rerank", "generate"],
    "analytical": ["classify", "decompose", "retrieve", "diversify", "generate"],
    "opinion": ["classify", "viewpoints", "retrieve", "balance", "generate"],
    "contextual": ["classify", "contextualize", "retrieve", "rerank", "generate"],
}


def ask(town: MemoryIndex, question: str, **settings: Any) -> dict[str, Any]:
    return GRAPH.invoke({"question": question}, context=Context(index=town, **settings))


@pytest.mark.parametrize("query_type", STRATEGIES)
def test_a_question_goes_its_own_way_and_the_output_is_plain_data(
    town: MemoryIndex, query_type: RoutedType
) -> None:
    output = ask(town, QUESTIONS[query_type])
    assert output["query_type"] == query_type
    assert [record["step"] for record in output["trace"]] == STEPS[query_type]
    assert output["analysis"]["decided_by"] == "local"
    assert set(output) == set(OutputState.__annotations__) | {
        "question", "query_type", "analysis", "documents", "trace",
    }  # fmt: skip
    plain = {key: value for key, value in output.items() if key != "messages"}
    assert json.loads(json.dumps(plain)) == plain


def test_every_sub_question_of_a_model_is_searched_beside_the_question(town: MemoryIndex) -> None:
    model = ScriptedChatModel()
    output = ask(town, QUESTIONS["analytical"], model=model, **EVERY_STEP)
    steps = [record["step"] for record in output["trace"]]
    assert steps == ["classify", "decompose", *["retrieve"] * 4, "diversify", "generate"]
    assert model.skills == ["decompose", "generate"]


def test_every_stand_in_is_recorded_with_its_reason(town: MemoryIndex) -> None:
    skills, reasons = zip(*stand_ins(ask(town, QUESTIONS["contextual"])), strict=True)
    assert skills == ("contextualize", "score", "generate")
    assert all(reasons)


def test_every_marker_has_a_citation_whose_quote_stands_in_the_source(town: MemoryIndex) -> None:
    text = "\n".join(TOWN)
    for question in QUESTIONS.values():
        output = ask(town, question)
        for citation in output["citations"]:
            assert text[citation["start"] : citation["end"]] == citation["quote"]
        markers = {int(number) for number in re.findall(r"\[(\d+)\]", output["answer"])}
        assert markers == {citation["marker"] for citation in output["citations"]} != set()


def test_what_the_documents_do_not_hold_is_not_answered(town: MemoryIndex) -> None:
    output = ask(town, "What is the boiling point of tungsten?")
    assert output["abstained"]
    assert output["citations"] == []
    assert output["answer"].startswith(english()["refused"])


def test_an_empty_index_is_a_state_that_the_answer_admits() -> None:
    for query_type in STRATEGIES:
        output = ask(MemoryIndex([]), QUESTIONS[query_type], route=query_type)
        assert output["abstained"] and output["documents"] == []


def test_the_users_context_changes_what_is_found(town: MemoryIndex) -> None:
    def found(user_context: str) -> list[str]:
        state = {"question": "What should I do when a flood comes?", "user_context": user_context}
        output = GRAPH.invoke(state, context=Context(index=town, k=2, route="contextual"))
        return [document["text"] for document in output["documents"]]

    assert any("Farmers" in text for text in found("I am a farmer with forty sheep."))
    assert any("wheelchair" in text for text in found("I use a wheelchair."))
    assert found("I am a farmer with forty sheep.") != found("I use a wheelchair.")


def test_the_user_context_is_never_lost_on_the_way(town: MemoryIndex) -> None:
    graph = build_graph().compile()
    state = {"question": QUESTIONS["contextual"], "user_context": "I keep bees."}
    values = list(graph.stream(state, context=Context(index=town), stream_mode="values"))[-1]
    assert values["user_context"] == values["implied_context"] == "I keep bees."


@pytest.mark.usefixtures("unsure")
def test_an_unsure_question_runs_two_strategies_and_fuses_them(town: MemoryIndex) -> None:
    output = ask(town, "sea wall height views", k=4)
    steps = [record["step"] for record in output["trace"]]
    assert steps[0] == "classify" and steps[-2:] == ["fuse", "generate"]
    assert {"enhance", "rerank", "viewpoints", "balance"} < set(steps)
    ids = [document["id"] for document in output["documents"]]
    assert len(ids) == len(set(ids)) == 4
    without = ask(town, "sea wall height views", without={"hedge"})
    assert [record["step"] for record in without["trace"]] == STEPS["factual"]


def test_the_bare_graph_runs_inside_a_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "town.txt").write_text("\n\n".join(TOWN))
    Index.build([tmp_path / "town.txt"], tmp_path / "kb")
    monkeypatch.setenv("ADAPTIVE_RAG_INDEX", str(tmp_path / "kb"))
    chain = RunnableLambda(lambda text: {"question": text}) | GRAPH | itemgetter("answer")
    assert "2,340 metres" in chain.invoke("How long is the sea wall of Saltmere?")


def test_messages_carry_the_question_and_its_history(town: MemoryIndex) -> None:
    conversation = [
        HumanMessage("How long is the sea wall of Saltmere?"),
        AIMessage("It is 2,340 metres long."),
        HumanMessage("And when was it finished?"),
    ]
    output = GRAPH.invoke({"messages": conversation}, context=Context(index=town))
    assert output["question"] == "And when was it finished?"
    assert output["query_type"] == "contextual"
    assert any("1968" in document["text"] for document in output["documents"])
    assert [type(message) for message in output["messages"]][-2:] == [HumanMessage, AIMessage]
    assert len(output["messages"]) == 4


def test_a_thread_remembers_its_turns_and_starts_each_question_afresh(town: MemoryIndex) -> None:
    graph = build_graph().compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "one"}}
    context = Context(index=town)
    first = graph.invoke({"question": "How long is the sea wall of Saltmere?"}, config, context=context)
    second = graph.invoke({"question": "And when was it finished?"}, config, context=context)
    assert len(second["messages"]) == 4
    assert second["query_type"] == "contextual"
    assert [record["step"] for record in second["trace"]] == STEPS["contextual"]
    assert any("1968" in document["text"] for document in second["documents"])
    assert first["answer"] != second["answer"]


def test_the_retrieval_graph_finds_the_same_without_an_answer(town: MemoryIndex) -> None:
    state = {"question": QUESTIONS["factual"]}
    found = build_retrieval_graph().compile().invoke(state, context=Context(index=town))
    assert "answer" not in found
    assert found["documents"] == GRAPH.invoke(state, context=Context(index=town))["documents"]
