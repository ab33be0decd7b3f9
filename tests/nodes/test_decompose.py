"""Sub-questions: what a model is asked for, and what is taken of its reply."""

import pytest

from adaptive_rag.analysis import analyse
from adaptive_rag.context import make_context
from adaptive_rag.nodes.decompose import ask_to_decompose
from adaptive_rag.rank.window import READING, branch_count

QUESTION = "Why do walls fail?"


def test_as_many_are_asked_for_as_are_wanted():
    request = ask_to_decompose(QUESTION, 5)
    assert (request.step, request.values()) == ("decompose", {"question": QUESTION, "n": "5"})
    assert request.bounds == {"sub_questions": {"minItems": 5, "maxItems": 5}}


def test_more_sub_questions_than_asked_for_are_cut_and_fewer_refused():
    request = ask_to_decompose(QUESTION, 2)
    four = ["1. a one", "A ONE", "b two", "c three"]
    assert request.read({"sub_questions": four}) == {"sub_questions": ["a one", "b two"]}
    with pytest.raises(ValueError, match="expected 2 different sub-questions, got 1"):
        request.read(["a one", "A one"])


@pytest.mark.parametrize(("k", "asked"), [(7, 7), (60, 50)])
def test_k_sub_questions_are_at_most_as_many_as_a_reply_may_have(k: int, asked: int) -> None:
    assert branch_count("k", make_context(k=k), analyse(QUESTION), READING) == asked
