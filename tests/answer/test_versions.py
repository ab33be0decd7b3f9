"""Which sentences are no longer valid, and what an answer says instead of them or before them."""

import time

import pytest

from adaptive_rag.answer import versions
from adaptive_rag.answer.compose import extract_answer
from adaptive_rag.answer.styles import STYLES
from adaptive_rag.answer.validity import asks_about_past, cancels, find_former_values, is_version
from adaptive_rag.answer.versions import find_newest_versions
from tests.answer.made import candidate, request

OLD_RULES = (
    "House rules. Version of 1 July 2021. Dogs need the written consent of the board. One dog may be kept."
)
NEW_RULES = "House rules. In force from 1 March 2024. Up to two dogs may be kept in each flat."
RULES = [("House Rules 2021.txt", OLD_RULES), ("House_Rules_2024_final.txt", NEW_RULES)]
OLD_MINUTES = "Decision 7: The fee for a plot is raised to 90 euros a year."
NEW_MINUTES = "Decision 31: Decision 7 is rescinded. The yearly fee is 60 euros."
MINUTES = [("minutes_2022.txt", OLD_MINUTES), ("minutes_2024.txt", NEW_MINUTES)]
RESERVE = "The reserve contribution is {} euros for each square metre."
REPORTS = [("report 2022.txt", RESERVE.format("0.85")), ("report 2023.txt", RESERVE.format("1.20"))]


def ask(question, documents, answers, style="factual"):
    passages = [candidate(text, source=source) for source, text in documents]
    return request(question, passages, answers, style=STYLES[style], first_text=dict(documents).get)


def answer_from(question, documents, answers):
    asked = ask(question, documents, answers)
    return extract_answer(asked).text, asked


def test_a_newer_version_answers_instead_of_an_older_one():
    answer, asked = answer_from("How many dogs may I keep?", RULES, {"One dog": 0.5, "two dogs": 0.3})
    assert answer == "Up to two dogs may be kept in each flat. [2]"
    [decision] = asked.decisions
    assert decision["what"] == "versions"
    assert decision["chosen"] == "House Rules 2021"
    assert decision["why"] == "House_Rules_2024_final.txt is of a newer version"


def test_sections_of_one_document_are_versions_if_they_say_so():
    texts = {"Rules 2020": "A fence may be 1 metre high.", "Rules 2024": "They replace the Rules 2020. {}"}
    texts["Rules 2024"] = texts["Rules 2024"].format("A fence may be 2 metres high.")
    text, starts = "", {}
    for heading, body in texts.items():
        starts[str(len(text))] = heading
        text += f"# {heading}\n\n{body}\n\n"
    passage = candidate(text, metadata={"section_starts": starts})
    asked = request("How high may a fence be?", [passage], {"1 metre": 0.5, "2 metres": 0.4})
    assert extract_answer(asked).text == "A fence may be 2 metres high. [1]"


def test_what_only_an_older_version_says_is_marked_with_its_time():
    answer, _ = answer_from("Who must consent to dogs?", RULES, {"consent": 0.9, "two dogs": 0.01})
    assert answer.startswith("In an older version (2021): Dogs need the written consent of the board.")


RENT = [
    ("House Rules 2021.txt", "Version of 1 July 2021. The rent is due at the end of the month."),
    ("House Rules 2024.txt", "In force from 1 March 2024. The rent is due on the 15th of each month."),
]


def test_a_sentence_of_an_older_version_gives_way_to_a_newer_one_that_says_nearly_the_same():
    answers = {"end of the month": 0.85, "15th": 0.02}
    answer, asked = answer_from("When is the rent due?", RENT, answers)
    assert answer == "The rent is due on the 15th of each month. [2]"
    assert asked.decisions[0]["why"] == "House Rules 2024.txt is of a newer version"
    documents = [(name, text.replace("the end", "day six").replace("15th", "day ten")) for name, text in RENT]
    answer, _ = answer_from("When is the rent due?", documents, {"six": 0.85, "ten ": 0.02})
    assert answer.startswith("The rent is due on the day ten")
    documents = [RENT[0], (RENT[1][0], RENT[1][1].replace("rent", "rent of a garage"))]
    answer, _ = answer_from("When is the rent due?", documents, answers)
    assert answer.startswith("In an older version (2021): The rent is due at the end of the month.")


