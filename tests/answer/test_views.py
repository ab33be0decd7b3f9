"""Whose view it is, and under which head it stands."""

from dataclasses import replace

import numpy as np
import pytest

from adaptive_rag.answer.compose import extract_answer
from adaptive_rag.answer.request import AGAINST, FOR
from adaptive_rag.answer.score import blend_sides
from adaptive_rag.answer.styles import OPINION_STYLE
from adaptive_rag.answer.views import ONE_SIDED
from adaptive_rag.text.phrases import english
from tests.answer.made import ScriptedReader, candidate, request

pytestmark = pytest.mark.usefixtures("toneless")
DEBATE = candidate(
    "Ann Reed: I am glad of the night ferry. It brings nurses home.\n\n"
    "Bo Lund: The night ferry wakes the whole quay. I would stop it.\n\n"
    "Cy Marsh: I have no opinion on the ferry. The timetable hangs at the pier."
)
SIDES = {"glad": "for", "nurses": "for", "wakes": "against", "stop it": "against"}
CHANCES = {"glad": 0.2, "wakes": 0.2, "opinion": 0.2, "nurses": 0.1, "stop it": 0.1}
FERRY = "What do people think of the night ferry?"


def answer(question: str, *documents, chances=CHANCES, sides=SIDES, style=OPINION_STYLE, **more):
    reader = ScriptedReader(chances, sides=sides)
    asked = request(question, documents or [DEBATE], reader=reader, style=style, **more)
    return extract_answer(asked).text


def test_each_side_has_its_views() -> None:
    neither, supporting, opposing = answer(FERRY).split("\n\n")
    assert supporting.startswith("**Benefits and arguments for**\n- Ann Reed: “I am glad")
    assert opposing.startswith("**Risks and arguments against**\n- Bo Lund: “The night ferry wakes")
    assert neither.startswith("- Cy Marsh: “I have no opinion")


def test_what_probably_takes_a_side_stands_under_no_heading() -> None:
    text = answer(FERRY, sides={"glad": "leans for", "wakes": "leans against"})
    assert "**" not in text and "Ann Reed" in text and "Bo Lund" in text


def test_the_reader_and_the_tone_tell_a_side_together() -> None:
    read = np.array([[0.1, 0.7, 0.2]])
    praised, plain, blamed = (blend_sides(read, np.array([lean]))[0] for lean in (0.3, 0.0, -0.3))
    assert praised[FOR] > plain[FOR] > blamed[FOR] > blamed[AGAINST]
    assert praised.sum() == pytest.approx(1.0)


def test_who_asks_for_one_side_gets_that_one() -> None:
    text = answer("What are the arguments against the night ferry?")
    assert "Bo Lund" in text and "Ann Reed: “" not in text


def test_who_asks_for_one_side_gets_the_likeliest_if_none_is_clear() -> None:
    sides = {"wakes": "leans against", "opinion": "leans for"}
    text = answer("What are the arguments against the night ferry?", sides=sides)
    assert "Bo Lund: “The night ferry wakes" in text and "Cy Marsh" not in text


def test_a_speaker_is_quoted_with_what_they_think_rather_than_with_a_fact() -> None:
    speech = candidate(
        "Ann Reed: The night ferry costs 900 pounds. I think the night ferry is worth it.\n\n"
        "Bo Lund: The night ferry is late. The night ferry runs at ten because the tide is high."
    )
    chances = {"900": 0.2, "worth": 0.1, "late": 0.2, "tide": 0.1}
    style = replace(OPINION_STYLE, extent="sentence")
    assert answer(FERRY, speech, chances=chances, sides={}, style=style) == (
        "- Ann Reed: “I think the night ferry is worth it.” [1]\n"
        "- Bo Lund: “The night ferry runs at ten because the tide is high.” [1]"
    )


def test_headings_values_and_bare_assent_are_no_views() -> None:
    chat = candidate(
        "[10:00] Ann: the night ferry is a joy to me\n[10:01] Bo: me too\n[10:02] Ann: it saves the day\n"
        "[10:03] Bo: the night ferry wakes the quay, I hate it\n"
    )
    plain = candidate("Night ferry: The rules\n\nNight ferry: 9 pounds\n\nI would not stop the night ferry.")
    chances = {"joy": 0.3, "me too": 0.2, "wakes": 0.2, "rules": 0.4, "9 pounds": 0.3, "not stop": 0.2}
    text = answer(FERRY, chat, plain, chances=chances, sides={"joy": "for", "wakes": "against"})
    assert "joy" in text and "wakes" in text
    assert not any(words in text for words in ("me too", "rules", "9 pounds"))


def test_what_a_speaker_answers_to_is_not_quoted_as_theirs() -> None:
    reply = candidate(
        "> The night ferry is slow.\n\nIt is slow, but I think it is worth it.",
        source="reply.eml",
        metadata={"from": "Bo Lund", "subject": "Night ferry"},
    )
    chances = {"worth": 0.4, "glad": 0.2}
    text = answer(FERRY, reply, DEBATE, chances=chances, sides={})
    assert "Bo Lund: “It is slow, but I think it is worth it.” [1]" in text


def test_where_no_sentence_takes_a_side_what_answers_is_quoted_without_heads() -> None:
    plain = candidate("The night ferry runs at ten. The night ferry makes people glad.")
    text = answer(FERRY, plain, sides={})
    assert "**" not in text and "glad" in text


def test_one_sided_documents_are_said_to_be_so() -> None:
    praise = candidate("A night ferry saves lives. A night ferry makes the islanders glad of it.")
    text = answer(FERRY, praise, sides={"saves": "for", "glad": "for"}, missing_side="against")
    assert text.startswith(english()[ONE_SIDED["against"]])


@pytest.mark.parametrize("times", [3, 30])
def test_an_answer_of_views_has_a_bounded_number_of_words(times: int) -> None:
    views = candidate(" ".join(f"The ferry number {n} wakes the quay with noise." for n in range(times)))
    text = answer(FERRY, views, sides={"wakes": "against"})
    assert 0 < len(text.split()) < OPINION_STYLE.words + 30


def test_a_speaker_is_quoted_with_what_belongs_to_it_and_only_on_the_matter() -> None:
    survey = (
        '> "The fast walks have become a race. I no longer dare to come." – Elke\n>\n'
        '> "Finally walks with speed! Please keep it up." – Dario\n>\n'
        '> "The hut is the best of this club." – Tobias\n'
    )
    chances = {"become a race": 0.5, "keep it up": 0.3, "hut": 0.001}
    text = answer("What is said of the fast walks?", candidate(survey), chances=chances, sides={})
    assert "Elke: “The fast walks have become a race. I no longer dare to come.” [1]" in text
    assert "Dario: “Finally walks with speed! Please keep it up.” [1]" in text
    assert "Tobias" not in text and ">" not in text


def test_the_tasks_in_a_list_are_nobodys_words() -> None:
    minutes = "Actions\n- Ann Lee: decision on phones, by May\n- Tom Ray: order shade sail, by June\n"
    asked = request(
        "What do they think of phones?", [candidate(minutes)], {"phones": 0.9}, style=OPINION_STYLE
    )
    assert not any(asked.speakers)


def test_speakers_are_named_whose_words_have_no_full_stop() -> None:
    text = "Anna Smith: I oppose the ban, it hurts my shop\n\nBen Jones: I support the ban, we need clean air"
    assert request("What do people think of the ban?", [candidate(text)]).speakers == [
        "Anna Smith",
        "Ben Jones",
    ]
