import pytest

from adaptive_rag.answer.speaker import speaker_of
from adaptive_rag.answer.stance import misplaced, side_of
from tests.answer.made import candidate

TEXT = (
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
    assert speaker_of(candidate(TEXT), TEXT.index(sentence), sentence) == speaker


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


@pytest.mark.parametrize(
    ("label", "side"),
    [
        ("benefits and arguments for", "for"),
        ("risks and arguments against", "against"),
        ("who is affected and how", None),
        ("supporters of risk regulation", "for"),
        ("critics of the benefit system", "against"),
    ],
)
def test_the_first_word_that_takes_sides_decides(label, side):
    assert side_of(label) == side


def test_praise_under_risks_is_further_out_of_place_than_a_fact_under_benefits():
    assert misplaced("against", "It improves safety.") > misplaced("for", "The wall is of stone.") > 0
    assert misplaced("against", "It harms the marsh.") == misplaced("for", "It improves safety.") == 0
