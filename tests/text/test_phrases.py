"""What the program says itself: its English words, and its parts in an answer."""

import json

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.text.phrases import (
    decide,
    link_markers,
    number_markers,
    parts_of,
    say,
    say_heading,
    text_of,
)

CITED = [
    {"marker": 1, "quote": "The wall is high."},
    {"marker": 1, "quote": "Ferries leave at noon."},
    {"marker": 2, "quote": "It rains."},
]


def test_numbers_lists_phrases_and_places_are_written_in_words() -> None:
    queries = [say("quoted", text="wall"), say("quoted", text="dyke"), say("more", n=2)]
    assert say("searched_also", what=say("all_documents"), queries=queries)["text"] == (
        "I searched the documents, also for “wall”, “dyke” and 2 more."
    )
    place = {"source": "/docs/plan.pdf", "place": {"page": 3}}
    assert say("nearest", place=place, quote="High.")["text"].startswith(
        "The closest passage is in plan.pdf, page 3:"
    )
    assert say("and_more", n=1234)["text"] == "and 1,234 more"
    assert [say("count", n=n, table="tides.csv")["text"] for n in (1, 2)] == [
        "There is 1 row in tides.csv:",
        "There are 2 rows in tides.csv:",
    ]
    assert say("count_of_values", n=1, column="port", of="all")["text"] == "1 value of “port” in all:"
    assert say("router_was", reasons=[say("one_word"), say("both_run")])["text"].endswith(
        "asked; so both are run"
    )


def test_a_decision_has_its_reasons_in_words_and_by_code() -> None:
    decision = decide("window", 3, say("given_k"), say("no_more_found"))
    assert decision["why"] == "k; no more were found"
    assert [reason["code"] for reason in decision["reasons"]] == ["given_k", "no_more_found"]


def test_the_texts_of_the_parts_are_the_answer() -> None:
    pieces = [say_heading("closest"), "\n- ", "The wall is high. ", CITED[0]]
    parts = parts_of(pieces, CITED)
    assert "".join(part["text"] for part in parts) == text_of(pieces)
    assert [part.get("code") for part in parts] == ["closest", None, None]
    assert (parts[0]["heading"], parts[1]["text"], parts[2]["citation"]) == (
        True,
        "\n- The wall is high. ",
        0,
    )


def test_a_marker_stands_for_the_quote_that_shares_most_words_with_what_it_follows() -> None:
    text = "Ferries leave at noon [1], the wall is high [1][2]. See `a[2]` and [7]."
    pieces = link_markers(text, CITED)
    assert text_of(pieces) == text
    assert [part["citation"] for part in parts_of(pieces, CITED) if "citation" in part] == [1, 0, 2]


@pytest.mark.parametrize("question", ["When was the wall built?", "Who won the cup?", "hello"])
def test_an_output_is_plain_data_whose_parts_are_its_answer(question: str) -> None:
    output = AdaptiveRAG(MemoryIndex.from_texts(["The wall was built in 1955."])).invoke(question)
    assert output["answer"] == "".join(part["text"] for part in output["parts"])
    assert json.loads(json.dumps(output["parts"])) == output["parts"]
    assert bool(output["citations"]) == any("citation" in part for part in output["parts"])
    assert output["abstained"] == (output["parts"][0].get("code") == "refused")


def test_the_markers_of_an_answer_are_numbered_from_1_in_the_order_of_the_text() -> None:
    cited = [{"marker": 3, "quote": "It rains."}, {"marker": 7, "quote": "It snows."}]
    text, citations = number_markers("It snows [7]. It rains [3]. See `a[3]` and [9].", cited)
    assert text == "It snows [1]. It rains [2]. See `a[3]` and [9]."
    assert [(each["marker"], each["quote"]) for each in citations] == [(1, "It snows."), (2, "It rains.")]
    assert cited[0]["marker"] == 3
