import numpy as np
import pytest
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.langchain import RetrieverSource, to_chunk
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.source import ChunkSource
from tests.conftest import TOWN
from tests.index.made import HashEmbeddings


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [
        Document(page_content=text, metadata={"source": "town.txt", "page": 2, "start_index": 150 * n})
        for n, text in enumerate(TOWN)
    ]


@pytest.fixture(scope="module")
def store(documents: list[Document]) -> RetrieverSource:
    return RetrieverSource(InMemoryVectorStore.from_documents(documents, load_minilm()))


def test_a_vector_store_is_asked_for_as_many_chunks_as_wanted(store: RetrieverSource) -> None:
    assert isinstance(store, ChunkSource)
    found = store.search(["sea level", "marsh"], limit=5)
    assert [len(candidates) for candidates in found] == [5, 5]
    assert "mean sea level" in found[0][0]["text"]


def test_scores_are_computed_on_what_came_back(store: RetrieverSource) -> None:
    [candidates] = store.search(["storm of 1978"], limit=4)
    vector = load_minilm().encode(["storm of 1978"])[0]
    vectors = store.vectors([c["id"] for c in candidates])
    assert np.allclose([c["scores"]["dense"] for c in candidates], vectors @ vector, atol=1e-5)
    by_words = max(candidates, key=lambda c: c["scores"]["sparse"])
    assert "1978" in by_words["text"]
    assert by_words["scores"]["sparse"] > 0


def test_texts_are_compared_as_queries_are(documents: list[Document]) -> None:
    class Asymmetric(HashEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            return super().embed_query(f"query: {text}")

    source = RetrieverSource(BM25Retriever.from_documents(documents), Asymmetric())
    [candidates] = source.search(["siren"], limit=4)
    [cosines] = source.similarities(["siren"], [c["id"] for c in candidates])
    assert np.allclose([c["scores"]["dense"] for c in candidates], cosines, atol=1e-5)


def test_a_retriever_serves_too_and_keeps_its_metadata(documents: list[Document]) -> None:
    source = RetrieverSource(BM25Retriever.from_documents(documents, k=3))
    [candidates] = source.search(["siren"], limit=10)
    assert len(candidates) == 3
    first = candidates[0]
    assert (first["source"], first["page"]) == ("town.txt", 3)
    assert first["end"] == first["start"] + len(first["text"])


def test_a_document_replaced_under_its_id_is_scored_and_quoted_by_its_new_text() -> None:
    store = InMemoryVectorStore(load_minilm())
    source = RetrieverSource(store)
    for text in ("The sea wall is long.", "The ferry leaves at 7:45. It is late."):
        store.add_documents([Document(text, id="a")])
        [[found]] = source.search([text], limit=1)
        assert found["scores"]["dense"] > 0.99
        [sentences] = source.sentences(["a"])
        assert sentences.spans[-1][1] == len(text)


def test_nothing_found_is_an_empty_list_and_something_else_is_refused() -> None:
    source = RetrieverSource(InMemoryVectorStore(load_minilm()))
    assert source.search(["anything"], limit=3) == [[]]
    assert source.search([], limit=3) == []
    with pytest.raises(ConfigurationError, match="expected a LangChain retriever"):
        RetrieverSource("chroma")  # type: ignore[arg-type]


def test_a_document_may_lack_its_source_and_something_else_is_named() -> None:
    assert to_chunk(Document("The ferry is late.", metadata={"source": None}))["source"] == "retriever"
    half = to_chunk(Document("The ferry \ud83d is late.", metadata={"source": "a\udcff.txt"}))
    assert (half["text"], half["source"]) == ("The ferry ? is late.", "a?.txt")
    with pytest.raises(ConfigurationError, match="returned 'str'; a LangChain Document was expected"):
        to_chunk("The ferry is late.")  # type: ignore[arg-type]


def test_metadata_of_an_app_is_plain_data_and_not_taken_for_our_own() -> None:
    metadata = {
        "page": 3.0, "start_index": 812.0, "score": np.float32(0.5), "note": "\ud800",
        "columns": 3, "section_starts": None, "ocr_spans": None, "also_as": None,
    }  # fmt: skip
    chunk = to_chunk(Document("The ferry \ud800 is late.", metadata=metadata))
    assert (chunk["page"], chunk["start"], chunk["text"]) == (4, 812, "The ferry ? is late.")
    assert chunk["metadata"] == {"page": 3.0, "start_index": 812.0, "score": 0.5, "note": "?"}
