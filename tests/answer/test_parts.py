"""What is read out of a joined passage: its chunks as they were, its sentences once."""

import numpy as np
import pytest

from adaptive_rag.answer import extract_answer
from adaptive_rag.answer.passages import as_ranked, chunk_at, chunks_of, labels_at, read_sentences
from adaptive_rag.rank.window import join_neighbours
from adaptive_rag.source import Sentences
from tests.answer.made import candidate, request, vectors

TEXT = "The wall is high. It was built in 1968. It is long. It has a gate. The gate is old."
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


def test_chunks_come_back_as_they_were_ranked(chunks):
    for longest in (1000, 60):
        passages = join_neighbours(chunks, longest)
        assert [c["id"] for c in as_ranked(passages)] == [c["id"] for c in chunks]
    assert as_ranked(join_neighbours(chunks)) == chunks
    assert as_ranked(chunks) == chunks


def test_a_passage_that_was_not_joined_is_its_own_chunk(chunks):
    assert chunks_of(chunks[1]) == [chunks[1]]
    assert chunk_at(chunks[1], 0, 4) is chunks[1]
    assert labels_at(chunks[0], 40, 51) == {"gates"}


def test_a_place_belongs_to_the_first_chunk_that_holds_it(chunks):
    passage = join_neighbours(chunks)[0]
    assert [chunk_at(passage, *span)["section"] for span in SPANS] == ["Walls"] * 3 + ["Gates"] * 2


def test_a_place_has_the_labels_of_every_chunk_that_holds_it(chunks):
    passage = join_neighbours(chunks)[0]
    assert labels_at(passage, *SPANS[0]) == {"walls", "heights"}
    assert labels_at(passage, *SPANS[2]) == {"walls", "heights", "gates"}
    assert labels_at(passage, *SPANS[4]) == {"gates"}


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


def test_chunks_without_sentences_make_a_passage_without(chunks):
    nothing = Sentences(np.zeros((0, 2), np.int64), np.zeros((0, 4), np.float32))
    [joined] = read_sentences(join_neighbours([chunks[0], chunks[2]]), lambda ids: [nothing for _ in ids])
    assert joined.spans.shape == (0, 2)
    assert joined.vectors.shape == (0, 4)


@pytest.mark.parametrize("order", [1, -1])
def test_each_viewpoint_is_answered_from_the_chunk_that_was_fetched_for_it(order):
    bakers = "Bakers in the town like the new bridge. Bakers in the town sell more bread."
    text = f"{bakers} Millers in the town like the new bridge. Millers in the town sell more flour."
    middle, labels = text.index("Bakers in the town sell"), ["views from the north", "views from the south"]
    chunks = [
        candidate(bakers, labels=labels[:1]),
        candidate(text[middle:], start=middle, labels=labels[1:]),
    ]
    passages = join_neighbours(chunks[::order])
    question = "What do people in the town say about the bridge?"
    answer = extract_answer(request(question, passages, query_type="opinion", branches=labels))
    assert len(passages) == 1
    assert answer.text == (
        "**Views from the north**\n"
        "Bakers in the town like the new bridge. [1] Bakers in the town sell more bread. [1]\n\n"
        "**Views from the south**\n"
        "Millers in the town sell more flour. [1]"
    )
