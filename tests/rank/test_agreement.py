"""Which side of what a question proposes a passage takes, told without a chat model."""

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.rank.agreement import (
    agreements,
    centred,
    decide_sides,
    hear_other_side,
    missing_side,
    proposal_sign,
    sides_of,
    taken_sides,
)
from adaptive_rag.rank.stances import Side
from adaptive_rag.source import Sentences
from adaptive_rag.text.vectors import Scores

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


def agreed(question: str, texts: Sequence[str]) -> list[Scores]:
    """Return the agreements of texts, in their order."""
    index = MemoryIndex.from_texts(texts)
    [found] = index.search([" ".join(texts)], limit=len(texts))
    in_order = sorted(found, key=lambda candidate: candidate["start"])
    sentences = index.sentences([candidate["id"] for candidate in in_order])
    return agreements(question, in_order, sentences)


def read_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def sides(question: str, *texts: str) -> list[list[Side]]:
    return [sides_of(held) for held in centred(agreed(question, texts))]


@pytest.mark.parametrize("question", DEBATES)
def test_praise_speaks_for_a_thing_and_blame_against_it(question: str) -> None:
    assert sides(question, *DEBATES[question]) == [["for"], ["against"]]


@pytest.mark.parametrize(
    "question",
    ["Should fireworks be banned?", "Are fireworks unfair to animals?", "Should the city stop fireworks?"],
)
def test_blame_speaks_for_a_question_that_blames_or_would_end(question: str) -> None:
    texts = ("Fireworks bring people together and make them happy.", "Fireworks injure children every year.")
    assert sides(question, *texts) == [["against"], ["for"]]


def test_a_ban_that_saves_lives_speaks_for_the_ban() -> None:
    texts = (
        "Banning cars saves lives.",
        "A ban on cars would destroy jobs.",
        "Cars give people in the country their freedom.",
        "Cars kill thousands of people every year.",
    )
    assert sides("Should cars be banned?", *texts) == [["for"], ["against"], ["against"], ["for"]]
    assert sides("Should cars be allowed?", *texts) == [["against"], ["for"], ["for"], ["against"]]


@pytest.mark.parametrize(
    ("question", "sign"),
    [
        ("Should smoking be allowed?", 1),
        ("Should smoking be banned?", -1),
        ("Should poetry not be taught in schools?", -1),
        ("Should the council close the harbour?", -1),
        ("Should people lose their jobs for saying the wrong thing?", 1),
        ("What do people think of the claim that the ferry is too expensive?", -1),
        ("What are the dangers of the ferry?", 1),
    ],
)
def test_to_end_to_deny_and_to_blame_turn_what_praise_speaks_for(question: str, sign: int) -> None:
    assert proposal_sign(question) == sign


def test_a_chunk_that_clearly_holds_both_sides_is_named_for_both() -> None:
    both = " ".join(next(iter(DEBATES.values())))
    [mixed, praise] = sides("Should trams be built?", both, "Trams are a joy to ride and save money.")
    assert set(mixed) == {"for", "against"}
    assert praise == ["for"]


@pytest.mark.parametrize(
    ("held", "expected"),
    [([0.3, -0.05], ["for"]), ([0.3, -0.12], ["for", "against"]), ([0.02], []), ([], [])],
)
def test_a_tone_that_goes_up_and_down_makes_no_second_side(held: list[float], expected: list[Side]) -> None:
    assert sides_of(np.array(held)) == expected


def test_passages_that_are_all_against_are_not_traced_as_for_and_against() -> None:
    decision = decide_sides([np.array([lean]) for lean in (-0.02, -0.08, -0.3, -0.4)])
    assert decision["chosen"]["found"] == ["against"]
    assert decision["why"].startswith("of 4 passages, 0 speak for it, 2 against it")


def test_where_a_side_is_missing_no_passage_takes_it() -> None:
    held = [np.array([lean]) for lean in (0.4, 0.3, 0.25, -0.02)]
    assert missing_side(held) == "against"
    assert taken_sides(held) == [["for"], ["for"], ["for"], []]


@pytest.mark.parametrize(
    "means",
    [
        (0.4, 0.3),  # two are too few
        (0.1, 0.1, 0.1, 0.1),  # too weak
        (0.4, 0.4, 0.4, -0.2),  # one speaks against it
        (),
    ],
)
def test_no_side_is_called_missing_lightly(means: tuple[float, ...]) -> None:
    assert missing_side([np.array([mean]) for mean in means]) is None


def test_a_passage_without_sentences_counts_for_neither_side() -> None:
    held = [np.array([lean]) for lean in (-0.4, -0.3, -0.25)]
    assert missing_side([*held, np.zeros(0)]) == "for"
    assert missing_side([*held[:2], np.zeros(0)]) is None


@pytest.mark.parametrize(
    ("means", "chosen"),
    [
        ((0.4, 0.3, -0.4), [0, 2]),
        ((0.4, -0.3, -0.4), [0, 1]),
        ((0.4, 0.3, 0.2), [0, 1]),
        ((0.4, 0.3, 0.1), [0, 1]),
        ((0.4, 0.3), [0, 1]),
        ((), []),
    ],
)
def test_the_last_place_goes_to_the_side_that_nobody_else_takes(
    means: tuple[float, ...], chosen: list[int]
) -> None:
    assert hear_other_side([np.array([mean]) for mean in means], 2) == chosen


def test_nothing_to_label_is_no_error(make) -> None:
    assert taken_sides([]) == []
    empty = Sentences(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 384), dtype=np.float32))
    held = agreements("Should it be?", [make("a", "")], [empty])
    assert taken_sides(held) == [[]]


@pytest.mark.nightly
def test_corpora_cut_to_one_side_are_said_to_be_so_and_whole_ones_rarely(public_data: Path) -> None:
    folder = public_data / "opinion_perspectrum"
    texts = {row["_id"]: row["text"] for row in read_rows(folder / "corpus.jsonl")}
    questions = read_rows(folder / "queries.jsonl")
    stances: dict[str, dict[str, set[str]]] = defaultdict(lambda: {"support": set(), "undermine": set()})
    with open(folder / "aspects.tsv") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            stances[row["query-id"]][row["aspect"].split("/")[0]].add(row["corpus-id"])
    # The constants were chosen on the others.
    judged: dict[str, list[Side | None]] = {"support": [], "undermine": [], "both": []}
    for question in questions[1:120:2]:
        support, undermine = stances[question["_id"]].values()
        cut = {"support": support - undermine, "undermine": undermine - support}
        if min(map(len, cut.values())) >= 3:
            for name, ids in (cut | {"both": support | undermine}).items():
                held = agreed(question["text"], [texts[id_] for id_ in sorted(ids)])
                judged[name].append(missing_side(held))
    said = judged["support"].count("against") + judged["undermine"].count("for")
    wrong = judged["support"].count("for") + judged["undermine"].count("against")
    assert len(judged["both"]) > 25
    assert sum(missing is not None for missing in judged["both"]) <= 0.05 * len(judged["both"])
    assert said >= 0.08 * (len(judged["support"]) + len(judged["undermine"]))
    assert wrong <= 0.1 * said
