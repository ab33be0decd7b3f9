"""What the tests of several formats share: a file with a given content, written and read."""

import pytest

from adaptive_rag.ingest import extract_text


@pytest.fixture
def read_file(tmp_path):
    """Write a file, and read it."""

    def write_and_read(name, content):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return extract_text(tmp_path / name)

    return write_and_read
