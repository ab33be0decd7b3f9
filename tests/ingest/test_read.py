import os
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.ingest import Failure, SourceFile, extract_text, hash_file, read_source
from adaptive_rag.ingest.file import read_file
from adaptive_rag.ingest.loaders import LOADERS, Loader, list_suffixes
from adaptive_rag.ingest.text import load_text


@pytest.fixture
def meddle(tmp_path, monkeypatch):
    """Return a function that reads a text file, to which something happens right after each reading."""

    def read(text, happening):
        def load(self, path, builder):
            load_text(path, builder)
            happening(path)

        monkeypatch.setattr(Loader, "__call__", load)
        path = tmp_path / "a.txt"
        path.write_text(text)
        return read_file(SourceFile(path, "a.txt"), LOADERS["text"])

    return read


def test_an_empty_file_says_so_whatever_its_kind(tmp_path):
    for suffix in list_suffixes().split(", "):
        path = tmp_path / f"a{suffix}"
        path.touch()
        with pytest.raises(IndexingError) as error:
            extract_text(path)
        assert "is empty: it has 0 bytes" in str(error.value), suffix


def lose_folder(path):
    raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")


@pytest.mark.parametrize(
    ("happening", "said"),
    [
        (Path.unlink, "vanished while it was read"),
        (lose_folder, r"^cannot be read: No usable temporary directory"),
        (lambda path: path.write_text(path.read_text() + " More."), r"^changed while it was read, 2 times"),
    ],
    ids=["it vanishes", "a temporary folder is missing", "it keeps changing"],
)
def test_what_happens_to_a_file_while_it_is_read_is_reported(meddle, happening, said):
    with pytest.raises(IndexingError, match=said):
        meddle("Here now.", happening)


def test_a_file_that_vanished_before_it_is_read_is_reported(tmp_path):
    assert read_source(SourceFile(tmp_path / "a.txt", "a.txt")) == Failure(
        "a.txt", "vanished while it was read"
    )


def test_a_file_that_changes_once_is_read_again(tmp_path, meddle):
    changes = iter(["Second, and longer."])
    source = meddle("First.", lambda path: [path.write_text(change) for change in changes])
    assert (source.text, source.content_hash) == ("Second, and longer.", hash_file(tmp_path / "a.txt"))


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
