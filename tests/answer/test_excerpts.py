"""Excerpts of several passages for a claim."""

import numpy as np

from adaptive_rag.answer.excerpts import LENGTH, CutPassage, excerpt


def cut(heading: str, sentences: list[str], cosines: list[float]) -> CutPassage:
    vectors = np.array([[cosine, (1 - cosine**2) ** 0.5] for cosine in cosines], dtype=np.float32)
    return CutPassage(heading, sentences, vectors)


CLAIM = np.array([1, 0], dtype=np.float32)
FERRY = cut("Ferry", ["It is blue.", "It leaves at 7.", "It is old. " * 40], [0.1, 0.9, 0.0])
FARES = cut("", ["A trip is 4 euros.", "Dogs are free. " * 40], [0.8, 0.2])


def test_the_nearest_sentences_of_all_passages_stand_in_order_after_the_one_before_them() -> None:
    text = excerpt(CLAIM, [FERRY, FARES]).text
    assert text.startswith("Ferry: It is blue. It leaves at 7.\nA trip is 4 euros. Dogs are free.")
    assert "It is old" not in text


def test_a_sentence_that_is_longer_than_an_excerpt_is_read_alone() -> None:
    long = "word " * LENGTH
    assert excerpt(CLAIM, [cut("", ["One.", long], [0.1, 0.9])]).text == long


def test_passages_without_sentences_give_nothing() -> None:
    empty = CutPassage("Empty", [], np.zeros((0, 0), dtype=np.float32))
    assert excerpt(CLAIM, [empty]).text == ""
    assert excerpt(CLAIM, []).text == ""
