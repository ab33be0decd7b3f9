import pytest

from adaptive_rag.context import make_context
from adaptive_rag.ingest.chunking import page_in_chunk
from adaptive_rag.rank.window import (
    join_neighbours,
    keep_window,
    read_passages,
    threshold,
    window_size,
    within_budget,
)

ANALYSIS = {"complexity": "intermediate", "domain_relevance": 0.5}
TEXT = "The sea wall is high. It was built in 1968. It is long."


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


def test_a_script_of_several_bytes_a_letter_counts_more_tokens(make):
    latin, chinese = ([make(str(i), letter * 40) for i in range(3)] for letter in "x海")
    assert (len(within_budget(latin, 30)), len(within_budget(chinese, 30))) == (3, 1)


def test_what_does_not_fit_is_not_read_and_the_trace_says_so(make):
    chunks = [make(str(i), "x" * 240, source=f"{i}.txt") for i in range(3)]  # 60 tokens each
    assert read_passages(chunks, make_context()) == (chunks, [])
    passages, [decision] = read_passages(chunks, make_context(context_tokens=150))
    assert passages == chunks[:2]
    assert decision == {"what": "window", "chosen": 2, "why": "more would exceed 150 tokens"}


def test_overlapping_neighbours_become_one_passage_with_their_spans(make):
    chunks = [
        make("c", TEXT[30:], start=30, fused=0.9),
        make("x", "elsewhere", source="b.txt", fused=0.8),
        make("a", TEXT[:20], fused=0.7, relevance=3.0),
        make("b", TEXT[15:35], start=15, fused=0.6, relevance=4.0),
    ]
    passage, other = join_neighbours(chunks)
    assert passage["text"] == TEXT
    assert (passage["id"], passage["start"], passage["end"]) == ("c", 0, len(TEXT))
    assert passage["scores"] == {"fused": 0.9, "relevance": 4.0}
    assert [(part["id"], part["rank"]) for part in passage["parts"]] == [("a", 3), ("b", 4), ("c", 1)]
    assert [(part["start"], part["end"]) for part in passage["parts"]] == [(0, 20), (15, 35), (30, len(TEXT))]
    assert other is chunks[1]
    assert all(
        "parts" not in chunk and chunk["metadata"] == {} for chunk in chunks
    )  # the caller's are untouched


def test_joined_chunks_are_told_in_the_trace_and_the_switch_leaves_them_apart(make):
    chunks = [make("b", TEXT[15:], start=15), make("x", "elsewhere", source="b.txt"), make("a", TEXT[:20])]
    passages, [decision] = read_passages(chunks, make_context())
    assert [passage["text"] for passage in passages] == [TEXT, "elsewhere"]
    assert (decision["what"], decision["chosen"]) == ("passages", 2)
    assert "2 of 3 chunks overlap" in decision["why"]
    assert read_passages(chunks, make_context(join=False)) == (chunks, [])


def test_a_passage_keeps_the_labels_of_all_its_chunks_the_best_first(make):
    chunks = [
        {**make("b", TEXT[15:], start=15), "labels": ["risks", "costs"]},
        {**make("a", TEXT[:20]), "labels": ["benefits", "risks"]},
    ]
    [passage] = join_neighbours(chunks)
    assert passage["labels"] == ["risks", "costs", "benefits"]
    assert [part["labels"] for part in passage["parts"]] == [["benefits", "risks"], ["risks", "costs"]]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({"start": 21}, id="apart"),
        pytest.param({"start": 0}, id="counted from another beginning"),
        pytest.param({"start": 15, "end": 80}, id="not the text of its span"),
        pytest.param({"start": 15, "source": "b.txt"}, id="another source"),
        pytest.param({"start": 15, "page": 3}, id="another page's text"),
        pytest.param({"start": 20, "text": TEXT[20:], "metadata": {"row": 2}}, id="the next row of a table"),
    ],
)
def test_chunks_that_do_not_go_on_where_the_other_ends_stay(second, make):
    text = second.get("text", TEXT[15:])
    other = {**make("b", text), "end": second["start"] + len(text), **second}
    chunks = [make("a", TEXT[:20]), other]
    assert join_neighbours(chunks) == chunks


def test_chunks_that_touch_are_joined_where_nothing_tells_them_apart(make):
    first, second = make("a", TEXT[:20]), {**make("b", TEXT[20:], start=20), "metadata": {"start_index": 20}}
    [passage] = join_neighbours([first, second])
    assert passage["text"] == TEXT
    assert passage["metadata"] == {}


def test_a_passage_keeps_the_metadata_that_its_chunks_share(make):
    first = {**make("a", TEXT[:20]), "metadata": {"title": "Sea walls", "start_index": 0, "seen": 1}}
    second = {
        **make("b", TEXT[15:], start=15),
        "metadata": {"title": "Sea walls", "start_index": 15, "seen": 2},
    }
    [passage] = join_neighbours([first, second])
    assert passage["metadata"] == {"title": "Sea walls"}


def test_each_place_of_a_joined_passage_has_the_page_it_stands_on(make):
    first = {
        **make("a", TEXT[:30]),
        "page": 3,
        "metadata": {"page_end": 4, "page_starts": {"4": 22}},
    }
    second = {
        **make("b", TEXT[24:], start=24),
        "page": 4,
        "metadata": {"page_end": 5, "page_starts": {"5": 44}},
    }
    [passage] = join_neighbours([second, first])
    assert (passage["page"], passage["metadata"]["page_end"]) == (3, 5)
    assert [page_in_chunk(passage, at) for at in (0, 21, 22, 43, 44, 50)] == [3, 3, 4, 4, 5, 5]


def test_a_passage_does_not_grow_without_bound_and_nothing_is_read_twice(make):
    sentences = [f"This is the sentence of number {i:02}." for i in range(40)]
    text = " ".join(sentences)
    width = len(sentences[0]) + 1
    # Each chunk has four sentences, the first of which stands in the one before.
    chunks = [
        make(str(i), text[i * 3 * width : (i * 3 + 4) * width - 1], start=i * 3 * width) for i in range(13)
    ]
    passages = join_neighbours(chunks[::-1], longest=10 * width)
    assert len(passages) > 2
    assert max(len(passage["text"]) for passage in passages) <= 10 * width
    read = " ".join(passage["text"] for passage in passages)
    assert all(read.count(sentence) == 1 for sentence in sentences)
    for passage in passages:
        assert passage["text"] == text[passage["start"] : passage["end"]]
    assert sorted(part["id"] for passage in passages for part in passage["parts"]) == sorted(
        chunk["id"] for chunk in chunks
    )


def test_two_copies_of_a_chunk_are_read_once(make):
    chunks = [make("a", TEXT), make("b", TEXT)]
    [passage] = join_neighbours(chunks)
    assert (passage["text"], passage["id"]) == (TEXT, "a")
    assert [part["id"] for part in passage["parts"]] == ["a", "b"]
