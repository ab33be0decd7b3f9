import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from adaptive_rag import AdaptiveRAG
from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index import Index, describe, row_reader, table
from adaptive_rag.where import read_where
from tests.conftest import TOWN
from tests.index.made import HashEmbeddings, build, found, open_index, write_files


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The town's notes, each a file, and two question-answer pairs."""
    folder = tmp_path_factory.mktemp("town")
    docs = write_files(folder / "docs", {f"{n:02}.txt": text for n, text in enumerate(TOWN)})
    faq = "question,answer\nWhen does the library open?,On Tuesdays.\nWho pays for the wall?,The town does.\n"
    write_files(docs, {"faq.csv": faq})
    Index.build(docs, folder / "kb")
    return folder / "kb"


@pytest.fixture(scope="module")
def index(kb: Path) -> Index:
    return Index.open(kb)


def test_it_finds_by_meaning_and_by_words(index: Index) -> None:
    by_meaning, by_words = found(index, ["How much has the ocean risen?", "214"], limit=1)
    assert "mean sea level" in by_meaning[0]
    assert "214 houses" in by_words[-1]
    fishers = [c["text"] for c in index.search(["FISHER"], limit=30)[0] if c["scores"]["sparse"] > 0]
    assert "herring fishers" in " ".join(fishers) and "Fishers fear" in " ".join(fishers)


def test_scores_are_the_cosine_and_bm25_of_every_candidate(index: Index) -> None:
    question = "sea wall of Saltmere"
    [candidates] = index.search([question], limit=4)
    vector = index.embeddings.embed_query(question)
    for candidate, stored in zip(candidates, index.vectors([c["id"] for c in candidates]), strict=True):
        assert candidate["scores"]["dense"] == pytest.approx(float(stored @ np.array(vector)), abs=1e-5)
    [everything] = index.search([question], limit=100)
    bm25 = {c["id"]: c["scores"]["sparse"] for c in everything}
    assert all(c["scores"]["sparse"] == bm25[c["id"]] for c in candidates)
    others = [c for c in everything if not re.search("wall|sea", c["text"].lower())]
    assert others and all(bm25[c["id"]] < 2 for c in others)


def test_a_batch_returns_what_single_queries_return(index: Index) -> None:
    queries = ["storm of 1978", "marsh", "who should move animals"]
    assert index.search(queries, limit=3) == [index.search([query], limit=3)[0] for query in queries]


ODD = ["", "   ", '"unclosed AND (', "a:b^2 -c +d ~e *", "🌊🌊", "the of and", "\x00\x07"]


@pytest.mark.parametrize("query", [*ODD, "wall " * 20_000, "x" * 100_000])
def test_odd_queries_are_searched_like_any_other(index: Index, query: str) -> None:
    [candidates] = index.search([query], limit=3)
    assert len(candidates) >= 3
    assert all(np.isfinite(c["scores"]["dense"]) for c in candidates)


def test_a_limit_beyond_the_index_returns_all_of_it_and_no_queries_are_no_work(index: Index) -> None:
    [candidates] = index.search(["wall"], limit=1_000_000)
    assert len(candidates) == len(index)
    assert index.search([], limit=3) == []


def test_sentences_carry_spans_of_the_source_and_unit_vectors(index: Index) -> None:
    [candidates] = index.search(["herring fishers chapel"], limit=1)
    first = candidates[0]
    [sentences] = index.sentences([first["id"]])
    texts = [first["text"][a - first["start"] : b - first["start"]] for a, b in sentences.spans]
    assert texts == [
        "Saltmere was founded in 1142 by a group of herring fishers.",
        "The first chapel was built in 1160.",
    ]
    exact = index.embeddings.encode(texts)  # type: ignore[attr-defined]
    assert ((sentences.vectors * exact).sum(axis=1) > 0.999).all()


