"""What the reader is trained on: a passage in tokens, and where in it the answer stands."""

import random

import numpy as np
import pytest

from adaptive_rag.models.reader import MAX_TOKENS, PairEncoder
from training.reader.edits import change, whole_sentences
from training.reader.readings import (
    PARTLY,
    SIDE_NAMES,
    VERDICTS,
    Claim,
    Passages,
    Question,
    Sides,
    document_set_item,
    items_of,
    passage_of,
    questions_asked,
    sentences_with,
)

FERRY = {
    "id": "x1",
    "set": "quay",
    "source": "ferry.md",
    "section": "Boats",
    "title": "Quay",
    "text": "The ferry leaves at 7:45. It takes forty people. Most of us would rather keep it.",
    "qa": [{"q": "when is the boat", "a": "7:45", "s": "The ferry leaves at 7:45.", "sit": "I live inland"}],
    "no": [{"q": "when is the last boat", "kind": "missing-time"}],
    "true": ["The boat leaves at a quarter to eight."],
    "false": [{"t": "It leaves at eight.", "kind": "number"}, {"t": "It is red.", "kind": "added"}],
    "follow": {"before": "is there a boat", "q": "how many fit", "a": "forty", "s": "It takes forty people."},
    "sides": [{"proposal": "keep it", "s": "Most of us would rather keep it.", "side": "for", "who": "us"}],
}
EMPTY = dict.fromkeys(("qa", "no", "true", "false", "sides"), ()) | {
    "follow": None,
    "section": "",
    "title": "",
}
HUT = EMPTY | {"id": "x2", "set": "quay", "source": "hut.md", "text": "The hut sells tea. It opens at 7:45."}
LAMP = EMPTY | {"id": "x3", "set": "quay", "source": "lamp.md", "text": "The lamp is lit until ten."}
FAR = EMPTY | {"id": "x4", "set": "hill", "source": "hill.md", "text": "The hill is steep."}
VECTORS = np.array([[1, 0], [0.9, 0.1], [0.8, 0.2], [1, 0]], np.float32)


@pytest.fixture(scope="module")
def form() -> PairEncoder:
    return PairEncoder()


@pytest.fixture(scope="module")
def passages() -> Passages:
    return Passages([FERRY, HUT, LAMP, FAR], VECTORS)


def test_each_sentence_has_its_tokens_after_the_query_and_the_headings(form: PairEncoder) -> None:
    reading, spans = form.pair("question", "when is the boat", passage_of(FERRY))
    assert [FERRY["text"][slice(*span)] for span in spans] == [
        "The ferry leaves at 7:45.",
        "It takes forty people.",
        "Most of us would rather keep it.",
    ]
    query, *sentences = reading.spans
    assert (query.start, reading.types[query.start], reading.types[query.stop]) == (1, 0, 0)
    assert sentences[0].start == query.stop + 4  # the separator, "Quay > Boats"
    assert [span.stop for span in sentences[:-1]] == [span.start for span in sentences[1:]]
    assert {reading.types[at] for span in sentences for at in span} == {1}
    assert sentences[-1].stop == len(reading.ids) - 1


def test_sentences_that_do_not_fit_are_left_out(form: PairEncoder) -> None:
    long = FERRY | {"text": "The ferry leaves at 7:45 each day. " * 100}
    reading, spans = form.pair("question", "when", passage_of(long))
    assert len(reading.ids) == MAX_TOKENS
    assert len(spans) == len(reading.spans) - 1 < 40


def test_a_quote_is_held_by_the_sentences_that_it_shares_most_with() -> None:
    spans = [(0, 25), (26, 48)]
    assert sentences_with(spans, FERRY["text"], "forty") == [1]
    assert sentences_with(spans, FERRY["text"], "The ferry leaves at 7:45. It takes forty people.") == [0, 1]


def test_a_question_stands_beside_the_nearest_passages_that_do_not_hold_its_answer(
    form: PairEncoder, passages: Passages
) -> None:
    asked = np.array([[1, 0]] * 3, np.float32)
    assert questions_asked(FERRY) == [
        "when is the boat (I live inland)",
        "is there a boat how many fit",
        "when is the last boat",
    ]
    items = list(items_of(form, passages, 0, asked, random.Random(1), most=2))
    answered, follow, missed = (item for item in items if isinstance(item, Question))
    assert (answered.relevant, answered.answers, answered.kind) == ([0], [[0], []], "")
    lamp, _ = form.pair("question", answered.query, passage_of(LAMP))
    assert answered.readings[1] == lamp  # the hut opens at 7:45 too
    assert follow.answers == [[1], [], []]
    assert (missed.relevant, missed.answers, missed.kind) == ([], [[], [], []], "missing-time")
    assert missed.readings[1] == form.pair("question", missed.query, passage_of(HUT))[0]