HANDBOOK = (
    "Handbook v6 2026.txt",
    "If a freezer is warm for longer than four hours, all of it is thrown away.",
)
MAIL = (
    "From: Ann Lee <ann@lee.example>\nTo: All <all@lee.example>\nDate: Thu, 5 Feb 2026 18:31:20 +0000\n\n"
    "With immediate effect: if a freezer is warm for longer than TWO hours (handbook 5.2 says four), "
    "all is thrown away."
)


def test_a_sentence_in_other_words_replaces_its_nearest_one_of_an_older_version(monkeypatch):
    monkeypatch.setattr(versions, "NEARLY_SAME", 0.6)  # the made vectors know no meaning
    old = ("prices 2025.txt", "Prices. Valid from 1 May 2025. Gift vouchers are valid for 12 months.")
    new = ("prices 2026 (new).txt", "Vouchers are valid for 24 months. The terrace opens in May.")
    question = "How long can I use a gift voucher?"
    answer, _ = answer_from(question, [old, new], {"12 months": 0.9, "24 months": 0.01})
    assert answer == "Vouchers are valid for 24 months. [2]"
    terrace = ("prices 2026 (new).txt", "The terrace opens in May.")
    answer, _ = answer_from(question, [old, terrace], {"12 months": 0.9})
    assert answer == "In an older version (2025): Gift vouchers are valid for 12 months. [1]"


def test_a_name_that_says_that_it_is_superseded_is_that_of_a_version():
    documents = [("rules-2021-superseded.txt", OLD_RULES), ("rules-2024.txt", NEW_RULES)]
    answer, _ = answer_from("How many dogs may I keep?", documents, {"One dog": 0.5, "two dogs": 0.3})
    assert answer == "Up to two dogs may be kept in each flat. [2]"


def test_a_mail_corrects_the_value_of_a_document_that_it_names():
    documents, answers = [HANDBOOK, ("mail.txt", MAIL)], {"four hours": 0.6, "TWO": 0.4}
    answer, asked = answer_from("For how many hours may a freezer be warm?", documents, answers)
    assert "TWO hours" in answer
    assert "than four hours" not in answer
    assert asked.decisions[0]["why"].endswith("calls its value the former one")


@pytest.mark.parametrize(
    "old, new",
    [
        (("Guide v6 2026.txt", HANDBOOK[1]), MAIL),
        (("Handbook v7 2027.txt", HANDBOOK[1]), MAIL),
        ((HANDBOOK[0], "A shift at a freezer lasts four hours."), MAIL),
        (HANDBOOK, MAIL.replace("says four", "says six")),
        (HANDBOOK, MAIL.replace("With immediate effect: if", "We find that if")),
    ],
)
def test_a_mail_corrects_no_other_document_or_value_and_no_later_one(old, new):
    documents, answers = [old, ("mail.txt", new)], {"four hours": 0.6, "TWO": 0.4}
    answer, asked = answer_from("For how many hours may a freezer be warm?", documents, answers)
    assert answer.startswith(old[1])
    assert asked.decisions == []


def test_a_question_about_the_past_gets_both_versions_unmarked():
    answer, asked = answer_from("How many dogs were allowed?", RULES, {"One dog": 0.5, "two dogs": 0.4})
    assert answer.startswith("One dog may be kept.")
    assert "version" not in answer
    assert asked.decisions == []


def test_a_question_that_names_a_time_gets_the_version_of_that_time():
    for question in ("How many dogs could one keep in 2021?", "Dogs in 2022?"):
        answer, asked = answer_from(question, RULES, {"One dog": 0.3, "two dogs": 0.6})
        assert "One dog" in answer
        assert "two dogs" not in answer
        assert asked.decisions[0]["why"].endswith("is of the version that the question names")


