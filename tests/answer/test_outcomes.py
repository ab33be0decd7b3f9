"""An answer, the closest passages or a refusal, by one probability."""

from dataclasses import replace

import pytest

from adaptive_rag.answer.compose import answer_locally
from adaptive_rag.answer.evidence import (
    ANSWERED,
    CLOSE,
    CLOSE_ROW,
    judge_evidence,
    nearest_quote,
    say_abstention,
)
from adaptive_rag.answer.styles import STYLES
from adaptive_rag.state import ROUTED_TYPES
from adaptive_rag.text.phrases import english, text_of
from tests.answer.made import ScriptedReader, candidate, request


def format_abstention(*args) -> str:
    return text_of(say_abstention(*args))


WALL = candidate("The wall was built in 1955. The ferry runs every hour of the day.")


@pytest.mark.parametrize(
    ("chance", "outcome"), [(ANSWERED, "answer"), (CLOSE, "closest"), (CLOSE - 0.01, "refusal")]
)
def test_one_probability_decides_what_is_given(chance: float, outcome: str) -> None:
    asked = request("When was it built?", [WALL], {"1955": chance})
    evidence, said = answer_locally(asked, abstains=True)
    assert (evidence.outcome, evidence.confidence) == (outcome, pytest.approx(chance))
    assert f"{chance:.2f}" in evidence.reason["text"]
    if outcome == "refusal":
        assert said is None
        assert answer_locally(asked, abstains=False)[1]
    else:
        assert said
        assert said.text.startswith(f"**{english()['closest']}**\n- The wall") is (outcome == "closest")
        assert said.citations[0]["quote"] == "The wall was built in 1955."


@pytest.mark.parametrize(("chance", "cells"), [(0.9, "opens 08:30"), (0.4, "opens 08:30, closes 13:00")])
def test_a_row_that_may_answer_is_shown_whole(chance: float, cells: str) -> None:
    table = candidate("day | opens | closes\n--- | --- | ---\nWednesday | 08:30 | 13:00")
    _, said = answer_locally(request("When opens it?", [table], {"08:30": chance}), abstains=True)
    assert said and f"Wednesday: {cells} [1]" in said.text


@pytest.mark.parametrize(("chance", "outcome"), [(CLOSE_ROW, "closest"), (CLOSE_ROW - 0.01, "refusal")])
def test_a_row_is_close_from_a_lower_probability_than_a_sentence(chance: float, outcome: str) -> None:
    table = candidate("day | opens | closes\n--- | --- | ---\nWednesday | 08:30 | 13:00")
    evidence, _ = answer_locally(request("When opens it?", [table], {"08:30": chance}), abstains=True)
    assert (evidence.outcome, evidence.confidence) == (outcome, pytest.approx(chance))


@pytest.mark.parametrize(("other", "outcome"), [(0.01, "answer"), (0.14, "closest")])
def test_of_many_rows_the_one_that_has_no_rival_answers(other: float, outcome: str) -> None:
    rows = "\n".join(f"{day} | 0{i + 7}:30 | 13:00" for i, day in enumerate("Mon Tue Wed Thu Fri".split()))
    tables = [
        candidate(f"day | opens | closes\n--- | --- | ---\n{rows}", source=name) for name in ("a.md", "b.md")
    ]
    # The same row of another document is no rival.
    for documents in (tables[:1], tables):
        chances = {"08:30": 0.2 / len(documents), "09:30": other / len(documents)}
        evidence, _ = answer_locally(request("When opens it?", documents, chances), abstains=True)
        assert evidence.outcome == outcome


def test_without_a_reader_nothing_is_given_as_an_answer() -> None:
    near, far = (replace(request(asked, [WALL]), reader=None) for asked in ("built in 1955", "quantum chess"))
    assert judge_evidence(near).outcome == "closest" and judge_evidence(near).confidence is None
    assert judge_evidence(far).outcome == "refusal"


@pytest.mark.parametrize("above", ["question", "section"])
def test_an_answer_may_have_no_word_of_the_question_above_it(above: str) -> None:
    question, answer = "Where may guests park?", "Behind the hall of the old mill."
    passage = candidate(answer) | {"section": question}
    if above == "question":
        passage = candidate(
            f"{question}\n{answer}", metadata={"kind": "qa", "question": question, "answer": answer}
        )
    assert judge_evidence(request(question, [passage], {"hall": 0.9})).outcome == "answer"


