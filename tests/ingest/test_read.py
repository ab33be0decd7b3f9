import os
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.ingest import Failure, SourceFile, extract_text, hash_file, read_source
from adaptive_rag.ingest.file import read_file
from adaptive_rag.ingest.loaders import LOADERS, Loader, list_suffixes
from adaptive_rag.ingest.text import load_text


@pytest.fixture
def meddle(monkeypatch):
    """Let something happen to each .txt file right after it was read."""

    def install(happening):
        def load(self, path, builder):
            load_text(path, builder)
            happening(path)

        monkeypatch.setattr(Loader, "__call__", load)

    return install


def test_an_empty_file_says_so_whatever_its_kind(tmp_path):
    for suffix in list_suffixes().split(", "):
        path = tmp_path / f"a{suffix}"
        path.touch()
        with pytest.raises(IndexingError) as error:
            extract_text(path)
        assert "is empty: it has 0 bytes" in str(error.value), suffix


def test_a_file_that_vanishes_while_it_is_read_is_reported(tmp_path, meddle):
    path = tmp_path / "a.txt"
    path.write_text("Here now.")
    meddle(Path.unlink)
    with pytest.raises(IndexingError, match="vanished while it was read"):
        read_file(SourceFile(path, "a.txt"), LOADERS["text"])


def test_a_file_that_vanished_before_it_is_read_is_reported(tmp_path):
    assert read_source(SourceFile(tmp_path / "a.txt", "a.txt")) == Failure(
        "a.txt", "vanished while it was read"
    )


def test_a_missing_temporary_folder_is_not_reported_as_the_file(tmp_path, meddle):
    (tmp_path / "a.txt").write_text("Here now.")

    def fail(path):
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    meddle(fail)
    with pytest.raises(IndexingError, match=r"^cannot be read: No usable temporary directory"):
        read_file(SourceFile(tmp_path / "a.txt", "a.txt"), LOADERS["text"])


def test_a_file_that_changes_once_is_read_again(tmp_path, meddle):
    path = tmp_path / "a.txt"
    path.write_text("First.")
    changes = iter(["Second, and longer."])
    meddle(
        lambda path: path.write_text(next(changes, path.read_text())) if path.read_text() == "First." else 0
    )
    source = read_file(SourceFile(path, "a.txt"), LOADERS["text"])
    assert (source.text, source.content_hash) == ("Second, and longer.", hash_file(path))


def test_a_file_that_keeps_changing_is_reported(tmp_path, meddle):
    path = tmp_path / "a.txt"
    path.write_text("More.")
    meddle(lambda path: path.write_text(path.read_text() + " And more."))
    with pytest.raises(IndexingError, match=r"^changed while it was read, 2 times"):
        read_file(SourceFile(path, "a.txt"), LOADERS["text"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_reported(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Secret.")
    path.chmod(0)
    result = read_source(SourceFile(path, "a.txt"))
    assert isinstance(result, Failure)
    assert "Permission denied" in result.reason


def test_a_missing_extra_names_the_line_that_installs_it(tmp_path, monkeypatch):
    row = Loader((".toy",), "toy_loader:load_toy", extra="toy", package="no_such_package")
    monkeypatch.setitem(LOADERS, "toy", row)
    path = tmp_path / "a.toy"
    path.write_text("Hello.")
    with pytest.raises(MissingExtraError, match=r"pip install 'adaptive-rag\[toy\]'"):
        extract_text(path)
    assert isinstance(read_source(SourceFile(path, "a.toy")), Failure)


@pytest.mark.parametrize("name", ["missing.txt", "folder"])
def test_a_path_that_is_no_file_is_named(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigurationError, match=name):
        extract_text(tmp_path / name)
