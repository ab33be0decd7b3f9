"""Viewpoints: whose a chunk is, and in which order they are heard."""

import pytest

from adaptive_rag.nodes.balance import draw_named
from adaptive_rag.rank.branches import attribute
from adaptive_rag.state import Candidate, Hit


def candidate(name: str, *labels: str) -> Candidate:
    return Candidate(
        id=name,
        source="s",
        page=None,
        section=None,
        start=0,
        end=1,
        text=name,
        metadata={},
        scores={"fused": 1.0},
        labels=list(labels),
    )


def names(candidates: list[Candidate]) -> str:
    return "".join(c["id"] for c in candidates)


def hit(order: int, label: str | None, found: str) -> Hit:
    return Hit(order=order, label=label, candidates=[candidate(name) for name in found], record={})


def test_a_chunk_belongs_first_to_the_viewpoint_that_places_it_highest() -> None:
    hits = [hit(0, None, "abc"), hit(1, "for", "bac"), hit(2, "against", "cab")]
    labels = {c["id"]: c["labels"] for c in attribute([candidate(n) for n in "abcd"], hits)}
    assert labels == {"a": ["for", "against"], "b": ["for", "against"], "c": ["against", "for"], "d": []}


def test_named_viewpoints_are_heard_first_then_the_rest_in_order() -> None:
    found = [
        candidate("a", "x"),
        candidate("b", "x"),
        candidate("c", "y", "x"),
        candidate("d"),
        candidate("e", "z"),
    ]
    drawn = draw_named(found, [["x"], ["y"], ["z"]], 4)
    assert names(drawn) == "aceb"
    assert [c["labels"][0] for c in drawn[:3]] == ["x", "y", "z"]


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_no_chunk_is_drawn_twice_and_none_is_made_up(k: int) -> None:
    found = [candidate(name, "for", "against") for name in "abc"]
    drawn = draw_named(found, [["for"], ["against"], ["nobody"]], k)
    assert len(names(drawn)) == len(set(names(drawn))) == min(k, 3)


def test_nothing_found_is_nothing_drawn() -> None:
    assert draw_named([], [["for"]], 4) == []
