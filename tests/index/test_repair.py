"""What a repair keeps, makes anew, reads again, and gives up."""

import os
import signal
from pathlib import Path

import pytest
from langchain_core.documents import Document

from adaptive_rag.errors import ConfigurationError, IndexDamagedError, IndexingError, IndexMismatchError
from adaptive_rag.index import Index, RepairReport
from adaptive_rag.index.manifest import COPY, MANIFEST
from adaptive_rag.ingest import Failure, SourceFile, hash_file
from tests.index.made import HashEmbeddings, build, change_manifest, found, open_index, texts_in, write_files
from tests.index.test_crash import run_python
from tests.index.test_files import TIDES, data_file, flip, kb, sealed

__all__ = ["kb"]


def repair(kb: Path) -> RepairReport:
    return Index.repair(kb, embeddings=HashEmbeddings())


def spoil(kb: Path, text: str = "Note 3") -> None:
    """Flip a bit where a text stands in the file of the rows."""
    content = data_file(kb).read_bytes()
    flip(data_file(kb), content.index(text.encode()) + len(text) - 1)


def test_where_nothing_is_damaged_nothing_is_changed(kb: Path) -> None:
    before = {path: path.read_bytes() for path in kb.rglob("*") if path.is_file()}
    report = repair(kb)
    assert (report.damages, report.whole, report.lost) == ([], 6, {})
    assert {path: path.read_bytes() for path in kb.rglob("*") if path.is_file()} == before


def test_a_word_index_is_made_anew_without_the_model(kb: Path) -> None:
    before = found(open_index(kb), ["note 3", "tides"])
    flip(kb / next(name for name in sealed(kb) if "invert" in name))
    # by its name alone the model of this index cannot be loaded, and none is passed
    report = Index.repair(kb)
    assert (report.whole, report.read_again, report.restored, report.lost) == (6, [], [], {})
    assert found(open_index(kb), ["note 3", "tides"]) == before
    assert Index.check(kb, deep=True).healthy


def test_sources_of_a_damaged_file_are_read_again_where_their_files_are_as_they_were(
    tmp_path: Path, kb: Path
) -> None:
    spoil(kb)
    (tmp_path / "docs" / "1.txt").unlink()
    write_files(tmp_path / "docs", {"2.txt": "Something else."})
    model = HashEmbeddings()
    report = Index.repair(kb, embeddings=model)
    names = [Path(name).name for name in report.read_again]
    assert names == ["0.txt", "3.txt", "4.txt", "5.txt"]
    assert [Path(name).name for name in report.restored] == ["1.txt", "2.txt"]
    assert (report.whole, report.lost, model.seen) == (0, {}, []), "their vectors are in the cache"
    assert texts_in(kb) == sorted(TIDES.values())
    assert build(tmp_path / "docs", kb).updated == 1, "what changed meanwhile is indexed as ever"


