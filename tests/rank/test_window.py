"""How many passages are read, and which places are kept for the user's situation."""

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.nodes.rerank import reserve_for_context
from adaptive_rag.rank.window import READING, ReadingBudget, choose_window, fitting_size, given_size
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate
from adaptive_rag.text.phrases import decide, say
from tests.nodes.made import ADVICE


def analysed(complexity="intermediate", relevance=0.5, confidence=0.9):
    return {"complexity": complexity, "domain_relevance": relevance, "confidence": confidence}


@pytest.mark.parametrize(
    ("profile", "complexity", "relevance", "size"),
    [
        ("conservative", "intermediate", 0.5, 3),
        ("balanced", "intermediate", 0.5, 5),
        ("balanced", "basic", 0.5, 4),  # 5 x 0.8
        ("balanced", "advanced", 0.9, 7),  # 7 x 1.1 = 7.7, rounded down
        ("balanced", "intermediate", 0.2, 3),  # 5 x 0.7 = 3.5, rounded down
        ("balanced", "intermediate", 0.8, 5),  # not above 0.8
        ("balanced", "intermediate", 0.3, 5),  # not below 0.3
        ("conservative", "basic", 0.1, 1),  # 2.4 is 2, and 2 x 0.7 = 1.4
        ("aggressive", "basic", 0.1, 4),  # 6.4 is 6, and 6 x 0.7 = 4.2
    ],
)
def test_the_window_follows_profile_complexity_and_domain(profile, complexity, relevance, size):
    found = given_size(make_context(profile=profile), analysed(complexity, relevance))
    assert found is not None and found[0] == size
    assert profile in found[1]["text"] and complexity in found[1]["text"]


@pytest.mark.parametrize(("profile", "size"), [("conservative", 5), ("balanced", 8), ("aggressive", 8)])
def test_a_low_confidence_widens_the_window_by_one_step(profile, size):
    context = make_context(profile=profile, routing={"low_confidence": 0.5})
    assert given_size(context, analysed(confidence=0.49))[0] == size
    assert given_size(context, analysed(confidence=0.5)) == given_size(
        make_context(profile=profile), analysed(confidence=0.1)
    )


def test_k_goes_before_a_profile_and_a_profile_before_the_budget():
    assert given_size(make_context(k=7, profile="balanced"), analysed()) == (7, say("given_k"))
    assert given_size(make_context(), analysed()) is None


def passages(make, *lengths):
    return [make(str(i), "x" * length, relevance=9.0 - i) for i, length in enumerate(lengths)]


@pytest.mark.parametrize(
    ("lengths", "size"),
    [
        ([1000] * 20, 4),  # 250 tokens each
        ([80] * 40, 12),  # the most
        ([4000] * 20, 3),  # the least, though the first alone fills the budget
        ([4000] * 2, 2),  # no more were found
        ([3600, 100, 100, 4000, 100], 3),  # the best that fit, none is passed over
        ([], 0),
    ],
)
def test_short_passages_are_read_in_numbers_and_long_ones_few(make, lengths, size):
    budget = ReadingBudget(tokens=1000, least=3, most=12)
    assert fitting_size(passages(make, *lengths), budget)[0] == size


def test_what_is_read_despite_the_budget_is_told(make):
    assert fitting_size(passages(make, *[4000] * 9), READING)[1]["text"].startswith("the least that is read")
    assert "1000 tokens" in fitting_size(passages(make, *[1000] * 9), READING)[1]["text"]


def test_chunks_far_below_the_others_are_dropped(make):
    ranked = [make(str(i), fused=score) for i, score in enumerate([0.9, 0.85, 0.8, 0.1])]
    window = choose_window(make_context(), analysed(), ranked, READING)
    kept, decisions = window.keep(window.candidates)
    assert [c["id"] for c in kept] == ["0", "1", "2"]
    assert [decision["chosen"] for decision in decisions] == [4, 3]
    assert "score under 0.336" in decisions[1]["why"]  # the mean less the standard deviation


@pytest.mark.parametrize(
    ("settings", "by_strategy", "kept"),
    [
        ({}, True, 3),
        ({}, False, 4),
        ({"profile": "aggressive"}, False, 3),
        ({"k": 4}, True, 4),
        ({"without": "window"}, True, 4),
        ({"profile": "aggressive", "without": "window"}, True, 4),
    ],
)
def test_a_profile_or_the_strategys_own_budget_drops_chunks_and_k_drops_none(
    make, settings, by_strategy, kept
):
    ranked = [make(str(i), fused=score) for i, score in enumerate([0.9, 0.85, 0.8, 0.1])]
    budget = ReadingBudget(drops_weak=by_strategy)
    assert len(choose_window(make_context(settings), analysed(), ranked, budget).candidates) == kept


@pytest.mark.parametrize("scores", [[0.1], [0.1] * 3, [0.7] * 7])
def test_equal_scores_are_all_kept(make, scores):
    ranked = [make(str(i), fused=score) for i, score in enumerate(scores)]
    assert choose_window(make_context(), analysed(), ranked, READING).candidates == ranked


def test_the_trace_counts_what_was_found_where_that_is_less_than_k(make):
    ranked = passages(make, 10, 10)
    window = choose_window(make_context(k=5), analysed(), ranked, READING)
    kept, [decision] = window.keep(window.candidates)
    assert (len(kept), decision) == (2, decide("window", 2, say("given_k"), say("no_more_found")))
    assert decision["why"] == "k; no more were found"


@pytest.fixture(scope="module")
def index() -> MemoryIndex:
    return MemoryIndex.from_texts(ADVICE)


def ranked(index: MemoryIndex) -> list[Candidate]:
    [found] = index.search(["flood"], limit=len(ADVICE))
    in_order = sorted(found, key=lambda candidate: candidate["id"])
    return [with_scores(c, relevance=9.0 - rank) for rank, c in enumerate(in_order)]


def texts(candidates: list[Candidate]) -> list[str]:
    return [candidate["text"].split()[0] for candidate in candidates]


def test_the_last_place_goes_to_what_the_situation_calls_for(index: MemoryIndex) -> None:
    ordered = reserve_for_context(index, "I am a farmer with forty sheep.", ranked(index), 4)
    assert texts(ordered)[:4] == ["Know", "Keep", "Write", "Farmers"]
    assert len({candidate["id"] for candidate in ordered}) == len(ADVICE)
    assert texts(reserve_for_context(index, "I run a hotel.", ranked(index), 4))[3] == "Guests"


def test_the_first_places_stay_with_the_question_whatever_the_situation(index: MemoryIndex) -> None:
    before = texts(ranked(index))
    for situation in ("I like jazz.", "I am a farmer.", "?"):
        assert texts(reserve_for_context(index, situation, ranked(index), 4))[:3] == before[:3]


def test_too_few_places_or_candidates_change_nothing(index: MemoryIndex) -> None:
    candidates = ranked(index)
    assert reserve_for_context(index, "I am a farmer.", candidates, 3) == candidates
    assert reserve_for_context(index, "I am a farmer.", candidates[:3], 4) == candidates[:3]
    assert reserve_for_context(index, "I am a farmer.", [], 4) == []
