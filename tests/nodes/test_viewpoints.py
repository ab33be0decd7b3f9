"""Opinion questions: what is searched for them, and the viewpoints that a model names."""

import pytest

from adaptive_rag.nodes.viewpoints import ask_for_viewpoints
from adaptive_rag.query.viewpoints import keywords, topic_of


def test_keywords_drop_the_form_of_the_question_and_never_everything():
    assert keywords("Should the use of child performers be banned?") == "use child performers banned"
    assert keywords("What is it?") == "What is it?"


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What do people think of the claim that walls last?", "walls last?"),
        ("What are the different views on raising the wall?", "raising the wall?"),
        ("What are the arguments for and against the wall?", "the wall?"),
        ("Is it right to say that walls last?", "walls last?"),
        ("Do you agree that walls last?", "walls last?"),
        ("Should the wall be raised?", "Should the wall be raised?"),
        ("What do people think about on Sundays?", "on Sundays?"),
        ("Do people agree that walls last?", "Do people agree that walls last?"),
        ("What are the views on ", "What are the views on "),
    ],
)
def test_the_frame_of_a_question_after_views_is_no_part_of_the_matter(question, asked):
    assert topic_of(question) == asked


@pytest.mark.parametrize("n", [2, 3])
def test_as_many_viewpoints_are_asked_for_as_the_setting_says(n):
    request = ask_for_viewpoints("Should the wall be raised?", n)
    assert request.values() == {"question": "Should the wall be raised?", "n": str(n)}
    one_each = {"minItems": n, "maxItems": n}
    assert request.bounds == {"viewpoints": one_each, "sides": one_each}
    named = ["it helps", "Viewpoint 2: it harms", "it costs", "it helps"]
    assert request.read(named)["viewpoints"] == ["it helps", "it harms", "it costs"][:n]
    with pytest.raises(ValueError, match=f"expected {n} different viewpoints, got 1"):
        request.read(["it helps", "It helps"])


def test_a_side_goes_with_its_viewpoint_where_one_was_named_twice_or_too_many():
    request = ask_for_viewpoints("Should the wall be raised?", 3)
    named = ["1. it protects homes", "It protects homes", "it costs too much", "it can wait", "more"]
    said = {"viewpoints": named, "sides": ["for", "for", "against", "other", "against"]}
    assert request.read(said)["sides"] == ["for", "against", "other"]
    assert "sides" not in request.read({**said, "sides": ["for"]})
