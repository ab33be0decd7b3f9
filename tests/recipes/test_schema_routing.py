"""The recipe `schema-routing`, rule by rule and number by number."""

import pytest

from adaptive_rag.index.memory import MemoryIndex
from tests.recipes.made import QUESTIONS, ask, nearest, passages_in

NAME = "schema-routing"


@pytest.mark.parametrize("kind", QUESTIONS)
def test_its_calls_follow_k(town: MemoryIndex, kind: str) -> None:
    # One to classify and one to answer; what comes between is what it spends beyond them.
    between = {"factual": 1 + 2 * 3, "analytical": 2, "opinion": 2, "contextual": 1 + 2 * 3}[kind]
    assert len(ask(town, NAME, kind, k=3)[1].asked) - 2 == between


def test_an_unknown_type_is_factual(town: MemoryIndex) -> None:
    output, _ = ask(town, NAME, "opinion", script={"classify": {"type": "procedural"}})
    assert output["query_type"] == "factual"


def test_the_type_is_asked_for_by_a_schema_with_the_four_types() -> None:
    from adaptive_rag.llm.exchange import wire_schema
    from adaptive_rag.nodes.classify import ask_to_classify

    request = ask_to_classify("Why?", "", [])
    schema = wire_schema(request.schema, request.bounds)
    assert schema["properties"]["type"]["enum"] == ["factual", "analytical", "opinion", "contextual"]


def test_each_of_2k_is_scored_from_1_to_10_on_its_first_1000_characters() -> None:
    long = MemoryIndex.from_texts([f"The sea wall is long. {'word ' * 600}END {i}" for i in range(9)])
    _, model = ask(long, NAME, "factual", k=3, script={"score": {"scores": [3]}})
    assert model.skills.count("score") == 6
    assert {len(passages_in(model.prompt("score", i))[0]) for i in range(6)} <= {999, 1000}
    assert "from 1 to 10" in model.prompt("score")


def test_a_missing_score_counts_5(town: MemoryIndex) -> None:
    output, _ = ask(town, NAME, "factual", script={"score": "{}"})
    assert {document["scores"]["relevance"] for document in output["documents"]} == {5}


@pytest.mark.parametrize(
    ("kind", "step", "key", "what"),
    [
        ("analytical", "decompose", "sub_questions", "sub-questions"),
        ("opinion", "viewpoints", "viewpoints", "viewpoints"),
    ],
)
def test_k_branches_bring_two_each_and_the_model_picks_k_of_80_characters(
    town: MemoryIndex, kind: str, step: str, key: str, what: str
) -> None:
    branches = ["the marsh and the waves", "the library and its hours", "the budget of the town"]
    script = {step: {key: branches}, "select": {"passages": [2, 1, 3]}}
    output, model = ask(town, NAME, kind, k=3, script=script)
    assert f"exactly 3 {what}" in model.prompt(step)
    asked = branches if kind == "analytical" else [f"{QUESTIONS[kind]} {branch}" for branch in branches]
    brought = {
        text[:80].strip() for text_of in asked for text in nearest(town, text_of, 2) for text in [text]
    }
    shown = passages_in(model.prompt("select"))
    assert set(shown) == brought
    picked = [document["text"][:80].strip() for document in output["documents"]]
    assert picked == [shown[1], shown[0], shown[2]]


def test_a_reply_without_the_key_falls_back_to_the_question(town: MemoryIndex) -> None:
    output, _ = ask(town, NAME, "factual", script={"enhance": "{}"})
    [retrieved] = [record for record in output["trace"] if record["step"] == "retrieve"]
    assert retrieved["queries"] == [QUESTIONS["factual"]]
    output, _ = ask(town, NAME, "analytical", script={"decompose": "{}"})
    assert [d["text"] for d in output["documents"]] == nearest(town, QUESTIONS["analytical"], 4)


def test_a_selection_without_numbers_falls_back_to_the_first_k(town: MemoryIndex) -> None:
    _, model = ask(town, NAME, "analytical", script={"select": "{}"})
    output, again = ask(town, NAME, "analytical", script={"select": "{}"})
    shown = passages_in(model.prompt("select"))
    assert [d["text"][:80].strip() for d in output["documents"]] == shown[:4]
    assert again.skills.count("select") == 2  # it is asked once more before that
