"""Scores by words made in memory: BM25Okapi over every chunk, and TF-IDF beside any BM25."""

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from sklearn.feature_extraction.text import TfidfVectorizer

from adaptive_rag import AdaptiveRAG
from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index import Index
from adaptive_rag.index.langchain import RetrieverSource
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.search import words
from adaptive_rag.search.search import search
from adaptive_rag.search.words import EveryChunk, OkapiWords, TfidfWords, add_tfidf, check_lexical
from adaptive_rag.state import Query
from tests.conftest import TOWN
from tests.recipes.made import okapi, scaled

QUESTION = "How long is the sea wall?"
ANALYSIS: Any = {"ontology_terms": {}, "domain_relevance": 0.5, "intent": "factual"}


def test_every_chunk_is_a_candidate_and_has_its_bm25(town: MemoryIndex, built_town: Index) -> None:
    expected = dict(zip(TOWN, okapi(TOWN, QUESTION), strict=True))
    for source in (town, built_town):
        [found] = EveryChunk(source).search([QUESTION], limit=2)
        assert {c["text"]: c["scores"]["sparse"] for c in found} == pytest.approx(expected)
        assert all("dense" in candidate["scores"] for candidate in found)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of chunks whose words have been read."""
    counts: list[int] = []

    class Counted(OkapiWords):
        def __init__(self, chunks: Any) -> None:
            super().__init__(chunks)
            counts.append(len(self))

    monkeypatch.setattr(words, "OkapiWords", Counted)
    return counts


def test_all_questions_about_one_state_of_an_index_share_its_words(
    built_town: Index, tmp_path: Path, read: list[int]
) -> None:
    for where in ("", "", "kind = txt", "kind = txt"):
        rag = AdaptiveRAG(built_town, recipe="vector-bm25-fusion", where=where)
        assert len(rag.invoke(QUESTION)["documents"]) == 5
    assert read == [len(TOWN)] * 2
    (tmp_path / "new.txt").write_text("The lighthouse of Saltmere has a red lamp.")
    Index.build([tmp_path / "new.txt"], tmp_path / "index")
    [found] = EveryChunk(built_town).search(["lighthouse"], limit=1)
    best = max(found, key=lambda candidate: candidate["scores"]["sparse"])
    assert "lighthouse" in best["text"] and read[2:] == [len(TOWN) + 1]


def test_the_words_go_with_the_source_that_they_were_read_from() -> None:
    source = MemoryIndex.from_texts(TOWN)
    EveryChunk(source)
    # Other tests' sources may go at any time: this one alone is watched.
    watched = weakref.ref(source)
    del source
    gc.collect()
    assert watched() is None


def test_some_sources_of_an_index_are_scored_among_themselves(built_town: Index) -> None:
    some = built_town.only({name for name in built_town.sources() if name.endswith(("01.txt", "16.txt"))})
    [found] = EveryChunk(some).search([QUESTION], limit=1)
    texts = [TOWN[1], TOWN[16]]
    assert {c["text"]: c["scores"]["sparse"] for c in found} == pytest.approx(
        dict(zip(texts, okapi(texts, QUESTION), strict=True))
    )
    assert len(some) == 2 and some.version == built_town.version


def test_a_retriever_that_cannot_list_its_chunks_is_refused_before_anything_is_asked() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document("The wall is long.")])
    context = make_context(retriever=store, retrieval={"lexical": "okapi"})
    source = RetrieverSource(store)
    with pytest.raises(ConfigurationError, match=r"cannot list its chunks.*set retrieval.lexical to 'index'"):
        check_lexical(source, context)
    check_lexical(source, make_context(retriever=store))
    check_lexical(source, make_context(retriever=store, without="fusion", retrieval={"lexical": "okapi"}))


@pytest.mark.parametrize("texts", [[], [""], ["   ", ""]])
def test_where_there_are_no_words_nothing_breaks(texts: list[str]) -> None:
    source = MemoryIndex.from_texts(texts)
    context = make_context(index=source, retrieval={"lexical": "okapi", "tfidf": 0.5})
    found, _ = search(source, [Query(text=QUESTION)], context, ANALYSIS)
    assert len(found) == len(texts)


def test_a_pasted_page_is_cut_to_its_first_words(town: MemoryIndex) -> None:
    page = "sea wall " * 64 + "library " * 500
    scores = OkapiWords(town.chunks()).score(page, ["town.txt-1", "town.txt-16"])
    assert scores[0] > 0 == scores[1]


def test_tfidf_is_the_cosine_of_scikit_learns_vectorizer() -> None:
    texts = {"a": "the sea wall is long", "b": "herring and salt", "c": ""}
    matrix = TfidfVectorizer().fit(texts.values())
    expected = (matrix.transform(["the long sea"]) @ matrix.transform(texts.values()).T).toarray()
    found = TfidfWords(texts).cosines(["the long sea", "zebra"], ["c", "a", "b"])
    assert found[0] == pytest.approx(expected[0][[2, 0, 1]])
    assert found[1].tolist() == [0, 0, 0]


def test_the_share_reaches_the_search_and_moves_what_words_count(town: MemoryIndex) -> None:
    def scores(**retrieval: Any) -> dict[str, dict[str, float]]:
        context = make_context(index=town, retrieval={"alpha": 0.5, **retrieval})
        found, _ = search(town, [Query(text=QUESTION)], context, ANALYSIS)
        return {candidate["id"]: candidate["scores"] for candidate in found}

    plain, mixed = scores(), scores(tfidf=0.3)
    assert all("words" not in found for found in plain.values())
    ids = list(mixed)
    dense, by_words = ([mixed[id_][name] for id_ in ids] for name in ("dense", "words"))
    joined = 0.5 * scaled(dense) + 0.5 * scaled(by_words)
    assert [mixed[id_]["fused"] for id_ in ids] == pytest.approx(joined.tolist())
    assert any(abs(mixed[id_]["fused"] - plain[id_]["fused"]) > 0.01 for id_ in ids)


def test_words_that_a_query_does_not_ask_for_do_not_count(make: Any) -> None:
    found = [make("a", "sea", dense=0.1, sparse=1.0), make("b", "storm", dense=0.1, sparse=0.0)]
    queries = [Query(text="sea"), Query(text="storm", dense=1.0, sparse=0.0)]
    scored = {c["id"]: c["scores"]["tfidf"] for c in add_tfidf(found, queries, 1.0)}
    assert scored == {"a": pytest.approx(1.0), "b": 0.0}


def test_without_fusion_no_words_are_read(town: MemoryIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("words were read")

    monkeypatch.setattr(words.OkapiWords, "__init__", refuse)
    monkeypatch.setattr(words.TfidfWords, "__init__", refuse)
    settings = {"lexical": "okapi", "tfidf": 0.5, "fusion": "dense"}
    source = MemoryIndex.from_texts(TOWN)
    found, _ = search(
        source, [Query(text=QUESTION)], make_context(index=source, retrieval=settings), ANALYSIS
    )
    assert "sea wall" in found[0]["text"]
