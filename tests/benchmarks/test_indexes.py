"""A benchmark goes on with an index that a run before it left half made."""

from pathlib import Path
from unittest.mock import Mock, call

import pytest

from benchmarks import reader
from benchmarks.real import __main__ as real


def test_an_index_that_is_there_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((reader, "reader"), (real, "real")):
        index = Mock()
        monkeypatch.setattr(module, "Index", index)
        folder = tmp_path / name / "town"
        (folder / "index").mkdir(parents=True)
        if module is reader:
            reader.open_documents("town", [], tmp_path, tmp_path)
        else:
            real.open_index("town", {}, tmp_path, tmp_path)
        paths = folder / "documents", folder / "index"
        assert index.mock_calls == [call.build(*paths), call.open(paths[1])]
