import os
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.location import Folder, open_location


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


def test_paths_and_uris_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_location("kb").path == tmp_path / "kb"
    assert open_location(f"file://{tmp_path}/my%20kb").path == tmp_path / "my kb"
    assert open_location(f"file://localhost{tmp_path}/a#1?").path == tmp_path / "a#1?"
    with pytest.raises(ConfigurationError, match=r"no absolute path: expected file:///FOLDER"):
        open_location("file://kb/notes")
    (tmp_path / "note.txt").write_text("x")
    with pytest.raises(ConfigurationError, match="is a file"):
        open_location("note.txt")
    for no_path in ("  ", None, 3):
        with pytest.raises(ConfigurationError, match=f"index = {no_path!r}: expected a path or a URI"):
            open_location(no_path)  # type: ignore[arg-type]


def test_dots_are_resolved_as_the_system_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "deep")
    assert open_location("far/../kb").path == tmp_path.resolve() / "kb"
    assert open_location("link/../kb").path == tmp_path.resolve() / "far" / "kb"
