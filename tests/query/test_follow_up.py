"""A follow-up is given the subject of the exchange that it leans on; other questions are left alone."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from adaptive_rag import AdaptiveRAG
from adaptive_rag.answer.evidence import say_abstention
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.query.follow_up import complete, last_question
from adaptive_rag.query.history import read_history
from adaptive_rag.state import Turn
from adaptive_rag.text.phrases import english, say, text_of
from tests.conftest import TOWN


def talk(*texts: str) -> list[Turn]:
    """Return a conversation that the user begins."""
    return [Turn(role="agent" if place % 2 else "user", text=text) for place, text in enumerate(texts)]


PLANS = ["Which plans are there?", "There are:\n- Basic, 4 euros [1]\n- Premium, 9 euros [2]"]


@pytest.mark.parametrize(
    ("earlier", "question", "subject"),
    [
        (["What is the refund period?", "14 days."], "Does it hold for sale items?", "refund period"),
        (
            ["Who leads the finance team?", "Maria Keller [1]."],
            "What is her age?",
            "Maria Keller finance team",
        ),
        (PLANS, "What about the second one?", "Premium 9 euros plans"),
        (
            ["Which plans are there?", "Basic is slow. Premium is fast [1]."],
            "the second one?",
            "Premium fast plans",
        ),
        # the verb is left out, wherever it stands, and what is asked about is kept
        (["How do I renew my passport?", "At the office."], "How much does it cost?", "passport"),
        (["Can members borrow a key?", "Yes."], "How long can they keep it?", "members borrow key"),
        (["How long is the sea wall?", "2,340 metres."], "Why?", "long sea wall"),
        (["Who leads the finance team?", "👍"], "What is her extension?", "finance team"),
        (["How much does the wheelset cost?", "389 euros."], "Is it in stock?", "wheelset"),
        (["Who proposed a second press?", "Oluchi did."], "who objected and why", "press"),
        (["When does the zoo open?", "At nine."], "Are dogs allowed there?", "zoo"),
        (["What is the refund period?", "14 days."], "is that extended at xmas", "refund period"),
        (["Whats the refund period?", "14 days."], "ok, and how to apply", "refund period"),
        (["What is the refund period?", "14 days."], "Do I pay less then?", "refund period"),
        (["How long may I rest when I'm ill?", "A week."], "How much does it cost?", "long ill"),
        (["Is there a late fee?", "Yes.", "ok. sorry.", "Yes."], "How much is it?", "late fee"),
        (["Sorry, is there a late fee?", "Yes."], "How much is it?", "late fee"),
        (["Can I pause it?", "Yes."], "How much does it cost?", "pause"),
        (
            ["What is the refund period?", "14 days.", "great, danke!", "Hello."],
            "And how do I apply?",
            "refund period",
        ),
        (
            ["What is the refund period?", "14 days.", "in short", "14 days."],
            "And how do I apply?",
            "refund period",
        ),
        (
            ["How long is the sea wall?", "2,340 metres.", "When was it built?", "In 1968."],
            "Who paid for it?",
            "built long sea wall",
        ),
    ],
)
def test_a_follow_up_gets_the_subject_of_the_last_exchange(earlier, question, subject) -> None:
    assert complete(question, talk(*earlier)) == (question, subject)


@pytest.mark.parametrize(
    ("earlier", "question", "completed"),
    [
        (["What was the revenue of Acme in 2020?"], "And in 2021?", "What was the revenue of Acme in 2021?"),
        (["What does the P220 pump cost?"], "And the P240?", "What does the P240 pump cost?"),
        (["Has Acme staff in France?"], "What about Germany?", "Has Acme staff in Germany?"),
        (["how much is a parcel to Denmark"], "and to norway then?", "how much is a parcel to norway"),
        (["exercises for a weak leg"], "and for the weak arm ones?", "exercises for a weak arm"),
        (["when does the ferry leave on mondays"], "on sundays?", "when does the ferry leave on sundays"),
        (["does a child pay for a ticket"], "no, I meant an adult", "does a adult pay for a ticket"),
        # what it follows may itself replace a part
        (
            ["when does the ferry leave on mondays", "At 8.", "and on sundays?", "At 10."],
            "and the bus?",
            "when does the bus leave on sundays",
        ),
    ],
)
def test_a_follow_up_that_replaces_a_part_becomes_a_whole_question(earlier, question, completed) -> None:
    assert complete(question, talk(*earlier)) == (completed, "")


@pytest.mark.parametrize(
    "again", ["Are you sure?", "ok, where does it say that?", "and who says so", "in short please", "really?"]
)
def test_who_doubts_an_answer_gets_it_again_with_its_source(again: str) -> None:
    turns = talk("When does the zoo open?", "At nine.", "How much is it?", "4 euros.")
    assert complete(again, turns) == ("How much is it?", "zoo")


@pytest.mark.parametrize(
    ("earlier", "question"),
    [
        ("how much is the entry to the castle", "and for children?"),  # adds something, and replaces nothing
        ("how long is the sea wall", "and what did it cost?"),
        ("how long is the sea wall", "and that?"),
        (" ".join(f"word{n} of" for n in range(5000)), "and the wall?"),
    ],
)
def test_a_follow_up_that_replaces_nothing_stays_as_it_is(earlier, question) -> None:
    assert complete(question, talk(earlier))[0] == question


def test_the_last_question_of_a_conversation_is_a_whole_one() -> None:
    turns = talk("how much is a parcel to Denmark", "169 euros.", "and to norway?", "319 euros.")
    assert last_question(turns) == "how much is a parcel to norway"
    assert last_question([]) == ""


@pytest.mark.parametrize(
    "question",
    [
        "What is the budget for the marsh?",
        "Is it possible to register a wheelchair?",
        "If a tenant loses the key of the flat, who pays for their new one?",
        "Do you think that higher taxes help the town?",
        "Is there a tower, and how high is it?",
        "Who runs the zoo? Is she old?",
        "In which hall is the choir?",
        "After-school club prices?",
        "in vitro fertilisation cost",
        "How many halls are there?",
        "Which halls are there?",
        "How many people work in IT?",
        "Who works in Sales?",
    ],
)
def test_a_question_that_stands_alone_is_left_as_it_is(question: str) -> None:
    assert complete(question, talk("How long is the sea wall?", "2,340 metres.")) == (question, "")


def test_nothing_is_added_where_nothing_was_asked_before() -> None:
    assert complete("And what about it?", []) == ("And what about it?", "")


@pytest.mark.parametrize(
    "told",
    [{}, {"missing": "quux"}, {"documents": 0, "where": "page = 7"}, {"documents": 3, "where": "page = 7"}],
)
def test_a_refusal_is_no_part_of_what_is_known(told: dict[str, Any]) -> None:
    refused = text_of(say_abstention("What is quux?", ["quux, the word"], **told))
    assert read_history(talk("What is quux?", refused), []) == talk("What is quux?")


def test_an_answer_that_begins_with_a_part_without_one_is_known() -> None:
    half = f"{say('nothing_on', part='Is there a sauna')['text']}\nThe pool opens at nine [1]."
    assert read_history(talk("Is there a sauna, and when is it open?", half), [])[1]["text"] == half


def test_a_message_that_stores_whether_it_abstained_is_not_judged_by_its_words() -> None:
    quote = f"{english()['refused']} So says the handbook."
    kept = AIMessage(quote, response_metadata={"abstained": False})
    left_out = AIMessage("In other words: nothing was found.", response_metadata={"abstained": True})
    asked = HumanMessage("What is quux?")
    assert read_history([], [asked, kept, asked, left_out]) == [*talk(asked.text, quote), *talk(asked.text)]
    assert read_history([], [asked, AIMessage(quote)]) == talk(asked.text)


def ask(rag: AdaptiveRAG, question: str, *earlier: str):
    return rag.invoke({"question": question, "history": talk(*earlier)})


def test_a_follow_up_is_answered_about_its_subject(town: MemoryIndex) -> None:
    output = ask(AdaptiveRAG(town), "And how high is it?", "How long is the sea wall?", "2,340 metres [1].")
    assert not output["abstained"]
    assert "4.1 metres" in output["answer"]
    decisions = output["trace"][0]["decisions"]
    assert [d["chosen"] for d in decisions if d["what"] == "subject added"] == ["long sea wall"]


def test_a_follow_up_is_read_with_the_name_that_it_means() -> None:
    texts = [
        "Ann Lee teaches yoga. She also teaches pilates.",
        "Marta Holm teaches tennis. She also teaches golf.",
    ]
    output = ask(
        AdaptiveRAG(MemoryIndex.from_texts(texts)), "What else does she teach?", "Who has hall B?", "Ann Lee."
    )
    assert "pilates" in output["answer"] and "golf" not in output["answer"]


def test_what_was_refused_is_not_searched_again(town: MemoryIndex) -> None:
    refused = f"{english()['refused']} I searched for “zirconium”. The nearest passages are elsewhere."
    output = ask(AdaptiveRAG(town), "How long is the sea wall?", "Where is gold found?", refused)
    queries = [query for record in output["trace"] for query in record.get("queries", [])]
    assert not any("zirconium" in query for query in queries)
    assert "2,340" in output["answer"]


def test_without_context_the_conversation_is_not_read(town: MemoryIndex) -> None:
    rag = AdaptiveRAG(town, without={"context"})
    output = ask(rag, "And how high is it?", "How long is the sea wall?", "2,340 metres [1].")
    assert not any(d["what"] == "subject added" for d in output["trace"][0]["decisions"])


def test_a_completed_question_is_what_is_searched_and_answered() -> None:
    fares = ["A parcel to Denmark costs 169 euros.", "A parcel to Norway costs 319 euros."]
    rag = AdaptiveRAG(MemoryIndex.from_texts([*fares, *TOWN]))
    output = ask(rag, "and to norway?", "How much is a parcel to Denmark?", "169 euros [1].")
    assert "319" in output["answer"] and "169" not in output["answer"]
    decisions = output["trace"][0]["decisions"]
    assert [d["chosen"] for d in decisions if d["what"] == "completed"] == ["How much is a parcel to norway?"]
    assert output["question"] == "and to norway?"
