"""Who speaks in a passage, as its text marks it."""

import pytest

from adaptive_rag.answer.contributions import Contributions
from adaptive_rag.answer.speakers import (
    asked_group,
    asked_speakers,
    message_speaker,
    reported_speaker,
    roles_of,
    without_label,
)
from tests.answer.made import candidate


def speaker_of(passage, start, sentence):
    return Contributions(passage).speaker_at(start, sentence)


VOICES = (
    "## Dr Amrita Solanki, engineer\n\nI recommend it.\n\n"
    "## Ruth Pascall\n\nI am against it.\n\n## Notes\n\nWe met."
)


@pytest.mark.parametrize(
    ("sentence", "speaker"),
    [
        ("I recommend it.", "Dr Amrita Solanki, engineer"),
        ("I am against it.", "Ruth Pascall"),
        ("We met.", None),
    ],
)
def test_the_nearest_heading_names_the_speaker(sentence, speaker):
    assert speaker_of(candidate(VOICES), VOICES.index(sentence), sentence) == speaker


def test_a_section_that_began_before_the_chunk_names_the_speaker():
    document = candidate("I say no.", start=300) | {"section": "Debate > Ruth Pascall, farmer"}

    assert speaker_of(document, 300, "I say no.") == "Ruth Pascall, farmer"


def test_words_before_the_heading_are_not_put_in_its_mouth():
    text = "I say no.\n\nRuth Pascall, farmer\n\nI say yes."
    document = candidate(text) | {"section": "Debate > Ruth Pascall, farmer"}

    assert speaker_of(document, 0, "I say no.") is None
    assert speaker_of(document, text.index("I say yes."), "I say yes.") == "Ruth Pascall, farmer"


def test_a_plain_statement_needs_no_speaker():
    document = candidate("It rains.") | {"section": "Ruth Pascall, farmer"}

    assert speaker_of(document, 0, "It rains.") is None


DEBATE = (
    "**Nadia Petrov (Living Streets):** I am for it. The air gets better.\n\n"
    "**Gordon Haye:** A third of our customers come by car.\n\nThe meeting ended at nine."
)
INTERVIEW = "Ana: I keep bees. They sting.\nBen: How many?\nAna: Two hives.\nPrice: 40 pounds."
LETTERS = (
    "Sir, - I am glad that homework is gone. It widened the gap.\nMargaret Dunne, teacher\n\n"
    "Dear editor, we did without.\n\nMy son reads again.\n\nSamira Khalil\n\nThe school is in Mill Road."
)
# The chunk begins within a letter.
CUT = "The traders were against it.\nDr Leo Strand, Marling\n\nSir,\nI drive the bus.\nDean Fairlie, Marling"


@pytest.mark.parametrize(
    ("text", "sentence", "speaker"),
    [
        (DEBATE, "The air gets better.", "Nadia Petrov (Living Streets)"),
        (DEBATE, "A third of our customers come by car.", "Gordon Haye"),
        (DEBATE, "The meeting ended at nine.", None),
        (INTERVIEW, "They sting.", "Ana"),
        (INTERVIEW, "40 pounds.", None),
        (LETTERS, "It widened the gap.", "Margaret Dunne, teacher"),
        (LETTERS, "we did without.", "Samira Khalil"),
        (LETTERS, "My son reads again.", "Samira Khalil"),
        (LETTERS, "The school is in Mill Road.", None),
        ("The Warning: I never said so.", "I never said so.", None),
        (CUT, "The traders were against it.", "Dr Leo Strand, Marling"),
        ("Otterby Bees, founded 1921. Address: Gasworks Lane.", "Address: Gasworks Lane.", None),
    ],
)
def test_a_label_or_a_signature_names_the_speaker(text, sentence, speaker):
    assert speaker_of(candidate(text), text.index(sentence), sentence) == speaker


def test_a_heading_is_no_speaker_where_only_we_is_said():
    text = "## Machine Learning\n\nIt changes how we live."

    assert speaker_of(candidate(text), text.index("It"), "It changes how we live.") is None


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("Cllr Birk said that the parish should not borrow.", "Cllr Birk"),
        ("In the end Mr Alan Teague, who lives at no. 5, objected to it.", "Mr Alan Teague"),
        ("The report says that the wall is old.", None),
        ("Netherby grew.", None),
    ],
)
def test_who_is_said_to_have_said_it_is_known(text, speaker):
    assert reported_speaker(text) == speaker


def test_a_sentence_is_shown_without_its_label_or_salutation():
    assert without_label("**Nadia Petrov:** I am for it.") == "I am for it."
    assert without_label("Sir, - I am glad.") == "I am glad."
    assert without_label("The wall: it is old.") == "The wall: it is old."


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What does Dr. Sehgal say?", {"Dr. Ravi Sehgal (physician)"}),
        ("what does ana think of bees", {"Ana"}),
        ("What do doctors say?", set()),
    ],
)
def test_the_speakers_whom_a_question_names_are_found(question, named):
    assert asked_speakers(question, ["Dr. Ravi Sehgal (physician)", "Ana"]) == named


def test_who_answers_speaks_in_a_question_with_its_answer():
    assert message_speaker("Ana: “Are you sad?” Frank: “No. It goes on.”") == "Frank"
    assert message_speaker("Leila (13:31): “marketing says yes”") == "Leila"
    assert message_speaker("The sign says “No”.") is None


@pytest.mark.parametrize(
    ("question", "group"),
    [
        ("What do the children themselves think of homework?", "children"),
        ("what do shop and cafe owners say about it", "shop and cafe owners"),
        ("What do most people think of homework?", None),
        ("What do they want?", None),
        ("Is homework good?", None),
    ],
)
def test_the_group_whose_views_are_asked_for_is_found(question, group):
    assert asked_group(question) == group


def test_what_a_speaker_is_stands_in_the_label_or_in_what_they_say_of_themselves():
    assert roles_of("Prof. Elias Brandt, Institute of Education", "It rains.") == [
        "Prof.",
        "Institute of Education",
    ]
    assert roles_of("Dorothy Pike", "Sir, - As a grandmother of three, I regret it.") == [
        "As a grandmother of three"
    ]
    assert roles_of("Ana", "It rains.") == []