@pytest.mark.parametrize(
    "documents",
    [
        [
            ("aldbury/fees 2023.txt", "Valid from 1 May 2023. A swim costs 5 euros."),
            ("marsh/fees 2024.txt", ""),
        ],
        [("Tarn 40 manual 2022.txt", "Rev. 1. A swim costs 5 euros."), ("Tarn 86 manual 2024.txt", "")],
        [("letter Smith 2023.txt", "Dear Sir, a swim costs 5 euros."), ("letter Jones 2024.txt", "")],
        [("diary.txt", "3 May 2021. A swim costs 5 euros."), ("journal.txt", "")],
        [("a.txt", "A swim costs 5 euros."), ("b.txt", "")],
    ],
)
def test_texts_of_different_things_are_no_versions(documents):
    documents[1] = documents[1][0], "Valid from 1 May 2024. The swim costs 7 euros."
    answer, asked = answer_from("How much is a swim?", documents, {"5 euros": 0.5, "7 euros": 0.4})
    assert "5 euros" in answer.split("[1]")[0]
    assert "7 euros" in answer
    assert asked.decisions == []


def test_a_cancelled_decision_is_not_quoted_and_the_cancelling_sentence_is():
    answer, asked = answer_from("What is the fee for a plot?", MINUTES, {"90": 0.6, "60": 0.3})
    assert answer == "Decision 31: Decision 7 is rescinded. The yearly fee is 60 euros. [2]"
    assert asked.decisions[0]["why"].endswith("says that it no longer holds")


@pytest.mark.parametrize(
    "new",
    [
        "Decision 31: Decision 7 is rescinded as regards sheds. The yearly fee is 60 euros.",
        "If decision 7 is rescinded, the yearly fee is 60 euros.",
        "Decision 31: Decision 70 is rescinded. The yearly fee is 60 euros.",
        "The motion to rescind decision 7 got 12 votes. The yearly fee would be 60 euros.",
    ],
)
def test_what_is_cancelled_in_part_or_perhaps_or_not_itself_is_quoted(new):
    documents = [MINUTES[0], ("minutes_2024.txt", new)]
    answer, _ = answer_from("What is the fee for a plot?", documents, {"90": 0.6, "60": 0.3})
    assert answer.startswith("Decision 7: The fee for a plot is raised to 90 euros a year.")


def test_another_boards_decision_with_the_same_short_number_stays():
    documents = [("club minutes 2022.txt", OLD_MINUTES), ("choir minutes 2024.txt", NEW_MINUTES)]
    answer, _ = answer_from("What is the fee for a plot?", documents, {"90": 0.6, "60": 0.3})
    assert "90 euros" in answer


def test_a_value_that_another_text_calls_the_former_one_is_replaced():
    documents = [
        ("faq.txt", "A token costs 1.50 euros at the office."),
        ("board 2025.txt", "New prices: token 2.00 euros instead of 1.50, room 60 euros instead of 45."),
    ]
    answer, _ = answer_from("How much is a token?", documents, {"office": 0.5, "New prices": 0.3})
    assert answer == "New prices: token 2.00 euros instead of 1.50, room 60 euros instead of 45. [2]"


def test_a_former_value_of_something_else_replaces_nothing():
    documents = [
        ("faq.txt", "A room costs 1.50 euros at night."),
        ("board 2025.txt", "New prices: token 2.00 euros instead of 1.50, room 60 euros instead of 45."),
    ]
    answer, _ = answer_from("What costs a room?", documents, {"night": 0.5, "New prices": 0.3})
    assert answer.startswith("A room costs 1.50 euros at night.")


def test_of_two_reports_the_newest_value_comes_first_and_the_other_is_marked():
    answers = {"0.85": 0.5, "1.20": 0.4}
    answer, _ = answer_from("How much is the reserve contribution?", REPORTS, answers)
    assert answer == (
        "The reserve contribution is 1.20 euros for each square metre. [2] "
        "Earlier (2022): The reserve contribution is 0.85 euros for each square metre. [1]"
    )
    answer, _ = answer_from("How much is the reserve contribution in 2022?", REPORTS, answers)
    assert "Later (2023): The reserve contribution is 1.20 euros" in answer


