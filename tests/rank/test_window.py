import pytest

from adaptive_rag.context import make_context
from adaptive_rag.rank.window import keep_window, threshold, window_size

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
