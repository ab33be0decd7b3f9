"""The generation node alone: ranked chunks in, an answer from passages out."""

from dataclasses import replace

import pytest
from langgraph.graph import END, START, StateGraph

from adaptive_rag.answer.styles import STYLES
from adaptive_rag.context import Context
from adaptive_rag.nodes import generate
from adaptive_rag.state import State
from adaptive_rag.testing import ScriptedChatModel
from tests.answer.made import ScriptedReader, build_index
from tests.nodes import made
from tests.traces import decisions


@pytest.fixture(scope="module")
def source():
    return made.index()


@pytest.fixture(scope="module")
def node():
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("generate", generate)
    graph.add_edge(START, "generate")
    graph.add_edge("generate", END)
    return graph.compile()


def run(node, source, documents, question=made.QUESTIONS["factual"], query_type="factual", **settings):
    state = {"question": question, "query_type": query_type, "documents": documents, "trace": []}
    return node.invoke(state, context=Context(index=source, **settings))


def prompt_of(model):
    return model.asked[-1][1][-1].text


def test_overlapping_chunks_are_answered_from_as_one_passage(node, source):
    chunks = made.ranked(1, 5, 0)
    output = run(node, source, chunks)
    first, second = output["documents"]
    assert [part["id"] for part in first["parts"]] == [chunks[2]["id"], chunks[0]["id"]]
    assert (first["id"], second["id"]) == (chunks[0]["id"], chunks[1]["id"])
    assert "2,340 metres" in output["answer"]
    assert decisions(output, "passages")[0]["chosen"] == 2


@pytest.mark.parametrize(("situation", "worked"), [("", True), ("I am a student.", False)])
def test_a_table_is_not_worked_out_where_the_situation_counts(node, tmp_path, situation, worked):
    source = build_index(tmp_path, {"plans.csv": "Plan,Price,Who\nSolo,8,pensioners\nDuo,12,everybody\n"})
    [documents] = source.search(["cheapest plan"], limit=1)
    state = {"question": "What is the cheapest plan?", "query_type": "contextual", "documents": documents}
    state |= {"implied_context": situation, "trace": []}
    output = node.invoke(state, context=Context(index=source))
    assert bool(decisions(output, "worked out")) is worked


def test_the_newest_version_of_a_document_is_read_where_only_an_older_one_was_found(node, tmp_path):
    texts = {
        "Rules 2021.txt": "Version of 1 July 2021.\n\nOne dog may be kept in each flat.",
        "Rules 2024.txt": "Version of 1 May 2024.\n\nUp to two dogs may be kept in each flat.",
    }
    source = build_index(tmp_path, texts)
    [found] = source.search(["How many dogs may be kept?"], limit=2)
    old = [passage for passage in found if passage["source"].endswith("2021.txt")]
    output = run(node, source, old, "How many dogs may be kept?")
    assert [passage["source"][-8:] for passage in output["documents"]] == ["2024.txt", "2021.txt"]
    assert output["answer"] == "Up to two dogs may be kept in each flat. [1]"
    assert (
        decisions(output, "versions")[0]["why"] == "it is the newest version of Rules 2021, which was found"
    )


def test_a_models_claim_is_cited_on_the_page_of_its_sentence(node, source):
    sentences = [made.SENTENCES[i] for i in (1, 8, 14)]
    model = ScriptedChatModel(script={"generate": " ".join(s.rstrip(".") + " [1]." for s in sentences)})
    output = run(node, source, made.ranked(*range(len(made.report()))), model=model)
    assert [citation["quote"] for citation in output["citations"]] == sentences
    assert [citation["page"] for citation in output["citations"]] == [7, 8, 9]
    assert output["grounding"] == 1.0


def test_a_model_is_told_what_is_known_of_the_user_on_every_route(node, source):
    said = "Owners of houses in Mill Street should fit door boards until the wall is raised [1]."
    model = ScriptedChatModel(script={"generate": said})
    state = {"question": made.QUESTIONS["contextual"], "query_type": "factual", "trace": []}
    state |= {"user_context": "I live in Mill Street.", "documents": made.ranked(*range(len(made.report())))}
    output = node.invoke(state, context=Context(index=source, model=model))
    assert "I live in Mill Street." in prompt_of(model)
    assert output["grounding"] == 1.0


