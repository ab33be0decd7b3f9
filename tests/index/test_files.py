"""Which files hold a version of the table, and whether they are as they were written."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adaptive_rag.errors import IndexDamagedError, IndexingError, IndexMismatchError
from adaptive_rag.index import Index
from adaptive_rag.index.location import Folder
from adaptive_rag.index.manifest import Seal, quoted, repair_hint
from tests.index.made import HashEmbeddings, build, open_index, texts_in, write_files

TIDES = {f"{n}.txt": f"Note {n} on tides and walls." for n in range(6)}


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    build(write_files(tmp_path / "docs", TIDES), tmp_path / "kb")
    return tmp_path / "kb"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every index as one that is too large to be read into memory."""
    for module in ("row_reader", "files"):
        monkeypatch.setattr(f"adaptive_rag.index.{module}.IN_MEMORY_UP_TO", 0)


def sealed(kb: Path) -> dict[str, Seal]:
    return {
        name: Seal(*seal) for name, seal in json.loads((kb / "manifest.json").read_text())["files"].items()
    }


def flip(file: Path, at: int = -1) -> None:
    content = bytearray(file.read_bytes())
    content[at if at >= 0 else len(content) // 2] ^= 4
    file.write_bytes(content)


def data_file(kb: Path) -> Path:
    return kb / next(name for name in sealed(kb) if "/data/" in name)


def test_without_any_other_file_than_those_it_names_a_version_is_whole(tmp_path: Path, kb: Path) -> None:
    write_files(tmp_path / "docs", {"0.txt": "Another note on tides."})
    build(tmp_path / "docs", kb)
    for file in (kb / "chunks-1.lance").rglob("*"):
        if file.is_file() and file.relative_to(kb).as_posix() not in sealed(kb):
            file.unlink()
    assert "Another note on tides." in texts_in(kb)
    assert open_index(kb).search(["tides"], limit=3)


def test_a_deletion_is_a_file_of_the_version(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.table.SMALL", 0)
    (tmp_path / "docs" / "0.txt").unlink()
    build(tmp_path / "docs", kb)
    [file] = [kb / name for name in sealed(kb) if "_deletions" in name]
    assert file.stat().st_size == sealed(kb)[file.relative_to(kb).as_posix()].size
    flip(file)
    with pytest.raises(IndexDamagedError, match=r"_deletions/.* has changed since it was written"):
        open_index(kb)


@pytest.mark.parametrize("kind", ["data", "_indices", "_versions"])
def test_a_flipped_bit_is_noticed_at_opening(kb: Path, kind: str) -> None:
    name = next(name for name in sealed(kb) if f"/{kind}/" in name)
    flip(kb / name)
    with pytest.raises(IndexDamagedError, match=rf"{name} has changed .* --repair --index {kb}"):
        open_index(kb)


def test_a_new_state_that_is_damaged_is_neither_searched_nor_changed(tmp_path: Path, kb: Path) -> None:
    index = open_index(kb)
    write_files(tmp_path / "docs", {"0.txt": "Another note on tides."})
    build(tmp_path / "docs", kb)
    flip(data_file(kb))
    for use in (lambda: index.search(["tides"], limit=1), lambda: build(tmp_path / "docs", kb)):
        with pytest.raises(IndexDamagedError, match=r"has changed since it was written.*--repair"):
            use()


@pytest.mark.usefixtures("large")
def test_of_a_large_index_sizes_are_compared_at_opening(kb: Path) -> None:
    file = data_file(kb)
    flip(file)
    open_index(kb)
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(IndexDamagedError, match=r"has [\d,]+ bytes instead of"):
        open_index(kb)
    file.unlink()
    with pytest.raises(IndexDamagedError, match="is missing"):
        open_index(kb)


@pytest.mark.usefixtures("large")
def test_damage_of_a_large_index_is_not_joined_into_new_files(tmp_path: Path, kb: Path) -> None:
    file = data_file(kb)
    # the middle of the file is the text or a vector: LanceDB reads it without a word
    flip(file)
    write_files(tmp_path / "docs", {"0.txt": "Another note on tides."})
    with pytest.raises(IndexDamagedError, match=rf"{file.name} has changed since it was written"):
        build(tmp_path / "docs", kb)
    assert file.relative_to(kb).as_posix() in sealed(kb), "no version without it was published"
    assert next(part for part, _ in Index.check(kb, deep=True).damages).endswith(file.name)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("kind", "what"), [("part_0_invert", "word index"), ("/data/", "table")])
def test_what_lance_says_of_a_damaged_file_becomes_ours(kb: Path, kind: str, what: str) -> None:
    name = next(name for name in sealed(kb) if kind in name)
    index = open_index(kb)
    (kb / name).write_bytes(b"\0" * (kb / name).stat().st_size)
    with pytest.raises(IndexDamagedError, match=rf"its {what} cannot be read .*--repair --index"):
        index.search(["tides"], limit=2)


def test_a_hint_quotes_as_the_command_line_of_the_system_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert quoted(r"C:\my notes\kb") == r"'C:\my notes\kb'"
    monkeypatch.setattr("adaptive_rag.index.manifest.os", SimpleNamespace(name="nt"))
    assert quoted(r"C:\my notes\kb") == r'"C:\my notes\kb"'
    assert repair_hint(r"C:\notes\kb").endswith(r" C:\notes\kb")


def test_a_flipped_bit_of_the_manifest_is_noticed_wherever_it_is(kb: Path) -> None:
    manifest = kb / "manifest.json"
    whole = manifest.read_bytes()
    for at in range(0, len(whole), 83):
        flip(manifest, at)
        with pytest.raises(IndexDamagedError, match=r"manifest\.json cannot be read.*--repair"):
            open_index(kb)
        manifest.write_bytes(whole)
    # and in the very checksum, and its name
    for at in range(1, 35):
        content = bytearray(whole)
        content[-at] ^= 1 << at % 8
        manifest.write_bytes(content)
        with pytest.raises(IndexDamagedError):
            open_index(kb)


def test_a_missing_manifest_is_damage_where_the_folder_is_ours(tmp_path: Path, kb: Path) -> None:
    (kb / "manifest.json").unlink()
    with pytest.raises(IndexDamagedError, match=r"has no manifest\.json.*--repair"):
        open_index(kb)
    with pytest.raises(IndexDamagedError, match=r"--repair"):
        build(tmp_path / "docs", kb)
    (kb / "manifest.copy.json").unlink()
    with pytest.raises(IndexDamagedError, match=r"--rebuild"):
        open_index(kb)


@pytest.mark.parametrize("content", [None, b"", b"garbage", b'{"format": 9, "made_by": "adaptive-rag"}'])
def test_rebuild_makes_an_index_anew_whatever_its_manifest_says(
    tmp_path: Path, kb: Path, content: bytes | None
) -> None:
    (kb / "manifest.copy.json").unlink()
    (kb / "manifest.json").unlink() if content is None else (kb / "manifest.json").write_bytes(content)
    with pytest.raises(IndexMismatchError, match=rf"adaptive-rag index PATH --index {kb} --rebuild"):
        build(tmp_path / "docs", kb)
    build(tmp_path / "docs", kb, rebuild=True)
    assert texts_in(kb) == sorted(TIDES.values())
    assert Index.check(kb, deep=True).healthy


@pytest.mark.parametrize("foreign", ["manifest.json", "chunks-1.lance/data/letter.txt", "photo.jpg"])
def test_a_folder_that_may_be_somebody_elses_is_not_written_to(tmp_path: Path, foreign: str) -> None:
    docs = write_files(tmp_path / "docs", TIDES)
    kb = write_files(tmp_path / "kb", {foreign: "{}", "notes/letter.txt": "Dear aunt"})
    before = sorted(kb.rglob("*"))
    for rebuild in (False, True):
        with pytest.raises(IndexMismatchError, match="not an index of this program"):
            build(docs, kb, rebuild=rebuild)
    with pytest.raises(IndexMismatchError):
        Index.repair(kb, embeddings=HashEmbeddings())
    assert sorted(kb.rglob("*")) == before


def test_what_a_killed_rebuild_left_damaged_does_not_stop_the_next(tmp_path: Path, kb: Path) -> None:
    left = kb / "chunks-2.lance" / "_versions"
    left.mkdir(parents=True)
    (left / f"{2**64 - 2}.manifest").write_bytes(b"torn")
    build(tmp_path / "docs", kb, rebuild=True)
    assert texts_in(kb) == sorted(TIDES.values())


def test_a_failed_rebuild_leaves_what_proves_the_folder_ours(tmp_path: Path, kb: Path) -> None:
    (kb / "manifest.json").unlink()
    (kb / "manifest.copy.json").unlink()
    before = sorted(kb.rglob("*"))
    (tmp_path / "bad.pdf").write_bytes(b"not a pdf")
    with pytest.raises(Exception, match="No document could be read"):
        build(tmp_path / "bad.pdf", kb, rebuild=True)
    assert set(before) <= set(kb.rglob("*"))
    build(tmp_path / "docs", kb, rebuild=True)
    assert texts_in(kb) == sorted(TIDES.values())


def refuse(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the disk fail at some files of an index."""
    for method in ("read", "pieces"):
        really = getattr(Folder, method)

        def fail(folder: Folder, name: str, really: Any = really) -> Any:
            if name in names:
                raise OSError(5, "Input/output error", str(folder.path / name))
            return really(folder, name)

        monkeypatch.setattr(Folder, method, fail)


@pytest.mark.parametrize("kind", ["data", "_versions"])
def test_a_file_that_the_disk_does_not_give_is_damage(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    name = next(name for name in sealed(kb) if f"/{kind}/" in name)
    with monkeypatch.context() as broken:
        refuse(broken, name)
        for work in (open_index, lambda uri: build(tmp_path / "docs", uri)):
            with pytest.raises(IndexDamagedError, match=rf"{name} cannot be read \(Input/output error\)"):
                work(kb)
        assert (name, "cannot be read (Input/output error)") in Index.check(kb, deep=True).damages
        assert Index.repair(kb, embeddings=HashEmbeddings()).lost == {}
    assert texts_in(kb) == sorted(TIDES.values())


def test_a_manifest_that_the_disk_does_not_give_is_damage(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, remedy in (("manifest.json", "repair"), ("manifest.copy.json", "rebuild")):
        refuse(monkeypatch, name)
        with pytest.raises(IndexDamagedError, match=rf"cannot be read \(Input/output error\).*--{remedy}"):
            open_index(kb)


def test_a_folder_that_cannot_be_listed_is_named_with_the_reason(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", fail)
    with pytest.raises(IndexingError, match=rf"{kb} cannot be listed: Permission denied"):
        build(tmp_path / "docs", kb)


def test_an_index_of_somebody_else_is_named_with_the_reason(
    kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "shards.json")
    with pytest.raises(IndexingError, match=rf"The index {kb} cannot be read: Input/output error"):
        open_index(kb)
