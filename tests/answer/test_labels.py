"""Names that end in a number, a letter, a code or a date."""

import time

import pytest

from adaptive_rag.answer.labels import Label, find_mentions, write_dates_as
from adaptive_rag.answer.subjects import read_names


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How loud is the Tarn 20?", "Tarn 20"),
        ("when will house b be painted", "house b"),
        ("what does E99 mean", "E99"),
        ("what was the outage on 3 march 2024", "outage on 3 march 2024"),
        ("Who wrote the letter of May 2nd?", "letter of May 2nd"),
    ],
)
def test_a_question_names_a_thing_by_a_label(question: str, name: str) -> None:
    assert [names.text for names in read_names(question)] == [name]


@pytest.mark.parametrize(
    "question",
    ["I have worked for 4 years", "for 3 people", "a 70 year old", "within 10 km", "is 1 kg of 3,000 much",
     "in 2 weeks at 10:30", "am I open on 3 March", "a fine of 5%", "is it hot"],
)  # fmt: skip
def test_quantities_and_times_are_no_names(question: str) -> None:
    assert [names.text for names in read_names(question) if names.kind != "date"] == []


@pytest.mark.parametrize(
    ("text", "included", "left_out"),
    [
        ("In Houses A to D it is old.", "B", "E"),
        ("House A to House E, 140 flats", "D", "F"),
        ("Grades 3-5 and 8 count.", "4", "7"),
        ("from version 4.1 on", "6", ""),
        ("level 3 or higher", "9", ""),
        ("Class 7 swims.", "7b", "8"),
        ("Code E05 is rare.", "e5", "E50"),
        ("Lines E10 to E19 are sensors.", "E14", "E20"),
        ("version 4.1.3 is out", "4.1", "4.2"),
    ],
)
def test_a_mention_includes_what_its_labels_and_ranges_cover(text, included, left_out) -> None:
    mentions = [mention for mention in find_mentions(text) if mention.kind == Label(included).kind]
    assert any(mention.includes(Label(included)) for mention in mentions)
    assert not left_out or not any(mention.includes(Label(left_out)) for mention in mentions)


def test_a_date_without_its_year_matches_that_of_any_year() -> None:
    [mention] = find_mentions("the outage of 11 February 2025")
    assert mention.word == "outag"
    asked = [
        read_names(f"outage {when}")[0] for when in ("on 11 february", "of 2025-02-11", "on 11 May 2025")
    ]
    assert [mention.includes(names.labels[0]) for names in asked] == [True, True, False]


@pytest.mark.parametrize("text", ["House A, ", "E1-", "a1", "1.", "12 and ", "march 3 ", "A "])
def test_long_lists_of_labels_are_read_in_linear_time(text: str) -> None:
    started = time.process_time()
    find_mentions(text * (50_000 // len(text)))
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("question", "written"),
    [
        ("who leads on sat 7 sept?", "who leads on sat 2024-09-07?"),
        ("what was said on March 3, 2024", "what was said on 03.03.2024"),
        ("from 3 March to the 7th of September", "from 03.03.2024 to the 2024-09-07"),
        ("who leads on 8 sept?", "who leads on 8 sept?"),
        ("who leads on 7 September 2025?", "who leads on 7 September 2025?"),
    ],
)
def test_a_question_gets_the_dates_of_the_texts_that_write_them_in_numbers(question, written) -> None:
    assert (
        write_dates_as(question, ["2024-09-07 Shaw", "On 03.03.2024 nobody came. 1.2.3 is no date."])
        == written
    )
