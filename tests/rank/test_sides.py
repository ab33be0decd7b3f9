"""Which side the words of a label or a sentence take."""

import pytest

from adaptive_rag.rank.stances import asked_side, side_of


@pytest.mark.parametrize(
    ("label", "side"),
    [
        ("benefits and arguments for", "for"),
        ("risks and arguments against", "against"),
        ("who is affected and how", None),
        ("supporters of risk regulation", "for"),
        ("critics of the benefit system", "against"),
    ],
)
def test_the_first_word_that_takes_sides_decides(label: str, side: str | None) -> None:
    assert side_of(label) == side


@pytest.mark.parametrize(
    ("question", "side"),
    [
        ("What are the arguments for and against the wall?", None),
        ("What is the case against or for the wall?", None),
        ("What are the pros and cons of the wall?", None),
        ("What are the arguments for the wall?", "for"),
        ("What are the reasons against the wall?", "against"),
        ("who is against the wall and why", "against"),
        ("what speaks for the wall", "for"),
        ("What does Ana say of the wall?", None),
    ],
)
def test_a_question_about_both_sides_asks_about_none_alone(question, side):
    assert asked_side(question) == side
