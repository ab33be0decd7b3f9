from pathlib import Path

import numpy as np
import pytest

from adaptive_rag.index.cache import EmbeddingCache


def vectors(*values: float) -> np.ndarray:
    return np.array([[value, 0.5] for value in values], dtype=np.float32)


def test_vectors_come_back_by_model_and_text(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put("small", ["tide", "storm"], vectors(1, 2))
    cache.close()
    again = EmbeddingCache(tmp_path)
    storm, unknown, tide = again.get("small", ["storm", "wall", "tide"])
    assert unknown is None
    assert storm is not None and tide is not None
    assert (storm[0], tide[0]) == (2, 1)
    assert again.get("large", ["tide"]) == [None]


def test_more_texts_than_one_query_takes_are_found(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    texts = [f"text {n}" for n in range(1300)]
    cache.put("small", texts, vectors(*range(1300)))
    assert [row[0] for row in cache.get("small", texts) if row is not None] == list(range(1300))


def test_the_oldest_entries_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptive_rag.index.cache.ENTRIES_KEPT", 2)
    cache = EmbeddingCache(tmp_path)
    for number, text in enumerate(["a", "b", "c"]):
        cache.put("small", [text], vectors(number))
    cache.trim()
    assert [row is not None for row in cache.get("small", ["a", "b", "c"])] == [False, True, True]


def test_without_a_folder_nothing_is_held() -> None:
    cache = EmbeddingCache(None)
    cache.put("small", ["tide"], vectors(1))
    assert cache.get("small", ["tide"]) == [None]
    cache.trim()
    cache.close()


def test_a_text_that_is_not_unicode_has_a_key(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put("small", ["\ud800"], vectors(1))
    assert cache.get("small", ["\ud800"])[0] is not None
