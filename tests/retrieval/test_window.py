import pytest

from adaptive_rag.context import make_context
from adaptive_rag.retrieval.window import join_neighbours, keep_window, threshold, window_size, within_budget

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
    assert len(keep_window(ranked, make_context(k=4, window=False), ANALYSIS)[0]) == 4


def test_the_threshold_is_the_mean_less_the_standard_deviation():
    assert threshold([1.0, 3.0]) == pytest.approx(1.0)


def test_one_chunk_is_kept_whatever_it_scores(make):
    kept, _ = keep_window([make("a", fused=0.1)], make_context(k=4), ANALYSIS, cut_at=0.5)
    assert [c["id"] for c in kept] == ["a"]
    assert keep_window([], make_context(k=4), ANALYSIS)[0] == []


def test_the_budget_keeps_the_first_that_fit_and_never_none(make):
    chunks = [make(str(i), "x" * 40) for i in range(3)]  # 10 tokens each
    assert len(within_budget(chunks, 20)) == 2
    assert len(within_budget(chunks, 1)) == 1
    assert len(within_budget(chunks, 5, count=lambda text: 1)) == 3
    kept, decisions = keep_window(chunks, make_context(k=3, window=False), ANALYSIS, token_budget=20)
    assert len(kept) == 2 and "20 tokens" in decisions[-1]["why"]


def test_overlapping_neighbours_become_one_passage_with_their_spans(make):
    text = "The sea wall is high. It was built in 1968. It is long."
    chunks = [
        make("c", text[30:], start=30, fused=0.9),
        make("x", "elsewhere", source="b.txt", fused=0.8),
        make("a", text[:20], fused=0.7),
        make("b", text[15:35], start=15, fused=0.6),
    ]
    joined = join_neighbours(chunks)
    assert [c["id"] for c in joined] == ["c", "x"]
    assert joined[0]["text"] == text
    assert (joined[0]["start"], joined[0]["end"]) == (0, len(text))
    assert joined[0]["metadata"]["spans"] == [[0, 20], [15, 35], [30, len(text)]]
    assert joined[0]["scores"] == {"fused": 0.9}
    assert chunks[0]["metadata"] == {}  # the caller's chunks are untouched


def test_chunks_apart_or_not_plain_text_of_their_span_stay(make):
    apart = [make("a", "one", start=0), make("b", "two", start=9)]
    assert join_neighbours(apart) == apart
    changed = [make("a", "one two"), {**make("b", "two three", start=4), "end": 50}]
    assert join_neighbours(changed) == changed
