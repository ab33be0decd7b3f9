"""Which side a question asks about."""

import pytest

from adaptive_rag.rank.stances import asked_side


@pytest.mark.parametrize(
    ("question", "side"),
    [
        ("What are the arguments for and against the wall?", None),
        ("What is the case against or for the wall?", None),
        ("What are the arguments for the wall?", "for"),
        ("What are the reasons against the wall?", "against"),
        ("what speaks for the wall", "for"),
        ("What does Ana say of the wall?", None),
    ],
)
def test_a_question_about_both_sides_asks_about_none_alone(question, side):
    assert asked_side(question) == side
