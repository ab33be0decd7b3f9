"""What several answers to one question share, and what only one of them holds."""

from collections.abc import Callable
from typing import Any

from adaptive_rag.compare import Column, Comparison, compare_columns, name_columns, split_answer, words_of
from adaptive_rag.state import Candidate

Make = Callable[..., Candidate]


def column(name: str, documents: list[Candidate], answer: str) -> Column:
    output = {"documents": documents, "answer": answer}
    return Column(name=name, settings={}, route=[name], output=output, calls=0, ms=1.0)


def compared(make: Make, **answers: tuple[str, str]) -> Comparison:
    """Compare columns, each given as the letters of its passages and its answer."""
    columns = [
        column(name, [make(letter, f"text of {letter}") for letter in read], answer)
        for name, (read, answer) in answers.items()
    ]
    return compare_columns("What?", "", columns)


def test_what_all_hold_and_what_one_holds_are_told_apart_among_three(make: Make) -> None:
    found = compared(make, one=("abc", "It is."), two=("abd", "It is."), three=("ae", "It was."))
    assert found.passages.in_all == ["a"]
    # b stands in two of three: it is neither
    assert found.passages.only == {"one": ["c"], "two": ["d"], "three": ["e"]}
    assert found.sentences.in_all == []
    assert found.sentences.only == {"one": [], "two": [], "three": ["It was."]}


def test_sentences_are_the_same_whatever_their_markers_breaks_and_emphasis(make: Make) -> None:
    found = compared(make, one=("a", "**It is\nhigh.** [1] It is old. [2]"), two=("a", "It is high. [3]"))
    assert found.sentences.in_all == ["It is high."]
    assert found.sentences.only == {"one": ["It is old."], "two": []}


def test_the_chunks_of_a_joined_passage_count_one_by_one(make: Make) -> None:
    joined: Any = make("a", "one two")
    parts: list[Any] = [
        {"id": name, "rank": rank, "section": None, "start": start, "end": end, "scores": {}, "labels": []}
        for rank, (name, start, end) in enumerate((("a", 0, 3), ("b", 4, 7)), start=1)
    ]
    joined["parts"] = parts
    found = compare_columns("What?", "", [column("x", [joined], "."), column("y", [make("a", "one")], ".")])
    assert (found.passages.in_all, found.passages.only) == (["a"], {"x": ["b"], "y": []})
    assert found.places["b"] == {"source": "a.txt", "page": None, "start": 4, "end": 7}


def test_a_sentence_keeps_its_markers_until_it_is_compared() -> None:
    assert split_answer("It is high. [1] It is old. [2]") == ["It is high. [1]", "It is old. [2]"]
    assert split_answer("## The wall\n\n**It** is old. [2]") == ["The wall", "It is old. [2]"]
    assert words_of("It is high. [1]") == "It is high."
    assert words_of("- It is high. [1]") == words_of("2. It is high.") == "It is high."


def test_fewer_than_two_names_bring_the_way_by_itself() -> None:
    assert name_columns([], []) == {"by itself": {}}
    for opinion in (["opinion"], "opinion"):
        assert name_columns(opinion, []) == {"by itself": {}, "opinion": {"route": "opinion"}}
    assert list(name_columns(["opinion", "opinion"], ["faq-hybrid"])) == ["opinion", "faq-hybrid"]