def test_question_answer_pairs_are_scored_by_each_side(index: Index) -> None:
    [candidates] = index.search(["When does the library open?"], limit=25)
    scores = next(c["scores"] for c in candidates if c["metadata"].get("answer") == "On Tuesdays.")
    assert scores["dense_question"] == pytest.approx(1.0, abs=1e-3)
    assert scores["dense_answer"] < scores["dense"] < scores["dense_question"]
    plain = next(c for c in candidates if "kind" not in c["metadata"])
    assert set(plain["scores"]) == {"dense", "sparse"}


@pytest.mark.parametrize("kept", [2, 4096])
def test_chunks_come_back_by_id_in_the_order_asked(
    index: Index, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(row_reader, "ROWS_KEPT", kept)
    ids, opened = [chunk["id"] for chunk in index.chunks()][::-1], Index.open(index.uri)
    for _ in range(2):
        assert [chunk["id"] for chunk in opened.get(ids)] == ids
        assert [opened.get([id_])[0]["id"] for id_ in ids] == ids
    with pytest.raises(KeyError, match="nobody"):
        index.get(["nobody"])


def test_info_says_what_the_index_holds(index: Index) -> None:
    facts = index.info()
    assert facts["chunks"] == len(index) == len(TOWN) + 2
    assert facts["sources"] == len(TOWN) + 1
    assert facts["embeddings"] == "local:all-MiniLM-L6-v2"
    assert (facts["vector_search"], facts["recall"]) == ("exact", None)
    assert facts["bytes"] > 10_000


def test_an_index_is_described_without_its_model(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"a.txt": "Ebb and flow."})
    Index.build(docs, tmp_path / "kb", embeddings=DeterministicFakeEmbedding(size=16))
    with pytest.raises(ConfigurationError, match=r"loaded by name.*Pass the same embeddings object"):
        Index.open(tmp_path / "kb")
    assert describe(tmp_path / "kb")["chunks"] == 1


def test_another_model_is_refused_with_both_names_and_vectors_of_another_length(tmp_path: Path) -> None:
    build(write_files(tmp_path / "docs", {"a.txt": "Ebb."}), tmp_path / "kb")
    with pytest.raises(IndexMismatchError, match=r"HashEmbeddings:hash.*all-MiniLM.*--rebuild"):
        Index.open(tmp_path / "kb", embeddings="local:all-MiniLM-L6-v2")
    with pytest.raises(IndexMismatchError, match=r"16 dimensions.* made one of 24"):
        Index.open(tmp_path / "kb", embeddings=HashEmbeddings(dimension=24)).search(["ebb"], limit=1)


@pytest.mark.parametrize("place", ["nowhere", "foreign", "broken"])
def test_what_is_no_index_is_refused_with_the_way_out(tmp_path: Path, place: str) -> None:
    write_files(tmp_path / "foreign", {"letter.txt": "Dear aunt"})
    write_files(tmp_path / "broken", {"manifest.json": "{}"})
    with pytest.raises(IndexMismatchError, match="--index"):
        Index.open(tmp_path / place)
    assert not (tmp_path / "nowhere").exists()


def test_threads_share_an_index(index: Index) -> None:
    from concurrent.futures import ThreadPoolExecutor

    queries = [f"{word} {n}" for n in range(8) for word in ("wall", "marsh", "siren")]
    alone = [index.search([query], limit=5)[0] for query in queries]
    fresh = Index.open(index.uri)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: fresh.search([query], limit=5)[0], queries))
    assert together == alone


def test_an_index_without_sentence_vectors_embeds_sentences_when_asked(kb: Path, tmp_path: Path) -> None:
    Index.build(kb.parent / "docs", tmp_path / "kb", sentence_vectors=False)
    bare, whole = Index.open(tmp_path / "kb"), Index.open(kb)
    ids = {chunk["text"]: chunk["id"] for chunk in whole.chunks()}
    chunks = list(bare.chunks())
    embedded = bare.sentences([chunk["id"] for chunk in chunks])
    stored = whole.sentences([ids[chunk["text"]] for chunk in chunks])
    for ours, theirs in zip(embedded, stored, strict=True):
        assert ours.spans.tolist() == theirs.spans.tolist()
        np.testing.assert_allclose(ours.vectors, theirs.vectors, atol=0.02)
    assert sum(len(found.spans) for found in embedded) > len(chunks)
    asked = "Who pays for the wall?"
    output, expected = AdaptiveRAG(tmp_path / "kb").invoke(asked), AdaptiveRAG(kb).invoke(asked)
    assert not output["abstained"]
    assert output["answer"] == expected["answer"]