@pytest.mark.parametrize("question", ["How long is the sea wall?", "Quelle est sa longueur totale?"])
def test_a_draft_has_a_confidence_only_where_its_passages_could_be_judged(node, source, question):
    model = ScriptedChatModel(script={"generate": "The sea wall of Saltmere is 2,340 metres long [1]."})
    output = run(node, source, made.ranked(1), question, model=model)
    assert output["outcome"] == "answer" and output["citations"]
    assert (output["confidence"] is None) == question.startswith("Quelle")


def test_a_draft_without_text_is_no_answer_where_drafts_are_kept(node, source):
    model = ScriptedChatModel(script={"generate": "\x1b[2J\x1b]0;owned\x07"})
    settings = {"model": model, "without": {"extractive-fallback"}}
    assert "2,340 metres" in run(node, source, made.ranked(1, 0), **settings)["answer"]


def test_with_the_switch_off_the_chunks_stay_apart(node, source):
    chunks = made.ranked(1, 0)
    output = run(node, source, chunks, without={"join"})
    assert output["documents"] == chunks
    assert decisions(output, "passages") == []


def test_the_budget_limits_what_is_read_and_the_trace_says_so(node, source):
    chunks = made.ranked(0, 5, 3)
    model = ScriptedChatModel(script={"generate": "I don't know."})
    output = run(node, source, chunks, model=model, answers={"context_tokens": 130})
    assert [document["id"] for document in output["documents"]] == [chunk["id"] for chunk in chunks[:2]]
    assert len(made.passages_of(prompt_of(model))) == 2
    [decision] = decisions(output, "window")
    assert (decision["chosen"], decision["why"]) == (2, "more would exceed 130 tokens")


def test_one_chunk_that_is_longer_than_the_budget_is_cut_in_the_prompt(node):
    from adaptive_rag.index.memory import MemoryIndex

    [whole] = made.report(size=4000)
    document = {**whole, "scores": {"fused": 1.0}, "labels": []}
    model = ScriptedChatModel(script={"generate": "I don't know."})
    output = run(node, MemoryIndex([whole]), [document], model=model, answers={"context_tokens": 100})
    [passage] = made.passages_of(prompt_of(model))
    assert 200 < len(passage) <= 400
    assert output["documents"] == [document]


def test_an_answer_that_quotes_nothing_says_why(source):
    silent = replace(STYLES["factual"], arrange=lambda request, judged: [])
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("generate", generate.given(styles={"factual": silent}))
    graph.add_edge(START, "generate")
    output = run(graph.compile(), source, made.ranked(0, 1), reader=ScriptedReader({"": 0.2}))
    assert output["abstained"]
    assert [d["why"] for d in decisions(output, "evidence")] == ["no sentence that was read can be quoted"]


def test_an_abstaining_answer_names_the_passages_that_were_read(node, source):
    output = run(node, source, made.ranked(0, 1), "What is the boiling point of tungsten?")
    assert output["abstained"]
    assert len(output["documents"]) == 1


@pytest.mark.parametrize(("chance", "outcome"), [(0.9, "answer"), (0.3, "closest"), (0.01, "abstain")])
def test_the_confidence_and_the_trace_say_what_is_given(node, source, chance, outcome):
    output = run(node, source, made.ranked(1, 5, 0), reader=ScriptedReader({"2,340": chance}))
    assert output["confidence"] == output["messages"][-1].response_metadata["confidence"] == chance
    [decision] = decisions(output, "evidence")
    assert decision["chosen"] == outcome and f"{chance:.2f}" in decision["why"]
    headings = [decision["chosen"] for decision in decisions(output, "closest")]
    assert headings == [output["answer"].partition("\n")[0].strip("*")] * (outcome == "closest")


def test_without_the_reader_the_nearest_sentences_are_no_answer(node, source):
    output = run(node, source, made.ranked(1, 5), without={"reader"})
    assert output["confidence"] is None
    assert decisions(output, "closest") and output["citations"]


def test_a_question_in_german_is_not_answered_and_the_answer_says_why(node, source):
    note = "only questions in English"
    for question in ("Wie lang ist die Mauer von Saltmere?", "Kann ich einen Hund in der Wohnung halten?"):
        output = run(node, source, made.ranked(1, 5), question=question)
        assert note in output["answer"] and output["confidence"] is None
    assert note not in run(node, source, made.ranked(1, 5))["answer"]
