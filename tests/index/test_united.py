"""Several indexes that are searched together find what one index of all their documents would find."""

from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document

from adaptive_rag.errors import IndexMismatchError, InputError
from adaptive_rag.index import Index
from adaptive_rag.index.index import open_source
from adaptive_rag.index.sharding.united import UnitedIndex
from adaptive_rag.where import read_where
from tests.index.made import HashEmbeddings, build, write_files
from tests.index.test_shards import QUERIES, notes

LIMIT = 12


def opened(uri: Path, name: str = "hash") -> Index:
    index = open_source(str(uri), HashEmbeddings(name=name))
    assert isinstance(index, Index)
    return index


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Index, UnitedIndex]:
    """The same notes as one index, and as three of different sizes; the same note is in two of them."""
    folder = tmp_path_factory.mktemp("united")
    every = notes()
    parts = {"a": every[:20], "b": every[20:90], "c": every[90:]}
    named = [
        Document(each.page_content, metadata={**each.metadata, "source": f"{name}/{each.metadata['source']}"})
        for name, part in parts.items()
        for each in part
    ]
    build(named, folder / "one", sentence_vectors=True)
    for name, part in parts.items():
        build(part, folder / name, sentence_vectors=True)
    return opened(folder / "one"), UnitedIndex({name: opened(folder / name) for name in parts})


def test_united_indexes_find_what_one_index_finds(indexes: tuple[Index, UnitedIndex]) -> None:
    one, united = indexes
    assert len(united) == len(one) and united.sources() == one.sources()
    results = (index.search(QUERIES, limit=LIMIT) for index in indexes)
    for wanted, found in zip(*results, strict=True):
        scores = {hit["source"]: hit["scores"] for hit in wanted}
        assert {hit["source"] for hit in found} == set(scores)
        for hit in found:
            assert hit["scores"]["sparse"] == pytest.approx(scores[hit["source"]]["sparse"], abs=1e-4)
            assert hit["scores"]["dense"] == pytest.approx(scores[hit["source"]]["dense"], abs=1e-5)


def test_chunks_are_read_by_ids_that_begin_with_their_index(indexes: tuple[Index, UnitedIndex]) -> None:
    _, united = indexes
    hits = united.search(["ferry quay"], limit=LIMIT)[0]
    ids = [hit["id"] for hit in hits]
    assert {id_[:2] for id_ in ids} <= {"a/", "b/", "c/"}
    assert [chunk["text"] for chunk in united.get(ids)] == [hit["text"] for hit in hits]
    assert united.vectors(ids).shape == (len(ids), 16) and len(united.sentences(ids)) == len(ids)
    chunk = next(united.chunks())
    assert united.at(united.version).get([chunk["id"]]) == [chunk]
    with pytest.raises(KeyError):
        united.get(["d/none"])


def test_a_condition_holds_over_all_indexes_by_the_names_among_them(
    indexes: tuple[Index, UnitedIndex],
) -> None:
    one, united = indexes
    for text in ('source like "b/*"', "rare = 50", "rare is known and half = no", 'source in ("c/100.txt")'):
        condition = read_where(text)
        assert united.where(condition).sources() == one.where(condition).sources(), text
        found = united.where(condition).search(["the storm"], limit=LIMIT)[0]
        assert {hit["source"] for hit in found} <= one.where(condition).sources().keys()
    with pytest.raises(InputError, match="No passage has the field"):
        len(united.where(read_where("none = 1")))
    assert united.only({"a/003.txt", "b/003.txt"}).sources().keys() == {"a/003.txt"}


def test_what_an_index_leaves_out_is_not_found_and_a_copy_of_it_keeps_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = {name: "The storm broke the sea wall of the harbour." for name in ("x.txt", "y.txt")}
    for name, texts in (("a", same | {"marsh.txt": "A quiet marsh."}), ("b", {"x.txt": same["x.txt"]})):
        monkeypatch.chdir(write_files(tmp_path / f"{name}-files", texts))
        build(".", tmp_path / name)
    a, b = opened(tmp_path / "a"), opened(tmp_path / "b")
    for hidden, shown in (("x.txt", "a/y.txt"), ("y.txt", "a/x.txt")):
        united = UnitedIndex({"a": a.without({hidden}), "b": b.without({"x.txt"})})
        found = united.search(["storm sea wall"], limit=5)[0]
        assert {hit["source"] for hit in found} == {shown, "a/marsh.txt"}
        assert all("also_as" not in hit["metadata"] for hit in found)
        assert united.sources().keys() == {shown, "a/marsh.txt"}
    both = UnitedIndex({"a": a, "b": b}).search(["storm"], limit=5)[0]
    also = {hit["source"]: hit["metadata"].get("also_as") for hit in both}
    assert set(also) == {"a/x.txt", "b/x.txt", "a/marsh.txt"} and also["a/x.txt"] == ["a/y.txt"]


def test_indexes_of_different_models_cannot_be_compared(tmp_path: Path) -> None:
    for name in ("old", "new"):
        build(notes()[:3], tmp_path / name, embeddings=HashEmbeddings(name=name))
    with pytest.raises(IndexMismatchError, match="different embedding models"):
        UnitedIndex({name: opened(tmp_path / name, name) for name in ("old", "new")})


def test_the_most_frequent_values_of_each_field_are_those_of_the_selected_chunks(
    indexes: tuple[Index, UnitedIndex],
) -> None:
    one, _ = indexes
    common = one.common_values(2)
    assert common["half"] == ("yes or no", {True: 75, False: 75})
    assert common["rare"] == ("number", {5: 1, 50: 1}) and len(common["source"][1]) == 2
    narrowed = one.where(read_where("half = yes")).common_values(20)
    assert narrowed["half"][1] == {True: 75} and narrowed["rare"][1] == {50: 1}
    assert one.without({"a/000.txt"}).common_values(5)["source"] == ("text", {})
    assert np.isclose(sum(one.common_values(500)["source"][1].values()), len(one))
