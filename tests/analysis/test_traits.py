"""Tables of questions with their intent, complexity and entities."""

import pytest

from adaptive_rag.analysis.parse import tokenize
from adaptive_rag.analysis.traits import MAX_ENTITIES, find_entities, find_intent, measure_complexity
from adaptive_rag.state import RoutedType


@pytest.mark.parametrize(
    ("question", "query_type", "intent"),
    [
        ("Who wrote Hamlet?", "factual", "factual"),
        ("When did the war end?", "factual", "factual"),
        ("How many strings does a cello have?", "factual", "factual"),
        ("In which year was the euro introduced?", "factual", "factual"),
        ("What is osmosis?", "factual", "factual"),
        ("Why is the sky blue?", "analytical", "conceptual"),
        ("How does inflation affect savings?", "analytical", "conceptual"),
        ("Explain the theory of relativity.", "analytical", "conceptual"),
        ("Should zoos be closed?", "opinion", "conceptual"),
        ("What is the difference between jam and marmalade?", "analytical", "comparison"),
        ("Is Python better than Ruby?", "opinion", "comparison"),
        ("compare tea and coffee", "analytical", "comparison"),
        ("tubes vs transistors", "analytical", "comparison"),
        ("How do I bake bread?", "analytical", "procedural"),
        ("how to descale a kettle", "analytical", "procedural"),
        ("What are the steps to form a company?", "analytical", "procedural"),
        ("What is the impedance of the speaker?", "factual", "technical"),
        ("Which USB protocols does the device support?", "factual", "technical"),
        ("What is the default port of the database?", "factual", "technical"),
        ("Why does my amplifier hum?", "contextual", "troubleshooting"),
        ("My laptop does not start", "contextual", "troubleshooting"),
        ("How do I fix a leaking tap?", "analytical", "troubleshooting"),
        ("I get an error when I save", "contextual", "troubleshooting"),
        ("the printer keeps jamming", "contextual", "troubleshooting"),
    ],
)
def test_intent(question: str, query_type: RoutedType, intent: str) -> None:
    assert find_intent(tuple(tokenize(question)), query_type) == intent


def _complexity(question: str, query_type: RoutedType) -> str:
    return measure_complexity(tuple(tokenize(question)), question, query_type, find_entities(question))


@pytest.mark.parametrize(
    ("question", "query_type", "grade"),
    [
        ("Who wrote Hamlet?", "factual", "basic"),
        ("What is osmosis?", "factual", "basic"),
        ("How many moons does Mars have?", "factual", "basic"),
        ("Why is the sky blue?", "analytical", "basic"),
        ("How does inflation affect household savings in Europe?", "analytical", "intermediate"),
        ("Why did the Roman Empire decline in the fifth century?", "analytical", "intermediate"),
        (
            "Compare the effects of carbon taxes and emission trading on heavy industry, and assess the "
            "implications for employment and trade.",
            "analytical",
            "advanced",
        ),
        (
            "How do interest rates, energy prices and supply chains interact, and why does their "
            "relationship differ between the United States and Japan?",
            "analytical",
            "advanced",
        ),
    ],
)
def test_complexity(question: str, query_type: RoutedType, grade: str) -> None:
    assert _complexity(question, query_type) == grade


@pytest.mark.parametrize(
    ("question", "entities"),
    [
        ("Who was Napoleon Bonaparte?", ["Napoleon Bonaparte"]),
        ("What is the capital of France?", ["France"]),
        ("How did the Bank of England react in 1931?", ["Bank of England", "1931"]),
        ("What does NASA do?", ["NASA"]),
        ("What is the plot of 'The Old Man'?", ["The Old Man"]),
        ("What is the SM58 used for?", ["SM58"]),
        ("why is the sky blue", []),
        ("WHY IS THE SKY BLUE", []),
        ("Should Public Schools Be Allowed To Ban Phones?", []),
        ("Explain the water cycle.", []),
        ("", []),
    ],
)
def test_entities(question: str, entities: list[str]) -> None:
    assert find_entities(question) == entities


def test_entities_are_bounded() -> None:
    text = "Compare " + ", ".join(f"City{letter}town" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert len(find_entities(text)) == MAX_ENTITIES
