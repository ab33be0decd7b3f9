"""Sub-questions: the model's, else those that the question's parts and its first hits suggest."""

import pytest

from adaptive_rag.query.decompose import FACETS, SubQuestions, aspect_queries, decompose, salient_terms
from tests.llm.made import finish

QUESTION = "Why do walls fail?"


def test_salient_terms_are_shared_new_and_not_two_forms_of_one(make):
    hits = [
        make(str(i), text)
        for i, text in enumerate(["walls groyne tide", "wall groynes", "groyne dike tide", "reed"])
    ]
    assert set(salient_terms("sea wall", hits, 2)) <= {"groyne", "groynes", "tide"}
    assert len(salient_terms("sea wall", hits, 9)) == len({"groyne", "tide", "dike", "reed"})


def test_a_coordinated_question_falls_into_its_parts_first(make):
    parts = aspect_queries("How did the storm begin and why did the wall fail?", [], 4)
    assert parts[:2] == ["How did the storm begin", "why did the wall fail"]
    assert len(set(parts)) == 4


@pytest.mark.parametrize("n", range(1, 9))
def test_there_are_as_many_sub_questions_as_asked_for(n):
    assert len(set(aspect_queries(QUESTION, [], n))) == n


def test_where_nothing_suggests_aspects_they_are_the_facets_of_anything():
    assert aspect_queries(QUESTION, [], 2) == [f"Why do walls fail {facet}" for facet in FACETS[:2]]


def test_the_models_sub_questions_are_taken_and_nothing_is_searched():
    searched = []
    said = SubQuestions(sub_questions=["How are walls built?", "What do waves do to them?"])
    result, [request] = finish(decompose(QUESTION, 2, lambda: searched.append("first hits")), [said])
    assert result == said.sub_questions
    assert (request.step, searched) == ("decompose", [])
    assert request.bounds == {"sub_questions": {"minItems": 2, "maxItems": 2}}


def test_without_a_reply_the_first_hits_suggest_the_sub_questions(make):
    hits = [make("a", "groyne tide"), make("b", "groyne dike"), make("c", "reed")]
    result, _ = finish(decompose(QUESTION, 2, lambda: hits))
    assert result == aspect_queries(QUESTION, hits, 2)
    assert result[0] == "Why do walls fail groyne"


def test_more_sub_questions_than_asked_for_are_cut_and_fewer_refused():
    [request] = next(decompose(QUESTION, 2, list))
    four = SubQuestions(sub_questions=["1. a one", "A ONE", "b two", "c three"])
    assert request.check(four).sub_questions == ["a one", "b two"]
    with pytest.raises(ValueError, match="expected 2 different sub-questions, got 1"):
        request.check(SubQuestions(sub_questions=["a one", "A one"]))