def test_a_held_table_gives_the_scores_that_lancedb_gives(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["sea wall of Saltmere", "sea wall of Saltmere risks and arguments", "214 houses", "?!"]
    held = Index.open(kb).search(queries, limit=100)
    monkeypatch.setattr(row_reader, "IN_MEMORY_UP_TO", 0)
    asked = Index.open(kb).search(queries, limit=100)
    for ours, theirs in zip(held, asked, strict=True):
        expected = {candidate["id"]: candidate["scores"] for candidate in theirs}
        assert len(ours) == len(theirs)
        for candidate in ours:
            assert candidate["scores"] == pytest.approx(expected[candidate["id"]], abs=1e-5)


def test_a_word_of_any_letters_is_held_whole_only(tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {"a.txt": "Что было, то прошло.\nLes Étés sont chauds."})
    build(tmp_path / "docs", tmp_path / "kb")
    index = open_index(tmp_path / "kb")
    assert all(map(index.holds, ("было", "Étés", "étés", "что")))
    assert not any(map(index.holds, ("бы", "té", "chaud")))


def test_words_of_any_script_and_length_are_found_however_their_accents_are_typed(tmp_path: Path) -> None:
    words = ["हिन्दी", "भारत", "достопримечательностями", "Köln", "e3b0c442" * 8]
    write_files(tmp_path / "docs", {f"{number}.txt": word for number, word in enumerate(words)})
    build(tmp_path / "docs", tmp_path / "kb")
    typed = [unicodedata.normalize("NFD", word) for word in words]
    hits = open_index(tmp_path / "kb").search(typed, limit=1)
    assert [[c["text"] for c in candidates if c["scores"]["sparse"]] for candidates in hits] == [
        [w] for w in words
    ]


def test_a_misspelt_word_is_compared_with_those_of_a_large_selection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.reader.NAMED_ROWS", 2)
    others = {f"other/{n:02}.txt": f"Harbour {n}." for n in range(30)}
    long = f"The harbour {'and the long wall of stone ' * 20}"
    write_files(tmp_path / "docs", others | {f"ours/{n}.txt": f"{long} {n}." for n in range(3)})
    build(tmp_path / "docs", tmp_path / "kb")
    ours = open_index(tmp_path / "kb").where(read_where("source like '*/ours/*'"))
    assert "harbour" in ours.spelt_like("harbur")


def test_words_whose_neighbours_lancedb_cannot_count_are_compared_within_fewer_letters(
    tmp_path: Path,
) -> None:
    law = "Each thermometer is read at noon. Migrants may be repatriates."
    write_files(tmp_path / "docs", {"law.txt": law})
    Index.build(tmp_path / "docs", tmp_path / "kb")
    index = Index.open(tmp_path / "kb")
    # Three letters apart of each of these take LanceDB more than 10,000 states.
    assert "thermometer" in index.spelt_like("thermometre")
    assert index.spelt_like("repatriated") == index.spelt_like("elaboration") == []
    asked = "Should all illegal immigrants be repatriated?"
    assert AdaptiveRAG(index=str(tmp_path / "kb")).invoke(asked)["answer"]


def test_of_many_chunks_that_match_equally_the_same_ones_are_found_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_reader, "IN_MEMORY_UP_TO", 0)
    monkeypatch.setattr(table, "SMALL", 0)
    for first in (0, 200):  # the later ones are not in the word index yet
        notes = (Document("the sea wall", metadata={"source": f"{first + n}"}) for n in range(200))
        build(notes, tmp_path / "kb", prune=False)
    reader = open_index(tmp_path / "kb").reader()
    rows, bm25 = reader.match("wall", 400)
    first_five = sorted(rows[bm25 == bm25[0]])[:5]
    assert all(reader.match("wall", 5)[0].tolist() == first_five for _ in range(20))
