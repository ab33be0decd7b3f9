"""Files whose names in the index would be the same."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index import IndexReport, ShardedIndex
from adaptive_rag.ingest import SourceFile
from tests.index.made import HashEmbeddings, build, open_index, write_files


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    return tmp_path / "kb"


def build_in(folder: Path, kb: Path, monkeypatch: pytest.MonkeyPatch, **settings: object) -> IndexReport:
    """Index a folder from inside, so that its files have short names."""
    monkeypatch.chdir(folder)
    return build(Path("."), kb, **settings)


def texts(kb: Path) -> dict[str, str]:
    return {chunk["source"]: chunk["text"] for chunk in open_index(kb).chunks()}


def test_files_of_two_folders_with_the_same_names_are_both_kept(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = write_files(tmp_path / "x", {"notes.txt": "The red pump.", "a/b.txt": "Tide.", "old.txt": "Wind."})
    y = write_files(tmp_path / "y", {"notes.txt": "The blue pump.", "a/b.txt": "Wall."})
    build_in(x, kb, monkeypatch)
    report = build_in(y, kb, monkeypatch)
    assert (report.added, report.updated, report.removed) == (2, 0, 0)
    [note] = report.notes
    assert note.text.startswith("has more of its folder in its name, since") and note.text.endswith("1 more")
    named = {"notes.txt": "The red pump.", "a/b.txt": "Tide.", "old.txt": "Wind."}
    named |= {"y/notes.txt": "The blue pump.", "y/a/b.txt": "Wall."}
    assert texts(kb) == named
    for folder, unchanged in ((x, 3), (y, 2)):
        again = build_in(folder, kb, monkeypatch)
        assert (again.unchanged, again.changed, again.notes) == (unchanged, False, [])
    (y / "notes.txt").write_text("The green pump.")
    (x / "old.txt").unlink()
    build_in(y, kb, monkeypatch)
    build_in(x, kb, monkeypatch)
    del named["old.txt"]
    assert texts(kb) == {**named, "y/notes.txt": "The green pump."}


def test_a_name_in_a_run_is_not_that_of_a_file_from_another_folder(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = write_files(tmp_path / "a", {"notes.txt": "Tide."})
    build_in(inner, kb, monkeypatch)
    write_files(tmp_path, {"notes.txt": "Wind."})
    monkeypatch.chdir(tmp_path)
    build([Path("notes.txt"), Path("a")], kb)
    assert sorted(texts(kb).values()) == ["Tide.", "Wind."] and len(texts(kb)) == 2


def test_a_folder_that_is_moved_or_copied_with_its_index_keeps_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_files(tmp_path / "first", {"notes.txt": "Tide.", "b.txt": "Wall."})
    build_in(first, Path("kb"), monkeypatch)
    shutil.copytree(first, tmp_path / "copy")
    for folder in (tmp_path / "copy", first.rename(tmp_path / "moved")):
        (folder / "notes.txt").write_text("The tide goes out.")
        report = build_in(folder, Path("kb"), monkeypatch)
        assert (report.added, report.updated, report.removed) == (0, 1, 0)
        assert texts(folder / "kb") == {"notes.txt": "The tide goes out.", "b.txt": "Wall."}
        (folder / "b.txt").unlink()
        assert build_in(folder, Path("kb"), monkeypatch).removed == 1, "it is pruned where it is now"


def test_a_link_that_leads_to_another_folder_keeps_the_names(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("v1", "v2"):
        write_files(tmp_path / version, {"notes.txt": f"This is {version}."})
    monkeypatch.chdir(tmp_path)
    current = Path("current")
    for version in ("v1", "v2"):
        current.unlink(missing_ok=True)
        try:
            current.symlink_to(tmp_path / version)
        except OSError:  # not everybody may do it on Windows
            pytest.skip("no links")
        build(current, kb)
        assert texts(kb) == {"current/notes.txt": f"This is {version}."}


def test_a_name_that_the_caller_gives_is_that_of_the_new_version(tmp_path: Path, kb: Path) -> None:
    for version in ("v1", "v2"):
        folder = write_files(tmp_path / version, {"notes.txt": f"This is {version}."})
        build([SourceFile(folder / "notes.txt", "notes.txt")], kb)
    assert texts(kb) == {"notes.txt": "This is v2."}


def test_in_shards_a_name_of_another_file_is_refused(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_in(write_files(tmp_path / "x", {"notes.txt": "Tide."}), kb, monkeypatch, shards=2)
    y = write_files(tmp_path / "y", {"notes.txt": "Wind."})
    with pytest.raises(ConfigurationError, match=r"'notes\.txt' is already the name of another file"):
        build_in(y, kb, monkeypatch)
    index = ShardedIndex.open(kb, HashEmbeddings())
    assert [chunk["text"] for chunk in index.chunks()] == ["Tide."]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names in Unicode only")
def test_of_names_that_are_shown_alike_one_is_read_and_one_is_reported(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write_files(tmp_path / "docs", {"caf\\xe9.txt": "One.", "tide.txt": "The tide."})
    report = build_in(docs, kb, monkeypatch)
    assert report.added == 2
    (docs / os.fsdecode(b"caf\xe9.txt")).write_text("Two.")
    for _ in range(2):
        report = build_in(docs, kb, monkeypatch)
        assert [str(failure) for failure in report.failed] == [
            "caf\\xe9.txt has a name that is shown like that of another file. Rename it"
        ]
        assert texts(kb) == {"caf\\xe9.txt": "One.", "tide.txt": "The tide."}
