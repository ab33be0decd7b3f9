"""Sixty short everyday questions, fifteen a type, that the router was not trained on."""

import json
from pathlib import Path

import pytest

from adaptive_rag.analysis import analyse, analyse_batch
from adaptive_rag.state import QUERY_TYPES

QUESTIONS = [
    json.loads(line)
    for line in (Path(__file__).parent / "everyday_questions.jsonl").read_text("utf-8").splitlines()
]
EXAMPLES = Path(__file__).parents[2] / "training" / "router_examples.jsonl"


@pytest.fixture(autouse=True)
def _nothing_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path))


def test_fifty_seven_of_sixty_everyday_questions_get_their_type() -> None:
    assert [question["type"] for question in QUESTIONS] == [name for name in QUERY_TYPES for _ in range(15)]
    found = analyse_batch([question["text"] for question in QUESTIONS])
    wrong = {
        question["text"]: answer["type"]
        for question, answer in zip(QUESTIONS, found, strict=True)
        if answer["type"] != question["type"]
    }
    assert len(wrong) <= 3, wrong


def test_none_of_them_is_a_training_example() -> None:
    def plain(text: str) -> str:
        return "".join(character for character in text.lower() if character.isalnum())

    examples = {plain(json.loads(line)["text"]) for line in EXAMPLES.read_text("utf-8").splitlines()}
    assert [question["text"] for question in QUESTIONS if plain(question["text"]) in examples] == []


@pytest.mark.parametrize(
    "question",
    [
        "What is the greenhouse effect?",
        "what is the gold standard",
        "What is the Magna Carta?",
        "Who founded the WHO?",
        "who founded the who",
        "What does NATO do",
        "What is IT?",
        "What is the IT sector?",
        "When was the BBC founded?",
        "Who leads the U.S.?",
    ],
)
def test_a_definition_or_a_founding_without_a_reference_is_factual(question: str) -> None:
    answer = analyse(question)
    assert answer["type"] == "factual"
    assert answer["factors"]["references"] == 1.0


@pytest.mark.parametrize(
    "question",
    [
        "What is it?",
        "WHAT IS IT?",
        "What is the main difference?",
        "What is the cheapest option?",
        "What is the punishment?",
        "When was it founded?",
        "When was the company founded?",
        "Can you tell us more?",
    ],
)
def test_its_twin_that_points_at_something_else_is_contextual(question: str) -> None:
    assert analyse(question)["type"] == "contextual"


@pytest.mark.parametrize(
    "question",
    ["How warm is the teaching pool?", "how cold is the cellar", "How late does the shop open?"],
)
def test_a_question_for_a_degree_is_factual(question: str) -> None:
    assert analyse(question)["type"] == "factual"


@pytest.mark.parametrize(
    "text",
    [
        "what does the farmer think of the wind farm",
        "what did people dislike about the canteen",
        "who is against the school uniform and why",
        "how do former workers remember the mill",
        "reactions to the new logo",
    ],
)
def test_what_somebody_thinks_dislikes_or_remembers_is_an_opinion(text: str) -> None:
    assert analyse(text)["type"] == "opinion"
