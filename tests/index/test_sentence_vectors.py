"""An index with and without sentence vectors."""

from pathlib import Path

import numpy as np
import pytest

from adaptive_rag import Index
from adaptive_rag.errors import IndexMismatchError
from tests.index.made import write_files


@pytest.mark.parametrize("first", [True, False])
def test_vectors_of_chunks_do_not_depend_on_it_but_an_index_has_one_way(tmp_path: Path, first: bool) -> None:
    docs = write_files(tmp_path / "docs", {"marsh.txt": "The marsh floods twice a day. Herons nest in it."})
    vectors = []
    for way in (first, not first):
        Index.build(docs, tmp_path / str(way), sentence_vectors=way)
        index = Index.open(tmp_path / str(way))
        assert index.stores_sentences is way
        vectors.append(index.vectors(sorted(chunk["id"] for chunk in index.chunks())))
    assert np.array_equal(*vectors)
    said = {True: "with", False: "without"}
    both = rf", {said[first]} sentence .*, {said[not first]} sentence .*--rebuild"
    with pytest.raises(IndexMismatchError, match=both):
        Index.build(docs, tmp_path / str(first), sentence_vectors=not first)
