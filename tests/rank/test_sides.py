"""Which side of a debate a text takes, told without a chat model."""

import numpy as np
import pytest

from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.rank.stances import AGAINST, FOR, SENTIMENT, label_sides, leans, misplaced, side_of
from adaptive_rag.source import Sentences

# Opposed pairs on matters that the direction was not made from.
DEBATES = {
    "Should the old tram lines be rebuilt?": (
        "Trams carry many passengers quickly and keep the air of the town clean.",
        "Building tram lines ruins shopkeepers and leaves the town with heavy debts.",
    ),
    "Should pupils wear smart watches in class?": (
        "Smart watches help pupils with diabetes and make learning more lively.",
        "Smart watches distract pupils and let them cheat in examinations.",
    ),
    "Should the ferry run at night?": (
        "A night ferry gives islanders the freedom to work and study in the city.",
        "A night ferry would lose money and disturb everybody's sleep.",
    ),
}


def labels(question: str, *texts: str) -> list[list[str]]:
    index = MemoryIndex.from_texts(texts)
    [found] = index.search([" ".join(texts)], limit=len(texts))
    in_order = sorted(found, key=lambda candidate: candidate["start"])
    sentences = index.sentences([candidate["id"] for candidate in in_order])
    return [candidate["labels"] for candidate in label_sides(question, in_order, sentences)]


@pytest.mark.parametrize("question", DEBATES)
def test_praise_speaks_for_a_thing_and_blame_against_it(question: str) -> None:
    assert labels(question, *DEBATES[question]) == [[FOR], [AGAINST]]


@pytest.mark.parametrize("question", ["Should fireworks be banned?", "Are fireworks unfair to animals?"])
def test_blame_speaks_for_a_question_that_blames(question: str) -> None:
    texts = ("Fireworks bring people together and make them happy.", "Fireworks injure children every year.")
    assert labels(question, *texts) == [[AGAINST], [FOR]]


def test_praise_of_a_ban_is_blame_of_what_is_banned() -> None:
    texts = ("A ban would make the streets safer and save lives.", "Fireworks bring people together.")
    assert labels("Should fireworks be banned?", *texts) == [[FOR], [AGAINST]]


def test_a_chunk_that_holds_both_sides_is_named_for_both() -> None:
    both = " ".join(next(iter(DEBATES.values())))
    [mixed, praise] = labels("Should trams be built?", both, "Trams are clean and a joy to ride.")
    assert set(mixed) == {FOR, AGAINST}
    assert praise == [FOR]


def test_where_all_sounds_grim_what_is_much_less_grim_takes_the_other_side(make) -> None:
    held = [Sentences(np.array([[0, 1]]), lean * np.load(SENTIMENT)[None]) for lean in (-0.05, -0.3)]
    labelled = label_sides("Should it be?", [make("a", "x"), make("b", "x")], held)
    assert [candidate["labels"] for candidate in labelled] == [[FOR], [AGAINST]]


def test_nothing_to_label_is_no_error(make) -> None:
    assert label_sides("Should it be?", [], []) == []
    empty = Sentences(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 384), dtype=np.float32))
    [labelled] = label_sides("Should it be?", [make("a", "")], [empty])
    assert labelled["labels"] == [FOR]


def test_spans_count_from_where_the_chunk_begins(make) -> None:
    text = "A ban is good."
    vectors = load_minilm().encode([text])
    held = Sentences(np.array([[100, 100 + len(text)]]), vectors)
    [[turned], [plain]] = leans(make("a", text, start=100), held), leans(make("a", "x" * 14, start=100), held)
    assert turned == -plain != 0


def test_the_direction_is_of_unit_length_and_of_the_embedded_model() -> None:
    direction = np.load(SENTIMENT)
    assert direction.shape == load_minilm().encode(["It."])[0].shape
    assert np.linalg.norm(direction) == pytest.approx(1)


@pytest.mark.parametrize(
    ("label", "side"),
    [
        ("benefits and arguments for", "for"),
        ("risks and arguments against", "against"),
        ("who is affected and how", None),
        ("supporters of risk regulation", "for"),
        ("critics of the benefit system", "against"),
    ],
)
def test_the_first_word_that_takes_sides_decides(label: str, side: str | None) -> None:
    assert side_of(label) == side


def test_praise_under_risks_is_further_out_of_place_than_a_fact_under_benefits() -> None:
    assert misplaced("against", "It improves safety.") > misplaced("for", "The wall is of stone.") > 0
    assert misplaced("against", "It harms the marsh.") == misplaced("for", "It improves safety.") == 0