def test_reports_on_different_things_are_not_ordered_by_time():
    documents = [
        ("notes 2023.txt", "The budget for the bridge is 40,000 euros."),
        ("notes 2024.txt", "The budget for the tunnel is 90,000 euros."),
    ]
    answer, _ = answer_from("What is the budget?", documents, {"bridge": 0.5, "tunnel": 0.4})
    assert answer.startswith("The budget for the bridge is 40,000 euros. [1]")
    assert "Earlier" not in answer


def test_an_archived_page_gives_way_to_another_that_says_nearly_the_same():
    documents = [
        ("travel-2022.txt", "This page is archived. A hotel costs up to 95 euros for each night."),
        ("trips.txt", "A hotel costs up to 115 euros for each night, and 145 at the coast."),
    ]
    answer, asked = answer_from("How much may a hotel cost?", documents, {"95": 0.5, "115": 0.4})
    assert answer.startswith("A hotel costs up to 115 euros")
    assert "95" not in answer
    assert "it says itself" in asked.decisions[0]["why"]


def test_the_views_of_an_opinion_answer_are_not_compared():
    asked = ask("What do people think?", RULES, {"One dog": 0.5, "two dogs": 0.4}, "opinion")
    assert (asked.scored.scores >= 0).all()
    assert asked.decisions == []


def test_the_newest_version_is_named_where_no_passage_is_from_it():
    passages = [candidate(OLD_RULES, source="House Rules 2021.txt")]
    sources = [
        "House Rules 2021.txt",
        "House Rules 2023.txt",
        "House Rules 2024 final.txt",
        "Fire Rules 2025.txt",
    ]
    texts = {"House Rules 2021.txt": OLD_RULES}

    def found(question, passages=passages, texts=texts):
        return find_newest_versions(question, passages, lambda: sources, lambda name: texts.get(name, ""))

    assert found("How many dogs?") == {"House Rules 2021.txt": "House Rules 2024 final.txt"}
    assert found("How many dogs were there?") == {}
    assert found("How many dogs in 2021?") == {}
    assert found("How many dogs?", texts={}) == {}, "minutes and reports are no versions"
    newest = candidate(NEW_RULES, source="House Rules 2024 final.txt")
    assert found("How many dogs?", [*passages, newest]) == {}
    replaces = {
        "House Rules 2024 final.txt": "House rules. Replaces the rules of 2021. Two dogs may be kept."
    }
    assert found("How many dogs?", texts=replaces) == {"House Rules 2021.txt": "House Rules 2024 final.txt"}


def test_the_beginnings_of_a_long_series_are_not_read():
    read = []
    sources = [f"Minutes {year}.txt" for year in range(1990, 2025)]
    passages = [candidate(OLD_MINUTES, source=source) for source in sources[:4]]
    assert (
        find_newest_versions("What is the fee?", passages, lambda: sources, lambda s: read.append(s) or "")
        == {}
    )
    assert read == sources[:4]


def test_a_question_of_what_holds_now_is_not_about_the_past():
    assert not asks_about_past("How old must a dog be?")
    assert not asks_about_past("The milk was warm for an hour, must we throw it away?")
    assert asks_about_past("What was the fee?")
    assert asks_about_past("Can I see the old rules?")


def test_forms_of_validity():
    assert is_version("Rules of the house\n\nValid from 1 May 2024.")
    assert is_version("# Guide\n\nThis guide replaces the one of 2019.")
    assert is_version("Site rules\n\nReplaces the site rules of April 2019.")
    assert not is_version("Minutes. Ms Lee replaces Mr Holt. The new fee is valid from May.")
    assert cancels("This version was valid until 2023.")
    assert not cancels("The filter is replaced every year.")
    assert find_former_values("The limit is raised from 120 to 140 euros.")[0][1] == "120"
    assert find_former_values("The part measured 61 instead of 80.") == []


@pytest.mark.parametrize("text", ["a" * 100_000, "a 1." * 25_000, "decision 1-" * 9_000, "this " * 20_000])
def test_a_long_text_is_read_in_linear_time(text):
    started = time.perf_counter()
    cancels(text + " rescind")
    find_former_values("now " + text)
    is_version(text)
    assert time.perf_counter() - started < 1
