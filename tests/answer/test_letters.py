"""Answers from a file of several letters."""

import pytest

from adaptive_rag.context import Context
from adaptive_rag.graph.builder import build_graph
from tests.answer.made import build_index

RULE = "-" * 30
LETTERS = f"""LETTERS TO THE COUNCIL ABOUT THE POND

{RULE}
From: Odo Marsh, angler
3 May 2025

Dear council, I fish in the pond and I am against draining the pond. It is the only quiet place that we have.

Odo

{RULE}
From: Pia Holm, teacher
4 May 2025

I was asked for my opinion, so here it is.
I think that draining the pond is right, because a child fell into it.

Pia B. Holm
"""


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    context = Context(index=build_index(tmp_path_factory.mktemp("pond"), {"letters.txt": LETTERS}))
    graph = build_graph().compile()
    return lambda question: graph.invoke({"question": question}, context=context)


def test_nobody_gets_the_words_of_the_letter_before(ask):
    answer = ask("What do people think about draining the pond?")["answer"]
    assert "Odo Marsh, angler: “" in answer and "Pia Holm, teacher: “" in answer
    for line in answer.splitlines():
        assert not ("Pia" in line and "quiet place" in line) and not ("Odo" in line and "child" in line)
    assert "From:" not in answer and "May 2025" not in answer


def test_a_question_for_one_writers_view_is_answered_from_their_letter(ask):
    answer = ask("What does Odo Marsh think about draining the pond?")
    assert "against draining the pond" in answer["answer"] and "Pia" not in answer["answer"]
    assert {citation["place"]["section"] for citation in answer["citations"]} == {"Odo Marsh, angler"}


def test_the_writer_of_a_letter_is_not_the_title_of_its_file(ask):
    answer = ask("What does Pia Holm say?")
    assert "The sections of" not in answer["answer"]
