"""A benchmark goes on with an index that a run before it left half made."""

from pathlib import Path
from unittest.mock import Mock, call

import pytest

from benchmarks import reader
from benchmarks.real import __main__ as real


def test_an_index_that_is_there_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "Index", index := Mock())
    for name, open_index, given in (("reader", reader.open_documents, []), ("real", real.open_index, {})):
        folder = tmp_path / name / "town"
        (folder / "index").mkdir(parents=True)
        open_index("town", given, tmp_path, tmp_path)
        paths = folder / "documents", folder / "index"
        assert index.mock_calls[-2:] == [call.build(*paths), call.open(paths[1])]
