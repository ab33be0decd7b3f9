"""Whose view it is, and under which head it stands."""

import numpy as np
import pytest

from adaptive_rag.answer.compose import extract_answer
from adaptive_rag.answer.request import AGAINST, FOR
from adaptive_rag.answer.score import blend_sides
from adaptive_rag.answer.styles import OPINION_STYLE
from adaptive_rag.answer.views import ONE_SIDED
from adaptive_rag.text.phrases import english
from tests.answer.made import ScriptedReader, candidate, request

DEBATE = candidate(
    "Ann Reed: I am glad of the night ferry. It brings nurses home.\n\n"
    "Bo Lund: The night ferry wakes the whole quay. I would stop it.\n\n"
    "Cy Marsh: I have no opinion on the ferry. The timetable hangs at the pier."
)
SIDES = {"glad": "for", "nurses": "for", "wakes": "against", "stop it": "against"}
CHANCES = {"glad": 0.2, "wakes": 0.2, "opinion": 0.2, "nurses": 0.1, "stop it": 0.1}
FERRY = "What do people think of the night ferry?"


@pytest.fixture(autouse=True)
def toneless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no sentence praise or blame, so that the scripted reader alone tells the sides."""

    def none(question, documents, sentences):
        return [np.zeros(len(held.spans)) for held in sentences]

    monkeypatch.setattr("adaptive_rag.answer.request.agreements", none)


def answer(question: str, document=DEBATE, sides=SIDES, **more):
    reader = ScriptedReader(CHANCES, sides=sides)
    return extract_answer(request(question, [document], reader=reader, style=OPINION_STYLE, **more)).text


def test_each_side_has_its_views_and_all_speakers_are_counted() -> None:
    text = answer(FERRY)
    opening, neither, supporting, opposing = text.split("\n\n")
    assert opening == "Of the 3 speakers, 1 is for it, 1 is against it and 1 takes no clear side."
    assert supporting.startswith("**Benefits and arguments for**\n- Ann Reed: “I am glad")
    assert opposing.startswith("**Risks and arguments against**\n- Bo Lund: “The night ferry wakes")
    assert neither.startswith("- Cy Marsh: “I have no opinion")


def test_what_a_speaker_says_stands_on_the_side_that_they_clearly_take() -> None:
    text = answer(FERRY, sides={"stop it": "against"})
    assert text.startswith("Of the 3 speakers, 1 is against it and 2 take no clear side.")
    assert text.index("Cy Marsh") < text.index("**Risks") < text.index("Bo Lund: “The night ferry wakes")


def test_where_nobody_takes_a_clear_side_their_views_stand_under_no_head() -> None:
    text = answer(FERRY, sides={})
    assert text.startswith("Of the 3 speakers, none takes a clear side.")
    assert "**" not in text and "Ann Reed" in text and "Bo Lund" in text


def test_the_reader_and_the_tone_tell_a_side_together() -> None:
    read = np.array([[0.1, 0.7, 0.2]])
    praised, plain, blamed = (blend_sides(read, np.array([lean]))[0] for lean in (0.3, 0.0, -0.3))
    assert praised[FOR] > plain[FOR] > blamed[FOR] > blamed[AGAINST]
    assert praised.sum() == pytest.approx(1.0)


def test_who_asks_for_one_side_gets_that_one() -> None:
    text = answer("What are the arguments against the night ferry?")
    assert "Bo Lund" in text and "Ann Reed: “" not in text


def test_where_no_sentence_takes_a_side_what_answers_is_quoted_without_heads() -> None:
    plain = candidate("The night ferry runs at ten. The night ferry makes people glad.")
    text = answer(FERRY, plain, sides={})
    assert "**" not in text and "glad" in text


def test_one_sided_documents_are_said_to_be_so() -> None:
    praise = candidate("A night ferry saves lives. A night ferry makes the islanders glad of it.")
    text = answer(FERRY, praise, {"saves": "for", "glad": "for"}, missing_side="against")
    assert text.startswith(english()[ONE_SIDED["against"]])


@pytest.mark.parametrize("times", [3, 30])
def test_an_answer_of_views_has_a_bounded_number_of_words(times: int) -> None:
    views = candidate(" ".join(f"The ferry number {n} wakes the quay with noise." for n in range(times)))
    sides = {"wakes": "against"}
    text = answer(FERRY, views, sides)
    assert 0 < len(text.split()) < OPINION_STYLE.words + 30


def test_a_speaker_is_quoted_with_what_belongs_to_it_and_only_on_the_matter() -> None:
    survey = (
        '> "The fast walks have become a race. I no longer dare to come." – Elke\n>\n'
        '> "Finally walks with speed! Please keep it up." – Dario\n>\n'
        '> "The hut is the best of this club." – Tobias\n'
    )
    chances = {"become a race": 0.5, "keep it up": 0.3, "hut": 0.001}
    said = extract_answer(
        request("What is said of the fast walks?", [candidate(survey)], chances, style=OPINION_STYLE)
    )
    assert "Elke: “The fast walks have become a race. I no longer dare to come.” [1]" in said.text
    assert "Dario: “Finally walks with speed! Please keep it up.” [1]" in said.text
    assert "Tobias" not in said.text and ">" not in said.text


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