def test_two_questions_in_one_are_answered_one_by_one() -> None:
    parts = ["When was the wall built?", "who paid for it?\nwall"]
    asked = request(" ".join(parts), [WALL], parts=parts)

    class ReadsByPart(ScriptedReader):
        def read(self, question, passages):
            self.answers = {"1955": 0.9 if "When" in question else 0.0}
            return super().read(question, passages)

    evidence, said = answer_locally(replace(asked, reader=ReadsByPart()), abstains=True)
    assert evidence.outcome == "answer" and said
    assert said.text.splitlines() == [
        "The wall was built in 1955. [1]",
        "The documents say nothing about “who paid for it?”.",
    ]


@pytest.mark.parametrize("question", ["|", "why", "???", "xyzzy " * 500])
def test_what_shares_no_word_with_what_was_read_is_not_answered(question: str) -> None:
    asked = request(question, [WALL], {"1955": 0.9})
    assert judge_evidence(asked).outcome == "refusal"
    named = judge_evidence(request("why a wall", [WALL], {"1955": 0.9}))
    assert (named.outcome, named.confidence) == ("answer", pytest.approx(0.9))


def test_every_type_has_a_style() -> None:
    assert set(STYLES) == set(ROUTED_TYPES)


def test_a_refusal_quotes_what_came_nearest_on_one_line() -> None:
    wall = candidate("The Long Wall\nwas built after 1955, see [2]. It rains.", source="/in/b.pdf")
    nearest = nearest_quote(
        request("When was the wall built?", [candidate("It snows."), wall], {"Long Wall": 0.1})
    )
    assert nearest
    said = format_abstention("Why?", ["Why?"], 2, nearest)
    assert "The closest passage is in b.pdf: “The Long Wall was built after 1955, see " in said
    assert "see [2]" not in said
    assert said.endswith("”")
    assert nearest[1]["quote"] == "The Long Wall\nwas built after 1955, see [2]."


def test_a_heading_or_a_sentence_on_something_else_is_never_quoted() -> None:
    pool = "The pool is open from nine to five on every day of the week."
    page, heading = candidate(f"# Pool\n\n{pool}"), candidate("# Opening hours of the pool")
    found = nearest_quote(request("When is the pool open?", [page]))
    assert found and found[0] == pool
    assert nearest_quote(request("When is the pool open?", [heading])) is None
    assert nearest_quote(request("Who won the World Cup?", [page])) is None


def test_the_abstention_says_what_was_searched_beyond_the_question() -> None:
    queries = ["Why is that gate shut?", "why gate shut", "is the wall dry", "is the wall dry"]
    told = format_abstention("Why is  that gate shut?", [*queries, "Why is that gate shut?\nthe harbour"], 12)
    assert told == (
        "The documents do not contain an answer to this question. "
        "I searched 12 documents, also for “is the wall dry” and “the harbour”."
    )
    assert "I searched one document." in format_abstention("Why?", ["Why?"], 1)
    assert format_abstention("Why?", ["Why?"]) == "The documents do not contain an answer to this question."


def test_a_query_that_carries_an_earlier_answer_is_not_printed_and_a_long_list_is_cut() -> None:
    carried = "Delivery is free for orders above £20 and costs £1.99 otherwise, as was said. [2] Why?"
    assert "Delivery" not in format_abstention("Why?", [carried, "Why?"], 3)
    text = format_abstention("Why?", [f"query {n}" for n in range(9)])
    assert "“query 3” and 5 more" in text
    assert "nearest" not in text


def test_words_in_quotation_marks_stand_in_single_ones_inside_the_quote() -> None:
    page = candidate("“It was built of stone,” said Ann about the long wall.")
    nearest = nearest_quote(request("What is the long wall built of?", [page]))
    assert "“‘It was built of stone,’ said Ann about the long wall.”" in format_abstention(
        "?", [], 1, nearest
    )


def test_a_situation_alone_makes_no_answer_sure() -> None:
    class Trusting(ScriptedReader):
        def read(self, question, passages):
            self.answers = {"ferry": 0.99 if "sailor" in question else 0.3}
            return super().read(question, passages)

    document = candidate("The ferry goes to the island once in an hour.")
    asked = replace(request("Do I pay tax?", [document], reader=Trusting({})), situation="I am a sailor.")
    assert asked.scored.answered == pytest.approx(0.99)
    assert 0.5 < asked.answered < 0.9
    assert replace(asked, situation="").answered == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("question", "answered"), [("When is the raft race?", 0.0), ("When was the mail on boats sent?", 0.9)]
)
def test_the_headers_of_a_mail_make_no_other_answer_sure(question: str, answered: float) -> None:
    mail = candidate(
        "Subject: Safety boats\nFrom: Ann Lee <ann@mill.example>\nDate: Monday, 8 June 2026\n\n"
        "The harbour is closed to boats on that day.\n"
    )
    assert request(question, [mail], {"Date:": 0.9}).answered == pytest.approx(answered)