def test_a_part_of_the_questions_is_read_as_found_and_half_of_these_without_their_passage(
    form: PairEncoder, passages: Passages
) -> None:
    asked = np.array([[1, 0]] * 3, np.float32)
    drawn = [items_of(form, passages, 0, asked, random.Random(n)) for n in range(100)]
    items = [item for of in drawn for item in of if isinstance(item, Question)]
    follow = [item for item in items if item.query == "is there a boat how many fit"]
    hut, lamp = (form.pair("question", follow[0].query, passage_of(row))[0] for row in (HUT, LAMP))
    missing = [item for item in follow if not any(item.answers)]
    assert all(item.readings == [hut, lamp] and not item.relevant for item in missing)
    found = [item for item in follow if item.readings[1:] == [hut, lamp]]
    assert all(item.answers == [[1], [], []] and item.relevant == [0] for item in found)
    assert len(follow) == 100 and 10 < len(missing) < 30 and 10 < len(found) < 30


def test_claims_and_sides_carry_what_they_are(form: PairEncoder, passages: Passages) -> None:
    items = list(items_of(form, passages, 0, np.ones((3, 2), np.float32), random.Random(1)))
    claims = [(VERDICTS[item.verdict], item.kind) for item in items if isinstance(item, Claim)]
    own = [claim for claim in claims if claim[1] != "another"]
    assert own == [("supported", "true"), ("contradicted", "number"), ("untold", "added")]
    (sides,) = (item for item in items if isinstance(item, Sides))
    assert {at: SIDE_NAMES[side] for at, side in sides.sides.items()} == {2: "for"}


def test_half_of_the_claims_are_seen_beside_a_passage_that_does_not_tell_them(
    form: PairEncoder, passages: Passages
) -> None:
    drawn = [items_of(form, passages, 0, np.ones((3, 2), np.float32), random.Random(n)) for n in range(20)]
    claims = [item for items in drawn for item in items if isinstance(item, Claim)]
    beside = [claim for claim in claims if claim.kind == "another"]
    assert {VERDICTS[claim.verdict] for claim in beside} == {"untold"}
    assert 15 < len(beside) < 45 and len(claims) == 60 + len(beside)


def _place(passage: int, sentence: str) -> list[int]:
    start = CROSSING["read"][passage]["text"].index(sentence)
    return [passage, start, start + len(sentence)]


CROSSING = {
    "id": "a-0001",
    "set": "quay",
    "type": "contextual",
    "q": "how do I get over",
    "sit": "I live inland.",
    "told": "yes",
    "read": [HUT, FERRY, LAMP, HUT | {"text": "Nothing. It takes forty people."}],
}
CROSSING |= {
    "best": _place(1, "It takes forty people."),
    "points": [_place(1, "It takes forty people."), _place(2, "The lamp is lit until ten.")],
    "beside": [_place(1, "The ferry leaves at 7:45.")],
}


def test_an_answer_is_shared_among_its_points_and_its_copies_are_left_out(form: PairEncoder) -> None:
    item = document_set_item(form, CROSSING, random.Random(1))
    assert item and item.answers == [[], [1], [0], []] and item.relevant == [1, 2]
    assert item.shares == pytest.approx([0, 2 / 3, 1 / 3])
    assert item.ignored == [[], [0], [], [1]]  # what it needs, and the same sentence elsewhere


def test_passages_that_answer_are_read_before_those_that_came_nearer(form: PairEncoder) -> None:
    item = document_set_item(form, CROSSING, random.Random(1), most=2)
    assert item and item.answers == [[1], [0]]


def test_a_part_of_an_answer_leaves_room_for_none(form: PairEncoder) -> None:
    item = document_set_item(form, CROSSING | {"told": "partly"}, random.Random(1))
    assert item and item.shares == pytest.approx([PARTLY, 0.7 * 2 / 3, 0.7 / 3])
    nothing = CROSSING | {"told": "no", "best": None, "points": []}
    item = document_set_item(form, nothing, random.Random(1))
    assert item and (item.shares, item.relevant) == ([1.0], [])


def test_a_situation_is_read_at_times(form: PairEncoder) -> None:
    items = [document_set_item(form, CROSSING, random.Random(n)) for n in range(20)]
    assert {item.query for item in items if item} == {
        "how do I get over",
        "how do I get over (I live inland.)",
    }


def test_a_question_whose_points_are_not_read_is_left_out(form: PairEncoder) -> None:
    text = "The ferry leaves at 7:45 each day. " * 100 + "It is red."
    end = len(text)
    far = CROSSING | {
        "read": [FERRY | {"text": text}],
        "best": [0, end - 10, end],
        "points": [[0, end - 10, end]],
        "beside": [],
    }
    assert document_set_item(form, far, random.Random(1)) is None


def test_a_copied_sentence_differs_from_its_passage_in_one_thing() -> None:
    text = "The ferry leaves at 7 and returns at 9. Ann Lee must not smoke, unlike Tom Reed."
    changes = {
        change(sentence, text, random.Random(seed))
        for seed in range(60)
        for sentence in whole_sentences(text)
    } - {None}
    changed, kinds = zip(*filter(None, changes), strict=True)
    assert {
        "The ferry leaves at 9 and returns at 7.",
        "Ann Lee must smoke, unlike Tom Reed.",
    } <= set(changed)
    assert set(kinds) == {"number", "exchange", "negation"}
    assert not any(sentence in text for sentence in changed)


def test_sentences_of_other_forms_are_not_copied() -> None:
    assert (
        whole_sentences("| a | b c d e |\n\nSee https://ferry.example for all of the times.\n\nToo short.")
        == []
    )
