"""Places for the asker's situation."""

import pytest

from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.rank.situation import is_off_topic, seat_situation
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate

TEXTS = [
    "Know the four alert levels before winter.",
    "Keep a torch and a radio in the hall.",
    "Write the number of the flood desk on the fridge.",
    "Check the gauge every morning.",
    "Farmers move their animals to the high pasture first.",
    "Guests of the hotels are told at breakfast.",
]


def ranked(index: MemoryIndex) -> list[Candidate]:
    [found] = index.search(["flood"], limit=len(TEXTS))
    in_order = sorted(found, key=lambda candidate: candidate["id"])
    return [with_scores(c, relevance=9.0 - rank) for rank, c in enumerate(in_order)]


def texts(candidates: list[Candidate]) -> list[str]:
    return [candidate["text"].split()[0] for candidate in candidates]


def test_the_last_place_goes_to_what_the_situation_calls_for() -> None:
    index = MemoryIndex.from_texts(TEXTS)
    seated = seat_situation(index, "I am a farmer with forty sheep.", ranked(index), 4)
    assert texts(seated)[:4] == ["Know", "Keep", "Write", "Farmers"]
    assert len({candidate["id"] for candidate in seated}) == len(TEXTS)


def test_another_situation_gets_another_passage() -> None:
    index = MemoryIndex.from_texts(TEXTS)
    assert texts(seat_situation(index, "I run a hotel.", ranked(index), 4))[3] == "Guests"


def test_the_first_places_stay_with_the_question_whatever_the_situation() -> None:
    index = MemoryIndex.from_texts(TEXTS)
    before = texts(ranked(index))
    for situation in ("I like jazz.", "I am a farmer.", "?"):
        assert texts(seat_situation(index, situation, ranked(index), 4))[:3] == before[:3]


def test_too_few_places_or_candidates_change_nothing() -> None:
    index = MemoryIndex.from_texts(TEXTS)
    candidates = ranked(index)
    assert seat_situation(index, "I am a farmer.", candidates, 3) == candidates
    assert seat_situation(index, "I am a farmer.", candidates[:3], 4) == candidates[:3]
    assert seat_situation(index, "I am a farmer.", [], 4) == []


@pytest.mark.parametrize(
    ("question", "situation", "off_topic"),
    [
        ("What should be done with animals in a flood?", "I am a farmer with forty sheep.", False),
        ("Where should I look each day?", "I live by the gauge at the river.", False),
        ("What are the alert levels?", "My sister plays the cello and collects old French novels.", True),
    ],
)
def test_a_situation_that_leads_away_from_every_passage_is_off_the_topic(
    question: str, situation: str, off_topic: bool
) -> None:
    index = MemoryIndex.from_texts(TEXTS)
    assert is_off_topic(index, f"{question}\n{situation}", question) is off_topic


def test_nothing_is_off_the_topic_of_an_empty_source() -> None:
    assert not is_off_topic(MemoryIndex.from_texts([]), "a flood in the hills", "a flood")
