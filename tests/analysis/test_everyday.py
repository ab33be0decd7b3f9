"""Sixty short everyday questions, fifteen a type, that the router was not trained on."""

import json
from pathlib import Path

import pytest

from adaptive_rag.analysis import analyse, analyse_batch
from adaptive_rag.state import ROUTED_TYPES

QUESTIONS = [
    json.loads(line)
    for line in (Path(__file__).parent / "everyday_questions.jsonl").read_text("utf-8").splitlines()
]
EXAMPLES = Path(__file__).parents[2] / "training" / "router_examples.jsonl"


def test_fifty_seven_of_sixty_everyday_questions_get_their_type() -> None:
    assert [question["type"] for question in QUESTIONS] == [name for name in ROUTED_TYPES for _ in range(15)]
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


KINDS = {
    "factual": [
        # A definition or a founding without a reference.
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
        # A question for a degree.
        "How warm is the teaching pool?",
        "how cold is the cellar",
        "How late does the shop open?",
    ],
    # Twins of the first that point at something else.
    "contextual": [
        "What is it?",
        "WHAT IS IT?",
        "What is the main difference?",
        "What is the cheapest option?",
        "What is the punishment?",
        "When was it founded?",
        "When was the company founded?",
        "Can you tell us more?",
    ],
    # What somebody thinks, dislikes or remembers.
    "opinion": [
        "what does the farmer think of the wind farm",
        "what did people dislike about the canteen",
        "who is against the school uniform and why",
        "how do former workers remember the mill",
        "reactions to the new logo",
    ],
}


@pytest.mark.parametrize(("kind", "question"), [(kind, q) for kind, asked in KINDS.items() for q in asked])
def test_small_words_decide_what_a_short_question_asks_for(kind: str, question: str) -> None:
    answer = analyse(question)
    assert answer["type"] == kind
    assert kind != "factual" or answer["factors"]["references"] == 1.0
