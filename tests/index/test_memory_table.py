from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from adaptive_rag.index import memory_table
from adaptive_rag.index.memory_table import Cosines, WordScores
from adaptive_rag.index.neighbours import Ids
from adaptive_rag.text.vectors import Vectors


@pytest.fixture
def matrix() -> Vectors:
    rows = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_every_row_is_compared_with_every_vector_in_the_order_given(matrix: Vectors) -> None:
    cosines = Cosines(matrix)
    for asked in ([5], [5, 7, 299], [7, 7], [299, 5, 11]):
        assert np.allclose(np.stack(cosines.of(matrix[asked])), matrix[asked] @ matrix.T, atol=1e-6)


def test_a_vector_is_compared_once_while_it_is_remembered(
    matrix: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_table, "QUERIES_KEPT", 3)
    cosines = Cosines(matrix)
    compared, compare = list[int](), cosines._compare

    def counted(vectors: Vectors) -> Vectors:
        compared.append(len(vectors))
        return compare(vectors)

    monkeypatch.setattr(cosines, "_compare", counted)
    cosines.of(matrix[:2])
    cosines.of(matrix[[1, 0, 2]])
    assert compared == [2, 1]
    cosines.of(matrix[3:6])
    cosines.of(matrix[:1])
    assert compared == [2, 1, 3, 1], "three vectors are kept, the ones asked for last"


def test_known_words_are_not_waited_for_while_others_are_looked_up() -> None:
    begun, may_end = Event(), Event()

    def match(words: tuple[str, ...]) -> tuple[Ids, Vectors]:
        if words == ("tides",):
            begun.set()
            assert may_end.wait(20)
        return np.array([1]), np.ones(1, dtype=np.float32)

    scores = WordScores(np.arange(3), match)
    known = scores.of(("harbour",))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(scores.of, ("tides",))
        assert begun.wait(20)
        assert (scores.of(("harbour",)) == known).all()
        assert not other.done()
        may_end.set()


def test_a_query_that_begins_with_the_oldest_one_known_is_joined_with_it() -> None:
    asked: list[tuple[str, ...]] = []

    def match(words: tuple[str, ...]) -> tuple[Ids, Vectors]:
        asked.append(words)
        return np.array([2]), np.full(1, len(words), dtype=np.float32)

    scores = WordScores(np.arange(3), match)
    for number in range(2 * memory_table.QUERIES_KEPT):
        scores.of((f"word{number}",))
    oldest = f"word{memory_table.QUERIES_KEPT}"
    asked.clear()
    assert scores.of((oldest, "tides", "tonight")).tolist() == [0, 0, 3]
    assert asked == [("tides", "tonight")], "the words of the oldest query are known"
