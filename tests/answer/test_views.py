"""Whose view it is, and under which head it stands."""

import numpy as np
import pytest

from adaptive_rag.answer.compose import extract_answer
from adaptive_rag.answer.styles import OPINION_STYLE
from adaptive_rag.answer.views import ONE_SIDED
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
    opening, supporting, opposing = text.split("\n\n")
    assert opening == "Of 3 speakers that were read, 1 is for it, 1 is against it and 1 is undecided."
    assert supporting.startswith("**Benefits and arguments for**\n- Ann Reed: “I am glad")
    assert opposing.startswith("**Risks and arguments against**\n- Bo Lund: “The night ferry wakes")
    assert "no opinion" not in text


def test_who_asks_for_one_side_gets_that_one() -> None:
    text = answer("What are the arguments against the night ferry?")
    assert "Bo Lund" in text and "Ann Reed: “" not in text


def test_where_no_sentence_takes_a_side_what_answers_is_quoted_without_heads() -> None:
    text = answer(FERRY, sides={})
    assert "**" not in text and "glad" in text


def test_one_sided_documents_are_said_to_be_so() -> None:
    praise = candidate("A night ferry saves lives. A night ferry makes the islanders glad of it.")
    text = answer(FERRY, praise, {"saves": "for", "glad": "for"}, missing="against")
    assert text.startswith(ONE_SIDED["against"])


@pytest.mark.parametrize("times", [3, 30])
def test_an_answer_of_views_has_a_bounded_number_of_words(times: int) -> None:
    views = candidate(" ".join(f"The ferry number {n} wakes the quay with noise." for n in range(times)))
    sides = {"wakes": "against"}
    text = answer(FERRY, views, sides)
    assert 0 < len(text.split()) < OPINION_STYLE.words + 30
