import os
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError, IndexingError
from adaptive_rag.index.location import Bucket, Folder, open_location
from tests.index.made import build, texts_in, write_files


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place that is reached as a bucket is: by URI, without a lock; the store is a local folder."""
    uri = f"file://{tmp_path}/bucket"
    (tmp_path / "bucket").mkdir()
    for module in ("build", "index"):
        monkeypatch.setattr(f"adaptive_rag.index.{module}.open_location", lambda _: Bucket(uri))
    return uri


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Folder(tmp_path)
    place.write("manifest.json", b"old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            place.write("manifest.json", b"new")
    assert place.read("manifest.json") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_the_stamp_changes_with_the_file(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    assert place.stamp("manifest.json") is None
    place.write("manifest.json", b"one")
    first = place.stamp("manifest.json")
    place.write("manifest.json", b"two")
    assert first is not None
    assert place.stamp("manifest.json") != first


def test_paths_and_uris_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_location("kb").path == tmp_path / "kb"
    assert open_location(f"file://{tmp_path}/my%20kb").path == tmp_path / "my kb"
    (tmp_path / "note.txt").write_text("x")
    with pytest.raises(ConfigurationError, match="is a file"):
        open_location("note.txt")
    with pytest.raises(ConfigurationError, match="names no folder"):
        open_location("  ")


def test_the_same_code_serves_a_bucket(tmp_path: Path, bucket: str) -> None:
    docs = write_files(tmp_path / "docs", {"a.txt": "Ebb.", "b.txt": "Flow."})
    assert build(docs, bucket).added == 2  # type: ignore[arg-type]
    write_files(docs, {"a.txt": "Neap."})
    report = build(docs, bucket)  # type: ignore[arg-type]
    assert (report.updated, report.unchanged) == (1, 1)
    assert texts_in(bucket) == ["Flow.", "Neap."]  # type: ignore[arg-type]


def test_two_writers_in_a_bucket_do_not_overwrite_each_other(tmp_path: Path, bucket: str) -> None:
    docs = write_files(tmp_path / "docs", {"a.txt": "Ebb."})
    build(docs, bucket)  # type: ignore[arg-type]
    write_files(docs, {"b.txt": "Flow."})
    other = write_files(tmp_path / "other", {"c.txt": "Neap."})
    once = iter([True])

    def meanwhile(_: object) -> None:
        if next(once, False):
            build(other, bucket)  # type: ignore[arg-type]

    with pytest.raises(IndexingError, match="Another process wrote the index"):
        build(docs, bucket, progress=meanwhile)  # type: ignore[arg-type]
    assert texts_in(bucket) == ["Ebb.", "Neap."]  # type: ignore[arg-type]
