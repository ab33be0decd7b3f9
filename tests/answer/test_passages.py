"""Overlapping chunks are read as one passage, which gives its chunks as they were and its sentences once."""

import numpy as np
import pytest

from adaptive_rag.answer.passages import (
    as_ranked,
    chunks_of,
    cite_span,
    join_neighbours,
    read_sentences,
    within_budget,
)
from adaptive_rag.source import Sentences
from adaptive_rag.text.places import page_at
from tests.answer.made import candidate, vectors

TEXT = "The wall is high. It was built in 1968. It is long. It has a gate. The gate is old."
WALL = "The sea wall is high. It was built in 1968. It is long."
SPANS = [(0, 17), (18, 39), (40, 51), (52, 66), (67, 83)]


def chunk(first, last, **fields):
    """Return the chunk of some sentences, counted from 0."""
    start, end = SPANS[first][0], SPANS[last][1]
    return {**candidate(TEXT[start:end], start=start), **fields}


@pytest.fixture
def chunks():
    return [
        chunk(2, 4, section="Gates", labels=["gates"], scores={"fused": 0.9}),
        candidate("Elsewhere.", source="other.txt"),
        chunk(0, 2, section="Walls", labels=["walls", "heights"], scores={"fused": 0.7, "relevance": 3.0}),
    ]


def test_a_citation_names_its_passage_and_quotes_the_span_word_for_word(chunks):
    [first, *_] = join_neighbours(chunks)
    start, end = SPANS[3]
    assert cite_span(first, 1, start, end) == {
        "marker": 1,
        "source": first["source"],
        "page": first["page"],
        "place": {"section": "Gates"},
        "start": start,
        "end": end,
        "quote": "It has a gate.",
    }


def test_chunks_come_back_as_they_were_ranked(chunks):
    for longest in (1000, 60):
        passages = join_neighbours(chunks, longest)
        assert [c["id"] for c in as_ranked(passages)] == [c["id"] for c in chunks]
    assert as_ranked(join_neighbours(chunks)) == chunks
    assert as_ranked(chunks) == chunks


def of(spans):
    return Sentences(np.array(spans, dtype=np.int64), vectors([TEXT[a:b] for a, b in spans]))


def test_the_sentences_of_a_passage_come_in_order_and_each_once(chunks):
    known = {chunks[0]["id"]: of(SPANS[2:]), chunks[2]["id"]: of(SPANS[:3]), chunks[1]["id"]: of([(0, 10)])}
    asked = []

    def read(ids):
        asked.append(ids)
        return [known[id_] for id_ in ids]

    joined, other = read_sentences(join_neighbours(chunks), read)
    assert [tuple(span) for span in joined.spans] == SPANS
    assert np.array_equal(joined.vectors, vectors([TEXT[a:b] for a, b in SPANS]))
    assert other is known[chunks[1]["id"]]
    assert asked == [[chunks[2]["id"], chunks[0]["id"], chunks[1]["id"]]]


def test_a_sentence_that_a_border_cut_gives_way_to_the_whole_one(chunks):
    cut = (45, 51)
    known = {chunks[0]["id"]: of([cut, *SPANS[3:]]), chunks[2]["id"]: of(SPANS[:3])}
    [joined] = read_sentences(join_neighbours([chunks[0], chunks[2]]), lambda ids: [known[i] for i in ids])
    assert [tuple(span) for span in joined.spans] == SPANS


def test_a_passage_that_begins_within_a_chunk_has_the_rest_of_its_sentences(chunks):
    known = {chunks[0]["id"]: of(SPANS[2:]), chunks[2]["id"]: of(SPANS[:3])}
    passages = join_neighbours([chunks[0], chunks[2]], longest=60)
    rest, first = read_sentences(passages, lambda ids: [known[i] for i in ids])
    assert [tuple(span) for span in first.spans] == SPANS[:3]
    assert [tuple(span) for span in rest.spans] == SPANS[3:]
    assert passages[0]["text"] == TEXT[SPANS[3][0] :]


def test_the_budget_keeps_the_first_that_fit_and_never_none(make):
    chunks = [make(str(i), "x" * 40) for i in range(3)]  # 10 tokens each
    assert len(within_budget(chunks, 20)) == 2
    assert len(within_budget(chunks, 1)) == 1


