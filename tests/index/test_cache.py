import sqlite3
from pathlib import Path

import numpy as np
import pytest

from adaptive_rag.index.cache import FILE, EmbeddingCache, cache_damage


def vectors(*values: float) -> np.ndarray:
    return np.array([[value, 0.5] for value in values], dtype=np.float32)


def test_vectors_come_back_by_model_and_text(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put("small", ["tide", "\ud800"], vectors(1, 2))
    cache.close()
    again = EmbeddingCache(tmp_path)
    odd, unknown, tide = again.get("small", ["\ud800", "wall", "tide"])
    assert unknown is None
    assert odd is not None and tide is not None
    assert (odd[0], tide[0]) == (2, 1)
    assert again.get("large", ["tide"]) == [None]


def test_the_oldest_entries_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptive_rag.index.cache.ENTRIES_KEPT", 2)
    cache = EmbeddingCache(tmp_path)
    for number, text in enumerate(["a", "b", "c"]):
        cache.put("small", [text], vectors(number))
    cache.trim()
    assert [row is not None for row in cache.get("small", ["a", "b", "c"])] == [False, True, True]


def change(folder: Path, statement: str) -> None:
    database = sqlite3.connect(folder / FILE)
    with database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET vector = zeroblob(8) WHERE rowid = 1",
        "UPDATE entries SET vector = 'text' WHERE rowid = 1",
        "UPDATE entries SET checksum = zeroblob(8) WHERE rowid = 1",
        "UPDATE entries SET checksum = 7 WHERE rowid = 1",
    ],
)
def test_a_vector_that_was_changed_is_not_found_and_is_made_anew(tmp_path: Path, statement: str) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put("small", ["tide", "storm"], vectors(1, 2))
    cache.close()
    change(tmp_path, statement)
    assert cache_damage(tmp_path) == "1 vectors have changed since they were written"
    cache = EmbeddingCache(tmp_path)
    tide, storm = cache.get("small", ["tide", "storm"])
    assert tide is None and storm is not None
    cache.put("small", ["tide"], vectors(1))
    assert cache.get("small", ["tide"])[0] is not None and cache_damage(tmp_path) == ""


def test_a_vector_of_another_text_is_not_taken_for_it(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put("small", ["tide", "storm"], vectors(1, 2))
    cache.close()
    # as a flipped bit in the number of a row does
    change(tmp_path, "UPDATE entries SET (vector, checksum) = (SELECT vector, checksum FROM entries LIMIT 1)")
    assert [row is None for row in EmbeddingCache(tmp_path).get("small", ["tide", "storm"])] == [False, True]


@pytest.mark.parametrize("damage", ["garbage", "torn", "renamed table", "renamed column"])
def test_a_broken_cache_is_begun_anew(tmp_path: Path, damage: str) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put("small", [f"text {n}" for n in range(400)], vectors(*range(400)))
    cache.close()
    file = tmp_path / FILE
    if damage == "garbage":
        file.write_bytes(b"garbage" * 1000)
    elif damage == "torn":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    else:
        old, new = ("entries (", "fntries (") if damage == "renamed table" else ("vector BLOB", "wector BLOB")
        change(tmp_path, f"UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}')")
    if damage != "renamed table":
        assert cache_damage(tmp_path)
    cache = EmbeddingCache(tmp_path)
    cache.get("small", ["text 1"])
    cache.put("small", ["tide"], vectors(1))
    cache.close()
    assert cache_damage(tmp_path) == ""
    assert EmbeddingCache(tmp_path).get("small", ["tide"])[0] is not None


def test_a_cache_that_is_only_locked_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put("small", ["tide"], vectors(1))
    monkeypatch.setattr("sqlite3.connect", lambda file, timeout: _connect(file, timeout=0.01))
    other = _connect(tmp_path / FILE)
    other.execute("BEGIN EXCLUSIVE")
    assert EmbeddingCache(tmp_path).get("small", ["tide"]) == [None]
    other.rollback()
    assert EmbeddingCache(tmp_path).get("small", ["tide"])[0] is not None


def test_a_cache_that_has_no_file_or_cannot_open_it_holds_nothing_and_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    assert cache_damage(tmp_path) == ""
    for folder in (None, tmp_path):
        cache = EmbeddingCache(folder)
        cache.put("small", ["tide"], vectors(1))
        assert cache.get("small", ["tide"]) == [None]
        cache.trim()


_connect = sqlite3.connect
