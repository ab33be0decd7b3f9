"""Holds that an XPS document is read as the PDF that it would be printed to."""

import zipfile

import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text


def test_a_damaged_xps_document_is_refused_in_plain_words(tmp_path):
    (tmp_path / "a.xps").write_bytes(b"no archive")
    with pytest.raises(IndexingError, match=r"is damaged\. Fetch"):
        extract_text(tmp_path / "a.xps")
    with zipfile.ZipFile(tmp_path / "b.oxps", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    with pytest.raises(IndexingError, match="is damaged"):
        extract_text(tmp_path / "b.oxps")