def test_what_cannot_be_read_again_is_kept_where_its_text_is_proven(
    kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = found(open_index(kb), ["note 4", "tides"])
    spoil(kb)

    def fail(file: SourceFile, _: object) -> Failure:
        return Failure(file.source, "needs more memory than a file may take")

    monkeypatch.setattr("adaptive_rag.index.plan.read_source", fail)
    report = repair(kb)
    assert (report.whole, report.read_again) == (0, [])
    assert [Path(name).name for name in report.restored] == ["0.txt", "1.txt", "2.txt", "4.txt", "5.txt"]
    assert {Path(name).name: why for name, why in report.lost.items()} == {
        "3.txt": "needs more memory than a file may take"
    }
    assert texts_in(kb) == sorted(text for name, text in TIDES.items() if name != "3.txt")
    assert found(open_index(kb), ["note 4"])[0][0] == before[0][0]
    assert Index.check(kb, deep=True).healthy


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_file_that_became_a_pipe_is_not_opened(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> str:
        assert path.is_file(), "this would wait for ever"
        return hash_file(path)

    monkeypatch.setattr("adaptive_rag.index.plan.hash_file", refuse)
    spoil(kb)
    (tmp_path / "docs" / "1.txt").unlink()
    os.mkfifo(tmp_path / "docs" / "1.txt")
    report = repair(kb)
    assert [Path(name).name for name in report.restored] == ["1.txt"] and len(report.read_again) == 5


def test_what_was_never_a_file_is_kept_where_its_text_is_proven(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    pages = [
        # a question mark may stand for a letter that could not be stored, which proves nothing
        Document(f"{text} Page {n}?", metadata={"source": name, "page": n})
        for name, text in TIDES.items()
        for n in range(2)
    ]
    build(pages, kb)
    chunks = sorted(open_index(kb).chunks(), key=lambda chunk: chunk["id"])
    spoil(kb)
    report = repair(kb)
    assert (report.read_again, report.whole) == ([], 0)
    assert report.restored == [name for name in TIDES if name != "3.txt"]
    assert report.lost == {"3.txt": "was not read from a file"}
    left = sorted(open_index(kb).chunks(), key=lambda chunk: chunk["id"])
    assert left == [chunk for chunk in chunks if chunk["source"] != "3.txt"]
    assert found(open_index(kb), ["Note 4 on tides and walls. Page 1?"], limit=1)[0][0].startswith("Note 4")
    assert build(pages, kb).added == 1, "what was lost is indexed again"


def test_sources_in_whole_files_stay_as_they_are(tmp_path: Path, kb: Path) -> None:
    first = {name for name in sealed(kb) if "/data/" in name}
    build([Document("A late note.", metadata={"source": "late"})], kb)
    [second] = [name for name in sealed(kb) if "/data/" in name and name not in first]
    spoil(kb)
    assert data_file(kb) != kb / second
    report = repair(kb)
    assert (report.whole, len(report.read_again), report.lost) == (1, 6, {})
    assert texts_in(kb) == sorted([*TIDES.values(), "A late note."])


def test_an_index_of_which_nothing_is_left_is_empty_and_can_be_filled(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    pages = [Document(text, metadata={"source": name}) for name, text in TIDES.items()]
    build(pages, kb)
    data_file(kb).unlink()
    report = repair(kb)
    assert (sorted(report.lost), report.chunks) == (sorted(TIDES), 0)
    assert found(open_index(kb), ["tides"]) == [[]]
    assert Index.check(kb, deep=True).healthy
    assert build(pages, kb).added == 6
    assert texts_in(kb) == sorted(TIDES.values())


@pytest.mark.parametrize("name", ["manifest.json", "manifest.copy.json", "embeddings.sqlite"])
def test_a_manifest_or_a_cache_that_was_cut_short_is_made_anew(tmp_path: Path, kb: Path, name: str) -> None:
    os.truncate(kb / name, 100)
    assert [part for part, _ in Index.check(kb).damages] == [name]
    report = repair(kb)
    assert ([part for part, _ in report.damages], report.whole) == ([name], 6)
    assert Index.check(kb, deep=True).healthy
    assert build(tmp_path / "docs", kb).unchanged == 6


@pytest.mark.parametrize("mend", ["repair", "the next run"])
def test_a_copy_that_a_stopped_writer_left_behind_is_written_anew(
    tmp_path: Path, kb: Path, mend: str
) -> None:
    old = (kb / COPY).read_bytes()
    build(write_files(tmp_path / "docs", {"6.txt": "Note 6."}), kb)
    (kb / COPY).write_bytes(old)
    assert Index.check(kb).damages == [
        (COPY, "is missing, older than the manifest, or has changed since it was written")
    ]
    assert (repair(kb).whole if mend == "repair" else build(tmp_path / "docs", kb).unchanged) == 7
    assert Index.check(kb, deep=True).healthy
    (kb / MANIFEST).unlink()
    repair(kb)
    assert "Note 6." in texts_in(kb)


def test_without_a_manifest_a_repair_names_the_command_that_helps(kb: Path) -> None:
    for name in ("manifest.json", "manifest.copy.json"):
        (kb / name).write_bytes(b"{}")
    with pytest.raises(IndexDamagedError, match=rf"adaptive-rag index PATH --index {kb} --rebuild"):
        repair(kb)
    assert Index.check(kb).mend == f"adaptive-rag index PATH --index {kb} --rebuild"


def test_a_version_that_was_never_published_does_no_harm(tmp_path: Path, kb: Path) -> None:
    versions = kb / "chunks-1.lance" / "_versions"
    # LanceDB counts down: this is what a killed run left, torn
    last = min(int(path.name.partition(".")[0]) for path in versions.glob("*.manifest"))
    (versions / f"{last - 1}.manifest").write_bytes(b"")
    with pytest.raises(IndexDamagedError, match=r"--repair"):
        open_index(kb)
    report = repair(kb)
    assert (report.whole, report.read_again, report.lost) == (6, [], {})
    assert texts_in(kb) == sorted(TIDES.values())
    assert build(tmp_path / "docs", kb).unchanged == 6


def test_damage_that_was_there_before_the_checksums_is_found_row_by_row(kb: Path) -> None:
    spoil(kb)
    change_manifest(kb, lambda manifest: manifest.update(files={}))
    check = Index.check(kb, deep=True)
    assert [found for part, found in check.damages if part == "rows"] == [
        "a text does not match its id (1 times)"
    ]
    assert [Path(name).name for name in check.incomplete] == ["3.txt"]
    report = repair(kb)
    assert ([Path(name).name for name in report.read_again], report.whole) == (["3.txt"], 5)
    assert texts_in(kb) == sorted(TIDES.values())


def test_counts_that_disagree_are_mended(kb: Path) -> None:
    change_manifest(kb, lambda manifest: manifest.update(chunks=7))
    assert not Index.check(kb).healthy
    repair(kb)
    assert len(open_index(kb)) == 6 and Index.check(kb, deep=True).healthy


def test_a_cache_that_is_damaged_is_mended_in_part(tmp_path: Path, kb: Path) -> None:
    import sqlite3

    with sqlite3.connect(kb / "embeddings.sqlite") as database:
        database.execute("UPDATE entries SET vector = zeroblob(64) WHERE rowid = 2")
    database.close()
    assert Index.check(kb).healthy and not Index.check(kb, deep=True).healthy
    report = repair(kb)
    assert [part for part, _ in report.damages] == ["embeddings.sqlite"]
    assert Index.check(kb, deep=True).healthy
    assert build(tmp_path / "docs", kb, rebuild=True).texts_embedded == 1


def test_a_model_that_must_be_passed_is_asked_for_before_anything_is_written(kb: Path) -> None:
    spoil(kb)
    before = sorted(kb.rglob("*"))
    with pytest.raises(ConfigurationError, match="Pass the same embeddings object"):
        Index.repair(kb)
    with pytest.raises(IndexMismatchError, match=r"made with .*; got"):
        Index.repair(kb, embeddings=HashEmbeddings(name="other"))
    assert sorted(kb.rglob("*")) == before


KILLED = """
    import os, signal, sys
    from adaptive_rag.index import Index
    from adaptive_rag.index import {module} as module
    from tests.index.made import HashEmbeddings

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    module.{name} = die
    Index.repair(sys.argv[1], embeddings=HashEmbeddings())
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("module", "name"),
    [("repair", "IndexingRun"), ("table", "TableWriter.index_words"), ("manifest", "Manifest.publish")],
)
def test_a_killed_repair_changes_nothing_and_can_be_run_again(
    tmp_path: Path, kb: Path, module: str, name: str
) -> None:
    build([Document("A late note.", metadata={"source": "late"})], kb)
    spoil(kb)
    before = (kb / "manifest.json").read_bytes()
    killed = run_python(KILLED.format(module=module, name=name), kb)
    assert killed.returncode == -signal.SIGKILL, killed.stderr and killed.stderr.read()
    assert (kb / "manifest.json").read_bytes() == before
    assert repair(kb).lost == {}
    assert texts_in(kb) == sorted([*TIDES.values(), "A late note."])


def test_a_repair_that_finds_no_room_leaves_what_there_is(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(kb)
    before = (kb / "manifest.json").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("adaptive_rag.index.table.TableWriter.add", full)
        with pytest.raises(IndexingError, match="the disk is full"):
            repair(kb)
    assert (kb / "manifest.json").read_bytes() == before
    assert repair(kb).lost == {}


def test_a_place_without_an_index_is_neither_checked_nor_repaired(tmp_path: Path) -> None:
    for look in (Index.check, repair):
        with pytest.raises(IndexMismatchError, match="There is no index"):
            look(tmp_path / "kb")
    assert not os.path.exists(tmp_path / "kb")
