"""The measures of answers: what they count, and that a refusal counts as nothing."""

from __future__ import annotations

import pytest

from adaptive_rag.evaluation.arms import Result
from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.evaluation.metrics import ranked_ids
from adaptive_rag.index.memory import MemoryIndex
from benchmarks.answers import (
    AskedQuestion,
    SourceWithout,
    contains,
    content_overlap,
    first_sentence,
    format_rows,
    measure,
    summarise,
)
from tests.conftest import make_candidate


def citation(name, quote):
    return {"marker": 1, "source": name, "page": None, "start": 0, "end": len(quote), "quote": quote}


def result(answer, citations=(), *, abstained=False):
    texts = {"rule": "You may apply by May.", "other": "It rains."}
    documents = [make_candidate(name, text, source=name) for name, text in texts.items()]
    return Result(documents, 1.0, answer=answer, citations=list(citations), abstained=abstained)


@pytest.mark.parametrize(
    ("answer", "reference", "held"),
    [
        ("It was the Cadillac DeVille, and others. [1]", "a cadillac DeVille", True),
        ("In 1977 [1]", "77", False),
        ("Anything", "", False),
    ],
)
def test_an_answer_holds_a_reference_word_by_word(answer, reference, held):
    assert contains(answer, reference) is held


def test_a_heading_is_no_first_sentence():
    assert first_sentence("**For your situation**\nYou may apply. [1] It rains. [2]") == "You may apply."


def test_the_content_of_a_reference_is_counted_by_stems():
    assert content_overlap("The walls protected the harbour.", "Walls protect harbours and farms.") == 0.75


def test_a_contextual_answer_is_measured_by_what_it_quotes():
    question = Question("1", "May I?", type="contextual", gold={"rule": 1})
    quotes = [citation("rule", "You may apply by May."), citation("other", "It rains today again and again.")]
    figures = dict(measure(question, result("You may. [1]", quotes)))
    assert figures["gold passage quoted"] == figures["first sentence from it"] == 1
    assert figures["words not from it"] == pytest.approx(6 / 11)
    refused = dict(measure(question, result("No.", quotes, abstained=True)))
    assert refused == {"gold passage quoted": 0, "first sentence from it": 0}


@pytest.mark.parametrize(("names", "both"), [(("rule", "other"), 1.0), (("rule",), 0.0)])
def test_both_sides_are_quoted_where_a_passage_of_each_is(names, both):
    aspects = {"rule": ("support/c1",), "other": ("undermine/c2",)}
    question = Question("1", "Should I?", type="opinion", aspects=aspects)
    quotes = [citation(name, "It") for name in names]
    assert dict(measure(question, result("It. [1]", quotes)))["both sides quoted"] == both


def test_views_are_counted_by_the_side_under_whose_heading_they_stand():
    aspects = {"rule": ("support/c1",), "other": ("undermine/c2",)}
    question = Question("1", "Should I?", type="opinion", aspects=aspects)
    quotes = [citation("rule", "It helps."), citation("other", "It harms.")]
    head = "**Benefits and arguments for**"
    for answer, under, right in [
        (f"- It harms. [2]\n\n{head}\n- It helps. [1]", 0.5, 1.0),
        (f"{head}\n- It helps. [1]\n- It harms. [2]", 1.0, 0.5),
    ]:
        figures = dict(measure(question, result(answer, quotes)))
        assert (figures["under a side"], figures["of these under the right one"]) == (under, right)


def test_hidden_passages_are_not_found():
    index = MemoryIndex.from_texts(["The wall is high.", "The wall is long."], source="town.txt")
    [found] = index.search(["How high is the wall?"], limit=2)
    hidden = frozenset(ranked_ids(found[:1]))
    [left] = SourceWithout(index, hidden).search(["How high is the wall?"], limit=2)
    assert [candidate["id"] for candidate in left] == [found[1]["id"]]


def test_the_table_has_a_row_for_each_measure():
    asked = [
        AskedQuestion(
            *("squad", "factual", str(i), "adaptive", "whole", "Who?", "Ana."),
            *(i == 0, i > 1, 20 + i, {"held": i % 2}),
        )
        for i in range(4)
    ]
    table = format_rows(summarise(asked))
    assert "| squad | held | 4 |  | 0.50 [" in table
    assert "| squad | words, median | 3 |  | 22 |" in table
    assert "| squad | refused | 4 |  | 0.25 [" in table
    assert "| squad | answered | 4 |  | 0.50 [" in table
