from datetime import date

import numpy as np
import pytest
from langchain_core.documents import Document

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest import from_langchain, split, to_document
from tests.ingest.spans import checked_chunks


def test_an_apps_documents_become_sources_with_their_metadata():
    metadata = {"source": "log", "author": "Ford", "columns": 5}
    (first, second) = from_langchain([Document("The tide rose.", metadata=metadata), Document("It fell.")])
    (chunk,) = split(first)
    assert (chunk["source"], chunk["text"]) == ("log", "The tide rose.")
    assert chunk["metadata"] == {"author": "Ford"}
    assert second.content_hash != first.content_hash


def test_a_document_without_a_source_keeps_its_place_when_another_is_indexed():
    code, canteen = Document("The code is 4711."), Document("The canteen opens at noon.")
    (named,) = from_langchain([code])
    assert [source.source for source in from_langchain([canteen, code, code])][1:] == [named.source]
    assert [source.source for source in from_langchain([Document("It fell.", id="tide-7")])] == ["tide-7"]


def test_pages_of_one_source_stay_together_and_count_from_1():
    pages = [Document(f"Page {page}.", metadata={"source": "a.pdf", "page": page}) for page in range(3)]
    (source,) = from_langchain(pages)
    assert [chunk["page"] for chunk in checked_chunks(source)] == [1, 2, 3]


def test_numbers_of_numpy_stay_numbers():
    metadata = {"source": "a.pdf", "page": np.int64(2), "level": np.float32(0.5), "day": date(2024, 5, 1)}
    [source] = from_langchain([Document("The tide rose.", metadata=metadata)])
    assert source.records[0].page == 3
    assert source.records[0].metadata == {"page": 2, "level": 0.5, "day": "2024-05-01"}


def test_an_empty_cell_of_pandas_has_no_value():
    metadata = {"source": "a", "level": float("nan"), "gauge": {"height": np.float64("nan"), "years": [1, 2]}}
    [source] = from_langchain([Document("The tide rose.", metadata=metadata)])
    assert source.records[0].metadata == {"level": None, "gauge": {"height": None, "years": [1, 2]}}


def test_a_chunk_comes_back_from_langchain_as_it_went():
    (source,) = from_langchain([Document("The tide rose.", metadata={"source": "a.pdf", "page": 6})])
    (chunk,) = split(source)
    document = to_document(chunk)
    assert document.id == chunk["id"]
    assert document.metadata["page"] == 7
    assert document.metadata["start_index"] == 0
    (again,) = split(next(from_langchain([document])))
    assert (again["page"], again["source"], again["text"]) == (7, "a.pdf", "The tide rose.")


def test_what_is_no_document_is_refused():
    with pytest.raises(ConfigurationError, match="Item 1 is 'str'"):
        from_langchain(["text"])


def test_half_a_character_or_an_odd_name_of_an_app_does_no_harm():
    metadata = {"source": "caf\udce9.txt", "author": "\ud800"}
    [text] = from_langchain([Document(page_content="Tide \ud83c.", metadata=metadata)])
    assert (text.source, text.text) == (r"caf\xe9.txt", "Tide ?.")
    assert text.records[0].metadata == {"author": "?"}
