"""The hundred questions stand on their documents, and the judge tells good answers from bad."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.evaluation.arms import Bench
from adaptive_rag.ingest import extract_text
from benchmarks.typed_questions.__main__ import (
    ask,
    format_drafts,
    format_page,
    format_tables,
    open_documents,
    with_model,
)
from benchmarks.typed_questions.judge import TypedQuestion, judge, normalise, read_questions
from benchmarks.typed_questions.replies import RecordedReplies
from benchmarks.typed_questions.sources import make_documents, read_source

QUESTIONS = read_questions()
BY_ID = {question.id: question for question in QUESTIONS}


def asked(**fields: Any) -> TypedQuestion:
    """Return a question about the price of a hinge, but for the given fields."""
    question: dict[str, Any] = {
        "id": "q", "type": "factual", "source": "prices.csv", "question": "How much is the hinge?",
        "must": (("4.20",),), "must_not": ("2.60",), "answerable": True, "longest": 12,
        "history": (), "user_context": "", "sides": {},
    }  # fmt: skip
    return TypedQuestion(**question | fields)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_documents(tmp_path_factory.mktemp("documents"))


def test_there_are_a_hundred_of_every_kind() -> None:
    assert len(BY_ID) == 100
    assert len({question.question for question in QUESTIONS}) == 100
    counts = {"factual": 40, "analytical": 20, "opinion": 15, "contextual": 15, "no answer": 10}
    assert Counter(question.part for question in QUESTIONS) == counts


def test_each_names_a_document_that_is_made(documents: list[Path]) -> None:
    assert {question.source for question in QUESTIONS} == {path.name for path in documents}
    assert len(documents) == 12


def test_what_an_answer_must_hold_stands_in_its_document() -> None:
    for question in QUESTIONS:
        text = normalise(re.sub("<[^>]+>", " ", read_source(question.source)))
        wordings = [wording for group in question.must for wording in group]
        wordings += [wording for side in question.sides.values() for wording in side]
        assert bool(question.must) == question.answerable, question.id
        assert [w for w in wordings if normalise(w) not in text] == [], question.id


def test_what_it_must_not_hold_stands_in_the_documents_as_well() -> None:
    texts = [normalise(read_source(source)) for source in {question.source for question in QUESTIONS}]
    for question in QUESTIONS:
        for wording in question.must_not:
            assert any(normalise(wording) in text for text in texts), question.id


def test_the_made_files_hold_what_they_were_made_from(documents: list[Path]) -> None:
    for path in documents:
        text = normalise(extract_text(path).text)
        for question in QUESTIONS:
            if question.source == path.name:
                assert all(normalise(w) in text for group in question.must for w in group), question.id


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("The brass hinge costs **4.20** a pair. [1]", "good"),
        ("The hinge: price\n4.20 [1], stock 120 [2]", "good"),
        ("The hinge costs 2.60 or 4.20.", "wrong"),
        ("Hinges are sold in pairs.", "wrong"),
        ("The hinge costs 14.20 or 4.205 or 34.20.", "wrong"),
        ("The hinge costs 4.20, " + "and so on, " * 10, "partly"),
        ("", "wrong"),
    ],
)
def test_an_answer_is_judged_by_what_it_holds_and_its_length(answer: str, verdict: str) -> None:
    assert judge(asked(), answer).verdict == verdict


@pytest.mark.parametrize("text", ["4.7", "1,700", "75", "7.5", "A7"])
def test_a_number_is_not_found_inside_another(text: str) -> None:
    assert judge(asked(must=(("7",),)), f"There are {text}.").verdict == "wrong"
    assert judge(asked(must=(("7",),)), "There are 7.").verdict == "good"


@pytest.mark.parametrize(
    ("wording", "answer", "verdict"),
    [
        ("Coil frozen", "It means that the coil is frozen.", "good"),
        ("NOT be combined", "No, they cannot be combined.", "good"),
        ("marketing says yes", "Marketing said yes.", "good"),
        ("Coil frozen", "The coil is not frozen.", "wrong"),
        ("NOT be combined", "They can be combined.", "wrong"),
        ("7 days", "It takes 75 days, or 1.7 day.", "wrong"),
    ],
)
def test_an_answer_may_say_it_in_another_form(wording: str, answer: str, verdict: str) -> None:
    assert judge(asked(must=((wording,),), must_not=()), answer).verdict == verdict


def test_an_answer_that_holds_some_of_it_is_partly_good() -> None:
    question = asked(must=(("4.20",), ("pair", "two pieces")))
    assert judge(question, "It costs 4.20.").verdict == "partly"
    assert judge(question, "It costs 4.20.").missing == (("pair", "two pieces"),)
    assert judge(question, "It costs 4.20 for two pieces.").verdict == "good"


def test_an_answer_that_quotes_another_document_is_partly_good() -> None:
    judged = judge(asked(), "It costs 4.20.", quoted=["prices.csv", "faq.md"])
    assert (judged.verdict, judged.others) == ("partly", ("faq.md",))
    assert judge(asked(), "It costs 4.20.", quoted=["prices.csv"]).verdict == "good"


def test_a_refusal_is_right_where_the_documents_hold_nothing() -> None:
    assert judge(asked(answerable=False, must=()), "They do not say.", abstained=True).verdict == "good"
    assert judge(asked(answerable=False, must=()), "It costs 4.20.").verdict == "given"
    untold = "The price is not stated. [1] Hinges are sold in pairs. [1]"
    assert judge(asked(answerable=False, must=()), untold).verdict == "good"
    assert judge(asked(), "They do not say.", abstained=True).verdict == "refused"
    assert judge(asked(), "They do not say. The nearest: 4.20.", abstained=True).verdict == "partly"


def test_an_argument_under_the_head_of_the_other_side_is_seen() -> None:
    question = BY_ID["q061"]
    claims = (
        "“Cleaner air” is named. [1]",
        "A third of our customers come by car. [1]",
        "I am for the closure. [1]",
    )
    gain, loss, support = claims
    right = f"**Benefits and arguments for**\n{gain} {support}\n\n**Risks and arguments against**\n{loss}"
    wrong = f"**Benefits and arguments for**\n{gain}\n\n**Risks and arguments against**\n{loss} {support}"
    unsided = f"**Views**\n{gain} {loss} {support}"
    assert judge(question, right).verdict == "good"
    assert judge(question, wrong).misplaced == ("I am for the closure",)
    assert judge(question, wrong).verdict == "partly"
    assert judge(question, unsided).verdict == "good"


def test_an_answer_leads_with_what_it_must_hold_or_not() -> None:
    assert judge(asked(), "**Prices**\nIt costs 4.20. [1] It is sold in pairs. [1]").leads
    assert not judge(asked(), "It is sold in pairs. [1] It costs 4.20. [1]").leads


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """The documents of two questions, indexed."""
    asked_about = {BY_ID[id_].source for id_ in ("q004", "q100")}

    def make_two(folder: Path) -> None:
        for path in make_documents(folder):
            if path.name not in asked_about:
                path.unlink()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.typed_questions.__main__.make_documents", make_two)
        with open_documents() as opened:
            yield opened


def test_both_arms_are_asked_and_every_answer_stands_on_the_page(bench: Bench) -> None:
    questions = [BY_ID["q004"], BY_ID["q100"]]
    answered = {arm: ask(arm, questions, bench) for arm in ("adaptive", "standard")}
    [hotel, massage] = answered["adaptive"]
    assert hotel.judgement.verdict == "good" and "165 pounds" in hotel.answer
    assert massage.judgement.verdict in ("good", "given")
    tables = format_tables(answered)
    assert "| adaptive: factual | 1 | 1 | 0 | 0 | 0 | 0 | 1 |" in tables
    assert "| standard: all | 2 |" in tables
    page = format_page(answered, tables)
    assert hotel.answer in page and "agent: A full membership costs 39 pounds a month." in page


def test_an_answer_is_only_too_long_where_nothing_else_is_wrong() -> None:
    long = "It costs 4.20, " + "and so on, " * 10
    assert judge(asked(), long).only_too_long
    assert not judge(asked(), "It costs 4.20.").only_too_long
    assert not judge(asked(), long + "not 2.60").only_too_long
    assert not judge(asked(), long, quoted=["faq.md"]).only_too_long
    assert not judge(asked(), long, abstained=True).only_too_long


def test_a_question_waits_until_the_reply_to_its_request_is_recorded(tmp_path: Path, bench: Bench) -> None:
    file, question = tmp_path / "replies.jsonl", BY_ID["q004"]

    def asked_again() -> tuple[RecordedReplies, dict[str, Any]]:
        replies = RecordedReplies(file)
        answered = ask("adaptive", [question], with_model(bench, "adaptive", replies, "generate"))
        replies.save()
        return replies, {"adaptive": answered}

    replies, answered = asked_again()
    assert answered["adaptive"] == [] and len(replies.missing) == 1
    [request] = map(json.loads, file.read_text().splitlines())
    assert request["step"] == "generate" and question.question in request["messages"][-1]["text"]
    reply = "Hotel rooms are paid up to 165 pounds in London. [1] Their breakfast costs 12 pounds. [1]"
    file.write_text(json.dumps({"id": request["id"], "instructions": "others", "reply": reply}) + "\n")
    replies, answered = asked_again()
    [one] = answered["adaptive"]
    assert replies.outdated == {request["id"]}
    assert not replies.missing and "165 pounds" in one.answer and one.judgement.verdict == "good"
    assert one.calls == 1 and not one.replaced and [claim[:4] for claim, _ in one.marked] == ["Thei"]
    assert "| adaptive: all | 1 | 1 | 0 | 0 | 0 | 0 | 1 | 15 | 1.0 |" in format_drafts(answered)