def test_a_script_of_several_bytes_a_letter_counts_more_tokens(make):
    latin, chinese = ([make(str(i), letter * 40) for i in range(3)] for letter in "x海")
    assert (len(within_budget(latin, 30)), len(within_budget(chinese, 30))) == (3, 1)


def test_overlapping_neighbours_become_one_passage_with_their_spans(make):
    chunks = [
        make("c", WALL[30:], start=30, fused=0.9),
        make("x", "elsewhere", source="b.txt", fused=0.8),
        make("a", WALL[:20], fused=0.7, relevance=3.0),
        make("b", WALL[15:35], start=15, fused=0.6, relevance=4.0),
    ]
    passage, other = join_neighbours(chunks)
    assert passage["text"] == WALL
    assert (passage["id"], passage["start"], passage["end"]) == ("c", 0, len(WALL))
    assert passage["scores"] == {"fused": 0.9, "relevance": 4.0}
    assert [(part["id"], part["rank"]) for part in passage["parts"]] == [("a", 3), ("b", 4), ("c", 1)]
    assert [(part["start"], part["end"]) for part in passage["parts"]] == [(0, 20), (15, 35), (30, len(WALL))]
    assert other is chunks[1]
    assert all(
        "parts" not in chunk and chunk["metadata"] == {} for chunk in chunks
    )  # the caller's are untouched


def test_a_passage_keeps_the_labels_of_all_its_chunks_the_best_first(make):
    chunks = [
        {**make("b", WALL[15:], start=15), "labels": ["risks", "costs"]},
        {**make("a", WALL[:20]), "labels": ["benefits", "risks"]},
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
        pytest.param({"start": 20, "text": WALL[20:], "metadata": {"row": 2}}, id="the next row of a table"),
    ],
)
def test_chunks_that_do_not_go_on_where_the_other_ends_stay(second, make):
    text = second.get("text", WALL[15:])
    other = {**make("b", text), "end": second["start"] + len(text), **second}
    chunks = [make("a", WALL[:20]), other]
    assert join_neighbours(chunks) == chunks


def test_a_passage_keeps_the_metadata_that_its_chunks_share(make):
    first = {**make("a", WALL[:20]), "metadata": {"title": "Sea walls", "start_index": 0, "seen": 1}}
    second = {
        **make("b", WALL[15:], start=15),
        "metadata": {"title": "Sea walls", "start_index": 15, "seen": 2},
    }
    [passage] = join_neighbours([first, second])
    assert passage["metadata"] == {"title": "Sea walls"}


def test_each_place_of_a_joined_passage_has_the_page_it_stands_on(make):
    first = {**make("a", WALL[:30]), "page": 3, "metadata": {"page_end": 4, "page_starts": {"4": 22}}}
    second = {
        **make("b", WALL[24:], start=24),
        "page": 4,
        "metadata": {"page_end": 5, "page_starts": {"5": 44}},
    }
    [passage] = join_neighbours([second, first])
    assert (passage["page"], passage["metadata"]["page_end"]) == (3, 5)
    assert [page_at(passage, at) for at in (0, 21, 22, 43, 44, 50)] == [3, 3, 4, 4, 5, 5]


def test_each_place_of_a_joined_passage_has_its_own_section_and_lines(make):
    text = "The wall\nis high.\n\nGates\nIt has a gate.\n\nBells\nThe bell is old."
    at = {word: text.index(word) for word in ("Gates", "It has", "Bells", "The bell")}
    later = {str(at["Bells"]): "Bells"}
    first = {
        **make("a", text[: at["Bells"]].strip()),
        "section": "Walls",
        "metadata": {"line": 1, "section_starts": {"0": "Walls", str(at["Gates"]): "Gates"}},
    }
    second = {
        **make("b", text[at["It has"] :], start=at["It has"]),
        "section": "Bells",
        "metadata": {"line": 5, "section_starts": {str(at["It has"]): "Gates", **later}},
    }
    [passage] = join_neighbours([second, first])
    places = [cite_span(passage, 1, start, start + 8)["place"] for start in (0, at["It has"], at["The bell"])]
    assert places == [
        {"section": "Walls", "lines": [1, 1]},
        {"section": "Gates", "lines": [5, 5]},
        {"section": "Bells", "lines": [8, 8]},
    ]
    assert cite_span(passage, 1, 0, 17)["place"]["lines"] == [1, 2]
    assert chunks_of(passage)[1]["metadata"]["line"] == 5


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
