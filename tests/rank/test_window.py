"""How many passages are read, and which places are kept for the user's situation."""

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.rank.rerank import reserve_for_context
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate

ANALYSIS = {"complexity": "intermediate", "domain_relevance": 0.5}


@pytest.mark.parametrize(
    ("profile", "complexity", "relevance", "size"),
    [
        ("conservative", "intermediate", 0.5, 3),
        ("balanced", "advanced", 0.9, 7),  # 5 x 1.3 x 1.1 = 7.15
        ("aggressive", "basic", 0.1, 4),  # 8 x 0.8 x 0.7 = 4.48
        ("conservative", "basic", 0.1, 2),  # 3 x 0.8 x 0.7 = 1.68
    ],
)
def test_the_window_follows_profile_complexity_and_domain(profile, complexity, relevance, size):
    analysis = {"complexity": complexity, "domain_relevance": relevance}
    assert window_size(make_context(profile=profile), analysis)[0] == size


def test_without_a_profile_k_decides():
    assert window_size(make_context(k=7), ANALYSIS)[0] == 7


def test_chunks_far_below_the_others_are_dropped(make):
    ranked = [make(str(i), fused=score) for i, score in enumerate([0.9, 0.85, 0.8, 0.1])]
    kept, decisions = keep_window(ranked, make_context(k=4), ANALYSIS)
    assert [c["id"] for c in kept] == ["0", "1", "2"]
    assert "score under" in decisions[1]["why"]
    assert len(keep_window(ranked, make_context(k=4, without="window"), ANALYSIS)[0]) == 4


def test_the_threshold_is_the_mean_less_the_standard_deviation():
    assert threshold([1.0, 3.0]) == pytest.approx(1.0)


def test_one_chunk_is_kept_whatever_it_scores(make):
    kept, _ = keep_window([make("a", fused=0.1)], make_context(k=4), ANALYSIS, cut_at=0.5)
    assert [c["id"] for c in kept] == ["a"]
    assert keep_window([], make_context(k=4), ANALYSIS)[0] == []


def test_the_threshold_may_be_taken_from_more_than_is_shown(make):
    ranked = [make(str(i), relevance=score) for i, score in enumerate([9.0, 8.0, 7.0, 6.0])]
    kept, decisions = keep_window(ranked, make_context(k=4), ANALYSIS, cut_at=7.5)
    assert [c["id"] for c in kept] == ["0", "1"]
    assert [decision["chosen"] for decision in decisions] == [4, 2]


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
    ordered = reserve_for_context(index, "I am a farmer with forty sheep.", ranked(index), 4)
    assert texts(ordered)[:4] == ["Know", "Keep", "Write", "Farmers"]
    assert len({candidate["id"] for candidate in ordered}) == len(TEXTS)


def test_another_situation_gets_another_passage() -> None:
    index = MemoryIndex.from_texts(TEXTS)
    assert texts(reserve_for_context(index, "I run a hotel.", ranked(index), 4))[3] == "Guests"


def test_the_first_places_stay_with_the_question_whatever_the_situation() -> None:
    index = MemoryIndex.from_texts(TEXTS)
    before = texts(ranked(index))
    for situation in ("I like jazz.", "I am a farmer.", "?"):
        assert texts(reserve_for_context(index, situation, ranked(index), 4))[:3] == before[:3]


def test_too_few_places_or_candidates_change_nothing() -> None:
    index = MemoryIndex.from_texts(TEXTS)
    candidates = ranked(index)
    assert reserve_for_context(index, "I am a farmer.", candidates, 3) == candidates
    assert reserve_for_context(index, "I am a farmer.", candidates[:3], 4) == candidates[:3]
    assert reserve_for_context(index, "I am a farmer.", [], 4) == []
