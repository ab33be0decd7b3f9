"""What the branches of a fan-out found, put together."""

from adaptive_rag.rank.branches import (
    BRANCH_WEIGHT,
    LABELLED,
    SMOOTHING,
    join_by_rank,
    take_first_of_each,
    take_in_turn,
)
from adaptive_rag.state import Hit


def hit(make, order, label, *ids, **texts):
    found = [make(i, texts.get(i, f"text {i}"), dense=1 - n / 10, fused=1.0) for n, i in enumerate(ids)]
    return Hit(order=order, label=label, candidates=found, record={"step": "retrieve"})


def ids(candidates):
    return [candidate["id"] for candidate in candidates]


def test_the_question_leads_and_what_several_branches_place_high_rises(make):
    hits = [hit(make, 0, None, "a", "b", "c", "d"), hit(make, 1, "x", "d", "a"), hit(make, 2, "y", "e", "d")]
    joined = join_by_rank(hits)
    assert ids(joined)[0] == "a" and set(ids(joined)) == set("abcde")
    assert ids(joined).index("d") < ids(joined).index("c")
    relevance = {c["id"]: c["scores"]["relevance"] for c in joined}
    first = 1 / (SMOOTHING + 1) + BRANCH_WEIGHT / (SMOOTHING + 2)
    assert relevance["a"] == 10
    assert abs(relevance["e"] - 10 * BRANCH_WEIGHT / (SMOOTHING + 1) / first) < 1e-9


def test_a_chunk_is_labelled_with_what_it_speaks_to_the_nearest_first(make):
    many = [f"m{i}" for i in range(LABELLED)]
    hits = [hit(make, 0, None, "a", "b"), hit(make, 1, "x", "b", "a"), hit(make, 2, "y", "a", *many, "b")]
    labels = {c["id"]: c["labels"] for c in join_by_rank(hits)}
    assert labels["a"] == ["y", "x"] and labels["b"] == ["x"]


def test_sub_questions_bring_theirs_in_order_each_text_once(make):
    hits = [
        hit(make, 0, None, "q", "r", "s"),
        hit(make, 1, "x", "a", "b"),
        hit(make, 2, "y", "c", "d", c="text a"),
    ]
    drawn = take_in_turn(hits, 3)
    assert ids(drawn) == ["a", "b", "d"]
    assert [candidate["labels"] for candidate in drawn] == [["x"], ["x"], ["y"]]
    assert ids(take_in_turn(hits, 5)) == ["a", "b", "d", "q", "r"]


def test_the_first_of_each_viewpoint_then_the_rest_by_cosine(make):
    far = hit(make, 1, "x", "a", "b")
    near = hit(make, 2, "y", "c", "d")
    near["candidates"] = [
        {**c, "scores": {"dense": 0.99 - n / 100}} for n, c in enumerate(near["candidates"])
    ]
    drawn = take_first_of_each([hit(make, 0, None, "q"), far, near], 4)
    assert ids(drawn) == ["a", "c", "d", "b"]
    assert drawn[0]["labels"] == ["x"] and drawn[1]["labels"] == ["y"]


def test_viewpoints_that_find_the_same_passages_are_filled_up_from_the_question(make):
    hits = [hit(make, 0, None, "a", "q", "r", "s"), hit(make, 1, "x", "a", "b"), hit(make, 2, "y", "b", "a")]
    drawn = take_first_of_each(hits, 4)
    assert ids(drawn) == ["a", "b", "q", "r"]
    assert [candidate["labels"] for candidate in drawn] == [["x"], ["y"], [], []]
