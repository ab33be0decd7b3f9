from pathlib import Path

import numpy as np
import pytest

from adaptive_rag.index import Index
from tests.index.made import HashEmbeddings, build, change_manifest, open_index, write_files

WORDS = ["tide", "storm", "wall", "marsh", "siren", "harbour", "beach", "town", "salt", "wave", "boat", "net"]


@pytest.fixture(scope="module")
def notes() -> dict[str, str]:
    generator = np.random.default_rng(7)
    return {f"{n:03}.txt": f"Note {n}: " + " ".join(generator.choice(WORDS, 6)) for n in range(400)}


@pytest.fixture
def docs(tmp_path: Path, notes: dict[str, str]) -> Path:
    return write_files(tmp_path / "docs", notes)


@pytest.fixture
def kb(docs: Path, new_kb: Path) -> Path:
    build(docs, new_kb)
    return new_kb


def test_a_large_index_is_searched_approximately_and_says_how_well(
    docs: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = ["storm tide wall", "salt marsh boat", "siren"]
    exact = open_index(kb).search(queries, limit=10)
    monkeypatch.setattr("adaptive_rag.index.neighbours.EXACT_UP_TO", 100)
    write_files(docs, {"400.txt": "One more note."})
    build(docs, kb)
    index = open_index(kb)
    assert index._reader.manifest.recall == index.info()["recall"]
    assert index.info()["recall"]["recall_at_10"] >= 0.9
    for ours, truth in zip(index.search(queries, limit=10), exact, strict=True):
        known = {c["id"]: c["scores"] for c in ours}
        shared = [c for c in truth if c["id"] in known]
        assert len(shared) >= 0.8 * len(truth)
        for candidate in shared:
            assert known[candidate["id"]]["dense"] == pytest.approx(candidate["scores"]["dense"], abs=1e-5)
            assert (known[candidate["id"]]["sparse"] > 0) == (candidate["scores"]["sparse"] > 0)
            assert known[candidate["id"]]["sparse"] == pytest.approx(candidate["scores"]["sparse"], rel=0.05)


@pytest.mark.nightly
def test_rows_that_come_later_are_found(docs: Path, new_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptive_rag.index.neighbours.EXACT_UP_TO", 100)
    monkeypatch.setattr("adaptive_rag.index.table.SMALL", 10)
    build(docs, new_kb)
    write_files(docs, {"late.txt": "A lighthouse keeper waits."})
    build(docs, new_kb)
    [candidates] = open_index(new_kb).search(["A lighthouse keeper waits."], limit=3)
    assert candidates[0]["text"] == "A lighthouse keeper waits."


def test_an_odd_dimension_can_be_indexed(docs: Path, new_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptive_rag.index.neighbours.EXACT_UP_TO", 100)
    model = HashEmbeddings(dimension=13)
    build(docs, new_kb, embeddings=model)
    assert len(Index.open(new_kb, embeddings=model).search(["tide"], limit=5)[0]) >= 5


def test_a_state_that_has_no_vector_index_yet_is_no_damage(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # as a first run publishes it on its way
    monkeypatch.setattr("adaptive_rag.index.neighbours.EXACT_UP_TO", 100)
    assert Index.check(kb).healthy and Index.check(kb, deep=True).healthy
    change_manifest(kb, lambda manifest: manifest.update(recall={"recall_at_10": 1.0}))
    assert ("vector index", "is missing") in Index.check(kb).damages


def test_equal_rows_are_indexed_searched_removed_and_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More than 256 cells, as 65,000 chunks have: LanceDB refuses them where fewer vectors differ.
    monkeypatch.setattr("adaptive_rag.index.neighbours._cells", lambda chunks: 300)
    monkeypatch.setattr("adaptive_rag.index.neighbours.EXACT_UP_TO", 100)
    rows = '{"note": "The gate was closed."}\n' * 1000
    docs, kb = tmp_path / "docs", tmp_path / "kb"
    build(write_files(docs, {"equal.jsonl": rows, "other.txt": "A siren sounds."}), kb)
    recall = open_index(kb).info()["recall"]["recall_at_10"]
    assert recall == 1.0, "one of equal rows is as good as another"
    assert open_index(kb).search(["The gate was closed."], limit=5)[0]
    for change in ({"rebuild": True}, {}):
        write_files(docs, {"third.txt": "One more note."})
        assert not build(docs, kb, **change).failed
    (docs / "equal.jsonl").unlink()
    build(docs, kb)
    assert len(open_index(kb)) == 2
