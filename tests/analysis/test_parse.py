"""Which words point at something that the question does not name."""

import pytest

from adaptive_rag.analysis.parse import find_references, tokenize


@pytest.mark.parametrize(
    ("question", "dangling"),
    [
        ("When was it founded?", ("it",)),
        ("How does it compare to a Ferrari?", ("it",)),
        ("Why did Elon Musk start it?", ("it",)),
        ("How do rain and snow affect it?", ("it",)),
        ("and when was that?", ("that",)),
        ("What about those?", ("those",)),
        ("What are popular ones in France?", ("ones",)),
        ("How do I choose a new one?", ("one",)),
        ("Who was her mother?", ("her",)),
        ("Can it be used to power cars?", ("it",)),
    ],
)
def test_a_reference_without_antecedent_dangles(question: str, dangling: tuple[str, ...]) -> None:
    assert find_references(tokenize(question)).dangling == dangling


@pytest.mark.parametrize(
    "question",
    [
        "Is it ethical to eat meat?",
        "How long does it take to fly to Rome?",
        "How hard is it to learn Chinese?",
        "Why is it that cats purr?",
        "What is insulin and where is it produced?",
        "Do plants grow faster when they hear music?",
        "Is it true that Einstein failed maths?",
        "How can one learn to sing?",
        "What evidence supports the claim that tea is healthy?",
    ],
)
def test_an_expletive_or_an_antecedent_leaves_nothing_dangling(question: str) -> None:
    assert find_references(tokenize(question)).dangling == ()


def test_elliptic_openings_are_found() -> None:
    assert find_references(tokenize("What about winter?")).openers == ("what about",)
    assert find_references(tokenize("And the costs?")).openers == ("and",)
    assert find_references(tokenize("What is winter?")).openers == ()
