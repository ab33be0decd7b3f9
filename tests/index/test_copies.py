"""Files of the same content, and files that get another name: stored once, embedded once."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.answer.passages import cite_span
from adaptive_rag.errors import IndexingError, InputError
from adaptive_rag.index import Index, IndexReport
from adaptive_rag.index.sources import read_chunks
from adaptive_rag.ingest import SourceFile
from adaptive_rag.llm.passages import format_passages
from adaptive_rag.tool import format_answer
from adaptive_rag.where import read_where
from tests.index.made import HashEmbeddings, build, found, open_index, texts_in, write_files

MOON = "The moon pulls the sea."
TIDES = {"a.txt": MOON, "b.txt": "Wind piles up water.", "c.txt": MOON}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, so that sources have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def docs(here: Path) -> Path:
    return write_files(here / "docs", TIDES)


@pytest.fixture
def kb(docs: Path, new_kb: Path) -> Path:
    build(docs, new_kb)
    return new_kb


def build_without_cache(folder: Path, kb: Path, **settings: Any) -> tuple[IndexReport, list[str]]:
    """Index again where no vector is remembered; return what was embedded too."""
    (kb / "embeddings.sqlite").unlink(missing_ok=True)
    model = HashEmbeddings()
    report = build(folder, kb, embeddings=model, **settings)
    return report, [text for text in model.seen if text != "dimension"]


def is_whole(kb: Path) -> bool:
    return Index.check(kb, deep=True).healthy


def test_files_of_the_same_content_are_stored_once_under_both_names(docs: Path, new_kb: Path) -> None:
    report = build(docs, new_kb)
    assert (report.added, report.copies, report.chunks, report.total_chunks) == (3, 1, 2, 2)
    index = open_index(new_kb)
    assert index.sources() == {"docs/a.txt": 1, "docs/b.txt": 1, "docs/c.txt": 1}
    assert found(index, ["moon sea"], limit=1) == [[TIDES["a.txt"]]]
    assert is_whole(new_kb)
    again = build(docs, new_kb)
    assert (again.unchanged, again.changed) == (3, False)


def test_a_filter_finds_the_content_by_each_of_its_names(docs: Path, kb: Path) -> None:
    index = open_index(kb)
    for condition in ('file = "a.txt"', 'file = "c.txt"', 'source = "docs/c.txt"', "source like '*/c.*'"):
        narrowed = index.where(read_where(condition))
        assert [chunk["text"] for chunk in narrowed.chunks()] == [TIDES["a.txt"]], condition
    assert [chunk["text"] for chunk in index.only(["docs/c.txt"]).chunks()] == [TIDES["a.txt"]]


def test_what_is_found_names_all_files_of_its_content(here: Path) -> None:
    docs, kb = write_files(here / "docs", {**TIDES, "b2/c.txt": TIDES["a.txt"]}), here / "kb"
    build(docs, kb)
    index, others = open_index(kb), ["docs/b2/c.txt", "docs/c.txt"]
    [[hit]] = index.search(["moon sea"], limit=1)
    assert (hit["source"], hit["metadata"]["also_as"]) == ("docs/a.txt", others)
    citation = cite_span(hit, 1, 4, 8)
    assert (citation["quote"], citation["also_as"]) == ("moon", others)
    assert "also as docs/b2/c.txt, docs/c.txt" in format_answer("The moon.", [citation])
    assert 'source="docs/a.txt (also as docs/b2/c.txt, docs/c.txt)"' in format_passages([hit], 1000)
    assert not any("also_as" in chunk["metadata"] for chunk in index.only(["docs/b.txt"]).chunks())
    source, [chunk] = read_chunks(kb, "docs/c.txt")
    assert (source, chunk["source"]) == ("docs/c.txt", "docs/c.txt")
    assert chunk["metadata"]["also_as"] == ["docs/a.txt", "docs/b2/c.txt"]
    with pytest.raises(InputError, match="has no document"):
        read_chunks(kb, "c\0.txt")


@pytest.mark.few(1)
@pytest.mark.parametrize("gone", ["a.txt", "c.txt"])
def test_of_two_copies_one_may_go(docs: Path, kb: Path, gone: str) -> None:
    (docs / gone).unlink()
    report, embedded = build_without_cache(docs, kb)
    assert (report.removed, report.total_chunks, embedded) == (1, 2, [])
    kept = ({"a.txt", "c.txt"} - {gone}).pop()
    index = open_index(kb)
    assert {chunk["source"] for chunk in index.chunks()} == {f"docs/{kept}", "docs/b.txt"}
    assert is_whole(kb)


def test_a_copy_with_a_new_time_stamp_takes_over(docs: Path, kb: Path) -> None:
    os.utime(docs / "c.txt", (time.time() - 60, time.time() - 60))
    (docs / "a.txt").unlink()
    assert build(docs, kb).removed == 1
    (docs / "b.txt").unlink()
    assert build(docs, kb).removed == 1
    assert {chunk["source"] for chunk in open_index(kb).chunks()} == {"docs/c.txt"}
    assert is_whole(kb)


@pytest.mark.few(1)
@pytest.mark.parametrize("changed", ["a.txt", "c.txt"])
def test_of_two_copies_one_may_change_and_change_back(docs: Path, kb: Path, changed: str) -> None:
    write_files(docs, {changed: "The sun pulls less."})
    assert build(docs, kb).updated == 1
    assert texts_in(kb) == sorted(["The sun pulls less.", TIDES["a.txt"], TIDES["b.txt"]])
    assert is_whole(kb)
    write_files(docs, {changed: TIDES["a.txt"]})
    assert build(docs, kb).copies == 1
    assert texts_in(kb) == sorted([TIDES["a.txt"], TIDES["b.txt"]])
    assert is_whole(kb)


@pytest.mark.parametrize("first", ["gone", "changed"])
def test_a_copy_that_can_no_longer_be_read_keeps_its_text_when_the_first_file_changes(
    docs: Path, kb: Path, first: str
) -> None:
    (docs / "c.txt").write_text("")
    if first == "gone":
        (docs / "a.txt").unlink()
    else:
        write_files(docs, {"a.txt": "The sun pulls less."})
    for _ in range(2):
        assert [failure.source for failure in build(docs, kb).failed] == ["docs/c.txt"]
        assert open_index(kb).sources()["docs/c.txt"] == 1 and MOON in texts_in(kb)
        assert is_whole(kb)
    write_files(docs, {"c.txt": "The moon is far."})
    assert build(docs, kb).updated == 1
    assert MOON not in texts_in(kb) and is_whole(kb)


def test_a_copy_stays_while_the_first_file_cannot_be_read(docs: Path, kb: Path) -> None:
    (docs / "a.txt").write_text("")
    assert [failure.source for failure in build(docs, kb).failed] == ["docs/a.txt"]
    assert set(open_index(kb).sources()) == {"docs/a.txt", "docs/b.txt", "docs/c.txt"}
    (docs / "a.txt").unlink()
    build(docs, kb)
    assert texts_in(kb) == sorted([TIDES["a.txt"], TIDES["b.txt"]])
    assert is_whole(kb)


def test_a_folder_that_moved_is_taken_over_unread(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, kb = write_files(here / "docs" / "old", TIDES), here / "kb"
    build(here / "docs", kb)
    docs.rename(here / "docs" / "new")

    def only_copies(item: Any, stop: object) -> Any:
        raise IndexingError(f"{item.source} was read")

    # the first of two copies is taken over; the other has to be read once to be known as one
    (here / "docs" / "new" / "c.txt").unlink()
    monkeypatch.setattr("adaptive_rag.index.plan.Work.read", only_copies)
    report, embedded = build_without_cache(here / "docs", kb)
    assert (report.moved, report.added, report.removed, report.failed) == (2, 0, 1, [])
    assert (report.chunks, embedded) == (0, [])
    index = open_index(kb)
    assert set(index.sources()) == {"docs/new/a.txt", "docs/new/b.txt"}
    assert {chunk["source"] for chunk in index.chunks()} == {"docs/new/a.txt", "docs/new/b.txt"}
    assert is_whole(kb)


def test_copies_that_move_together_are_still_stored_once(here: Path) -> None:
    docs, kb = write_files(here / "docs" / "old", TIDES), here / "kb"
    build(here / "docs", kb)
    docs.rename(here / "docs" / "new")
    report, embedded = build_without_cache(here / "docs", kb)
    assert (report.moved, report.copies, report.total_chunks, embedded) == (2, 1, 2, [])
    assert is_whole(kb)


def test_a_new_suffix_reads_the_file_anew(here: Path) -> None:
    docs, kb = write_files(here / "docs", {"a.txt": "# Tides\n\nThe moon pulls the sea."}), here / "kb"
    build(docs, kb)
    (docs / "a.txt").rename(docs / "a.md")
    report = build(docs, kb)
    assert (report.moved, report.added, report.removed) == (0, 1, 1)
    assert next(open_index(kb).chunks())["section"] == "Tides"


@pytest.mark.parametrize("suffix", [".py", ".yaml"])
def test_source_code_under_another_name_has_that_name_in_its_sections(here: Path, suffix: str) -> None:
    docs, kb = write_files(here / "docs", {f"one{suffix}": "GATE = 'shut'\n"}), here / "kb"
    build(docs, kb)
    shutil.copy(docs / f"one{suffix}", docs / f"two{suffix}")
    assert build(docs, kb).copies == 0
    sections = sorted(str(chunk["section"]) for chunk in open_index(kb).chunks())
    assert sections == [f"one{suffix}", f"two{suffix}"]


@pytest.mark.few(1)
@pytest.mark.parametrize("kept", [["a.txt", "c.txt"], ["c.txt"], ["a.txt"], []])
def test_a_damaged_index_with_copies_is_mended(docs: Path, kb: Path, kept: list[str]) -> None:
    for name in {"a.txt", "c.txt"} - set(kept):
        (docs / name).unlink()
    for file in (kb / "chunks-1.lance" / "data").iterdir():
        file.write_bytes(b"spoilt" + file.read_bytes()[6:])
    report = Index.repair(kb, embeddings=HashEmbeddings())
    left = {"docs/a.txt", "docs/b.txt", "docs/c.txt"} - report.lost.keys()
    assert {f"docs/{name}" for name in [*kept, "b.txt"]} <= left
    assert set(open_index(kb).sources()) == left
    assert is_whole(kb)


@pytest.mark.few(3)
@pytest.mark.parametrize("narrowed", [False, True])
@pytest.mark.parametrize(
    ("left_out", "shown"),
    [
        (["docs/a.txt"], ["docs/c.txt", "docs/d.txt"]),
        (["docs/c.txt"], ["docs/a.txt", "docs/d.txt"]),
        (["docs/a.txt", "docs/c.txt"], ["docs/d.txt"]),
        (["docs/a.txt", "docs/c.txt", "docs/d.txt"], []),
    ],
)
def test_a_view_shows_a_copy_of_what_it_leaves_out_under_its_own_name(
    here: Path, left_out: list[str], shown: list[str], narrowed: bool
) -> None:
    docs, kb = write_files(here / "docs", {**TIDES, "d.txt": TIDES["a.txt"]}), here / "kb"
    build(docs, kb)
    whole = open_index(kb)
    view = whole
    for name in left_out:
        view = view.without([name])
    if narrowed:
        view = view.where(read_where("kind = txt"))
    assert set(view.sources()) <= {"docs/b.txt", *shown}
    named = {
        name for [hits] in [view.search(["moon sea"], limit=9)] for hit in hits for name in names_of(hit)
    }
    assert named == {"docs/b.txt", *shown}
    chunks = list(view.chunks())
    assert {name for chunk in chunks for name in names_of(chunk)} == {"docs/b.txt", *shown}
    assert [*map(names_of, view.get([chunk["id"] for chunk in chunks]))] == [*map(names_of, chunks)]
    assert {"docs/a.txt", "docs/c.txt"} <= {name for chunk in whole.chunks() for name in names_of(chunk)}


def names_of(chunk: Any) -> list[str]:
    return [chunk["source"], *chunk["metadata"].get("also_as", [])]


def test_a_view_leaves_out_sources_and_the_files_in_an_archive(here: Path) -> None:
    docs, kb = write_files(here / "docs", TIDES | {"d.md": "Tides are slow waves."}), here / "kb"
    build([SourceFile(docs / "d.md", "old.zip/d.md"), SourceFile(docs / "b.txt", "b.txt")], kb)
    index = open_index(kb)
    assert sorted(index.sources()) == ["b.txt", "old.zip/d.md"]
    assert sorted(index.without(["old.zip"]).sources()) == ["b.txt"]
    assert sorted(index.without(["b.txt", "old"]).sources()) == ["old.zip/d.md"]
    assert not index.without(["b.txt"]).without(["old.zip"]).sources()
    assert repr(index.without(["b.txt"])) != repr(index) != repr(index.without(["old.zip"]))
