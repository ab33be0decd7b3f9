"""The made-up corpus of the scale benchmark is what it claims, and every way to ask it is measured."""

from pathlib import Path

import numpy as np
import pytest

from adaptive_rag.index import Index
from benchmarks.scale import (
    CONDITIONS,
    STOP_WORDS,
    PrecomputedEmbeddings,
    ask_index,
    draw_chunks,
    draw_questions,
    find_nearest,
    make_index,
    recall_at_10,
)

SIZE = 300


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scale") / "kb"
    make_index(folder, SIZE)
    return folder


def test_two_words_in_five_are_stop_words_as_in_english() -> None:
    [(words, _, _)] = draw_chunks(SIZE)
    assert 0.3 < np.isin(words, STOP_WORDS).mean() < 0.5


def test_a_question_holds_words_of_its_chunk_and_stands_nearer_to_it_than_to_most() -> None:
    [(words, matrix, _)] = draw_chunks(SIZE)
    for text, vector, number in zip(*draw_questions(SIZE, 8), strict=True):
        assert len(set(text.split()) & set(words[number])) >= 2
        cosines = matrix @ vector
        assert (cosines > cosines[number]).mean() < 0.05


def test_every_way_is_measured_and_judged(made: Path) -> None:
    rows = {row["asked"]: row for row in ask_index(made, SIZE, 8, filters=True)}
    assert rows["by vector"]["recall@10"] == 1.0
    assert rows["fused search"]["answer in 10"] > 0.5
    assert [rows[f"where {condition}"]["recall@10"] for condition in CONDITIONS] == [1.0] * 3
    ways = ("fused search", "by vector", "by words", "whole question")
    assert all(rows[way]["p95"] >= rows[way]["p50"] > 0 for way in ways)


def test_recall_counts_the_nearest_that_were_found(made: Path) -> None:
    [text], [vector], _ = draw_questions(SIZE, 1)
    index = Index.open(made, PrecomputedEmbeddings({text: vector}))
    [nearest] = find_nearest(SIZE, vector[None])
    half = {id_ if i % 2 else f"missing-{i}" for i, id_ in enumerate(sorted(nearest))}
    assert recall_at_10(index, [text], [half]) == 0.5
    [few] = find_nearest(SIZE, vector[None], (7, 7))
    assert len(few) == 3 and {int(id_, 16) % 100 for id_ in few} == {6}
