"""How well a text reads as a sentence."""

import time

import pytest

from adaptive_rag.answer.grading import grade


@pytest.mark.parametrize(
    "text", ["ACGT" * 25_000 + " is a short gene sequence.", f"Alpha… {' ' * 100_000}b."]
)
def test_a_long_text_is_graded_in_time(text):
    started = time.process_time()
    grade(text)
    assert time.process_time() - started < 2
