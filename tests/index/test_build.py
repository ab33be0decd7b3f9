import json
import os
import shutil
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index import Index, Progress, describe
from adaptive_rag.ingest import extract_text
from tests.index.made import HashEmbeddings, build, open_index, texts_in, write_files

TIDES = {"moon.txt": "The moon pulls the sea.", "sun.txt": "The sun pulls less."}
TIDES["wind.txt"] = "Wind piles up water."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", TIDES)


@pytest.fixture
def kb(docs: Path, new_kb: Path) -> Path:
    build(docs, new_kb)
    return new_kb


def test_unchanged_files_are_neither_read_nor_embedded(
    docs: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(docs / "sun.txt", (time.time() - 60, time.time() - 60))
    report = build(docs, kb)
    assert (report.unchanged, report.texts_embedded) == (3, 0), "a file that was touched is read once"
    before = (kb / "manifest.json").read_bytes()

    def refuse(*_: object) -> None:
        raise AssertionError("an unchanged file was opened")

    monkeypatch.setattr("adaptive_rag.index.plan.read_source", refuse)
    monkeypatch.setattr("adaptive_rag.index.plan.hash_file", refuse)
    report = build(docs, kb)
    assert (report.unchanged, report.changed, report.texts_embedded) == (3, False, 0)
    assert (kb / "manifest.json").read_bytes() == before


def test_a_change_that_keeps_size_and_time_is_seen_where_the_file_was_fresh(tmp_path: Path) -> None:
    kb, file = tmp_path / "kb", tmp_path / "note.txt"
    file.write_text("The tide is low.")
    build(file, kb)
    stamp = file.stat()
    file.write_text("The tide is big.")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert build(file, kb).updated == 1
    assert texts_in(kb) == ["The tide is big."]


def test_a_file_of_the_same_size_and_time_counts_as_unchanged_until_it_is_touched(
    docs: Path, kb: Path
) -> None:
    file, stamp = docs / "moon.txt", (docs / "moon.txt").stat()
    file.write_text("The moon pulls the air.")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert build(docs, kb).unchanged == 3
    os.utime(file, (time.time() - 60, time.time() - 60))
    assert build(docs, kb).updated == 1
    assert "The moon pulls the air." in texts_in(kb)


def test_a_file_that_was_only_missing_while_the_folder_was_listed_is_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_files(tmp_path / "docs", {"a.txt": "the tide", "b.txt": "the tide", "c.txt": "the wall"})
    build(folder, tmp_path / "kb")
    monkeypatch.setattr("adaptive_rag.index.plan._is_unchanged", lambda *given: False)
    assert build(folder, tmp_path / "kb").updated == 3
    assert texts_in(tmp_path / "kb") == ["the tide", "the wall"]


def test_a_large_index_is_changed_many_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptive_rag.index.table.SMALL", 4)
    monkeypatch.setattr("adaptive_rag.index.table.FRAGMENTS_LEFT_ALONE", 1)
    monkeypatch.setattr("adaptive_rag.index.table.CHUNKS_A_FRAGMENT", 4)
    texts = {f"{number}.txt": f"Buoy {number} is lit." for number in range(20)}
    docs, kb = write_files(tmp_path / "docs", texts), tmp_path / "kb"
    build(docs, kb)
    for turn in range(6):
        texts[f"{turn}.txt"] = f"Buoy {turn} is dark."
        assert build(write_files(docs, texts), kb).updated == 1
    files = json.loads((kb / "manifest.json").read_text())["files"]
    assert sum("/data/" in name for name in files) <= 5, "they are joined now and then"
    assert texts_in(kb) == sorted(texts.values())
    assert Index.check(kb, deep=True).healthy


def test_what_was_joined_into_one_file_is_removed_by_the_next_run_even_if_it_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.run.ROWS_PER_WRITE", 2)
    monkeypatch.setattr("adaptive_rag.index.row_maker.CHUNKS_PER_STEP", 2)
    texts = {f"{number}.txt": f"Buoy {number} is lit." for number in range(20)}
    docs, kb = write_files(tmp_path / "docs", texts), tmp_path / "kb"
    build(docs, kb)
    data = kb / "chunks-1.lance" / "data"
    before = (kb / "manifest.json").read_bytes()
    old = {*data.iterdir()}
    assert len(old) > 1, "a question may have begun before they were joined"
    build(docs, kb)
    assert {*data.iterdir()} == old
    monkeypatch.setattr("adaptive_rag.index.run.SECONDS_PER_QUESTION", -1.0)
    monkeypatch.setattr("adaptive_rag.index.table.CLOCK_MARGIN_S", 0.001)
    build(docs, kb)
    assert len([*data.iterdir()]) == 1
    assert (kb / "manifest.json").read_bytes() == before
    assert Index.check(kb, deep=True).healthy and texts_in(kb) == sorted(texts.values())


def test_a_changed_file_is_embedded_only_where_it_changed(tmp_path: Path) -> None:
    paragraphs = [f"Paragraph {n} speaks of tides. " * 6 for n in range(4)]
    docs, kb = write_files(tmp_path / "docs", {"a.txt": "\n\n".join(paragraphs)}), tmp_path / "kb"
    build(docs, kb, chunk_size=200, chunk_overlap=0)
    write_files(docs, {"a.txt": "\n\n".join([*paragraphs[:3], "Something else altogether. " * 6])})
    model = HashEmbeddings()
    build(docs, kb, embeddings=model, chunk_size=200, chunk_overlap=0)
    embedded = [text for text in model.seen if text != "dimension"]
    assert embedded and all("Something else" in text for text in embedded)


def test_a_vanished_file_is_removed_and_others_stay(tmp_path: Path) -> None:
    one, kb = write_files(tmp_path / "one", TIDES), tmp_path / "kb"
    two = write_files(tmp_path / "two", {"rain.txt": "Rain falls."})
    build([one, two], kb)
    (one / "sun.txt").unlink()
    (two / "rain.txt").rename(tmp_path / "kept.txt")
    assert build(one, kb, prune=False).removed == 0
    assert build(one, kb).removed == 1
    assert "Rain falls." in texts_in(kb), "only the folders that were named are pruned"


def test_a_bad_file_is_reported_and_others_are_indexed_and_one_that_turns_bad_keeps_its_chunks(
    docs: Path, new_kb: Path
) -> None:
    (docs / "bad.pdf").write_bytes(b"not a pdf")
    report = build(docs, new_kb)
    assert report.added == 3
    assert [Path(failure.source).name for failure in report.failed] == ["bad.pdf"]
    (docs / "sun.txt").write_bytes(b"")
    assert len(build(docs, new_kb).failed) == 2
    assert TIDES["sun.txt"] in texts_in(new_kb)


def test_other_settings_are_refused_with_both_and_the_command_that_mends(docs: Path, kb: Path) -> None:
    with pytest.raises(IndexMismatchError, match=r"1000 .* 500 .*--rebuild"):
        build(docs, kb, chunk_size=500)
    with pytest.raises(IndexMismatchError, match=r"hash .*other .*--rebuild"):
        build(docs, kb, embeddings=HashEmbeddings(name="other"))
    assert len(texts_in(kb)) == 3


@pytest.mark.parametrize("shards", [None, 2])
def test_an_index_remembers_its_model(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch, shards: int | None
) -> None:
    build(docs, tmp_path / "kb", shards=shards)
    if shards:
        shutil.rmtree(tmp_path / "kb" / "shard-1")  # an interrupted run has not made it
    write_files(docs, {"new.txt": "The neap tide is low."})
    with pytest.raises(ConfigurationError, match=r"HashEmbeddings:hash'.* cannot be loaded"):
        build(docs, tmp_path / "kb", embeddings=None)
    for module in ("vectorize", "build"):
        monkeypatch.setattr(f"adaptive_rag.index.{module}.load_embeddings", lambda name: HashEmbeddings())
    assert build(docs, tmp_path / "kb", embeddings=None).added


def test_rebuild_makes_the_index_anew_with_other_settings(docs: Path, kb: Path) -> None:
    reader = open_index(kb)
    wide = HashEmbeddings(dimension=24)
    report = build(docs, kb, embeddings=wide, chunk_size=500, rebuild=True)
    assert report.added == 3
    assert Index.open(kb, embeddings=wide).info()["dimension"] == 24
    assert len(list(reader._reader.chunks())) == 3, "who reads the old one can finish"


def test_langchain_documents_and_source_texts_are_indexed(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    pages = [
        Document(page_content=f"Page {n} on tides.", metadata={"source": "book", "page": n}) for n in (0, 1)
    ]
    assert build(pages, kb).added == 1
    assert build(pages, kb).unchanged == 1
    file = write_files(tmp_path / "docs", TIDES) / "sun.txt"
    assert build([extract_text(file)], kb).added == 1
    assert [chunk["page"] for chunk in open_index(kb).chunks() if chunk["source"] == "book"] == [1, 2]


@pytest.mark.parametrize(
    ("documents", "options", "message"),
    [
        (None, {}, "documents = None is not usable: expected paths, web addresses, "),
        ([Document(page_content="x")], {"embeddings": 3}, "embeddings = 3 is not a model: expected "),
    ],
)
def test_an_argument_of_another_type_is_named(
    kb: Path, documents: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Index.build(documents, kb, **options)


def test_paths_and_documents_are_not_mixed(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", TIDES)
    with pytest.raises(ConfigurationError, match="cannot be mixed"):
        build([docs, Document(page_content="x")], tmp_path / "kb")


def test_a_file_keeps_its_name_when_indexed_from_another_folder(
    tmp_path: Path, docs: Path, new_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    build("docs", new_kb)
    monkeypatch.chdir(docs)
    assert build(".", new_kb).unchanged == 3
    assert set(open_index(new_kb).sources()) == {f"docs/{name}" for name in TIDES}


def test_progress_reaches_its_estimated_total(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {f"{n}.txt": f"Note {n}. " * 90 for n in range(90)})
    steps: list[Progress] = []
    report = build(docs, tmp_path / "kb", progress=steps.append)
    assert len(steps) > 1
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total == report.chunks


def test_equal_sentences_are_embedded_once(tmp_path: Path) -> None:
    text = "The wall holds the sea. " + "Waves break on the old wall. " * 30
    docs = write_files(tmp_path / "docs", {"a.txt": text, "b.txt": text})
    report = build(docs, tmp_path / "kb", sentence_vectors=True, chunk_size=300, chunk_overlap=100)
    distinct_chunks = len(set(texts_in(tmp_path / "kb")))
    assert report.texts_embedded == distinct_chunks + 2


def test_what_a_loader_could_not_read_is_told_and_kept_as_long_as_it_is_so(docs: Path, new_kb: Path) -> None:
    kb = new_kb
    write_files(docs, {"bad.jsonl": '{"text": "Gates."}\n{oops\n'})
    first, again = build(docs, kb), build(docs, kb)
    assert (again.unchanged, again.notes) == (4, first.notes)
    [note] = first.notes
    assert Path(note.source).name == "bad.jsonl"
    assert note.text.startswith("1 of 2 lines could not be read: line 2")
    assert open_index(kb).info()["notes"] == [{"source": note.source, "text": note.text}]
    os.utime(docs / "bad.jsonl", (time.time() - 60, time.time() - 60))
    assert build(docs, kb).notes == first.notes
    assert build(docs / "sun.txt", kb).notes == []  # a run tells of the sources it was given
    write_files(docs, {"bad.jsonl": '{"text": "Gates."}\n'})
    assert build(docs, kb).notes == open_index(kb).info()["notes"] == []


def test_the_notes_of_texts_at_hand_are_kept_too(tmp_path: Path) -> None:
    text = replace(
        extract_text(write_files(tmp_path, {"a.txt": "The tide is low."}) / "a.txt"), notes=("half",)
    )
    report = build([text], tmp_path / "kb")
    assert [note.text for note in report.notes] == ["half"]


def test_a_later_chunk_of_a_table_is_embedded_below_its_columns_and_a_cut_row_is_noted(
    tmp_path: Path,
) -> None:
    rows = "\n".join(f"| Hinge {number} | {number} days | {number}.20 |" for number in range(90))
    long = "word " * 400
    docs = write_files(
        tmp_path / "docs",
        {"a.md": f"# List\n\n## Marlow\n\n| Item | Lead | Price |\n|---|---|---|\n{rows}\n\n{long}\n"},
    )
    model = HashEmbeddings()
    report = build(docs, tmp_path / "kb", embeddings=model, sentence_vectors=False)
    assert any(text.startswith("Marlow | Item | Lead | Price\n| Hinge ") for text in model.seen)
    assert [note.text for note in report.notes] == [
        "1 sentence, table row or list item is longer than a chunk and was cut"
    ]


def test_text_of_many_bytes_is_cut_smaller_for_a_model_whose_tokens_are_not_known(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"a.txt": "青石桥建于一八三四年，全长五十六米。" * 200})
    model = HashEmbeddings()
    build(docs, tmp_path / "kb", embeddings=model)
    assert 400 < max(len(text) for text in model.seen) <= 500


def test_a_file_that_joins_an_archive_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    docs, kb = tmp_path / "docs", tmp_path / "kb"
    docs.mkdir()
    for names in ("ab", "abc"):
        with zipfile.ZipFile(docs / "notes.zip", "w") as archive:
            for name in names:
                archive.writestr(f"{name}.txt", f"Note {name}.")
        report = build(docs, kb)
    assert (report.added, report.updated, report.unchanged) == (1, 0, 2)
    assert build(docs, kb).unchanged == 3
    assert texts_in(kb) == ["Note a.", "Note b.", "Note c."]


def test_what_a_link_led_to_leaves_with_the_link_and_stays_where_a_mount_is_missing(tmp_path: Path) -> None:
    docs, kb = write_files(tmp_path / "docs", TIDES), tmp_path / "kb"
    away = write_files(tmp_path / "away", {"a.txt": "Ebb.", "disk/b.txt": "Flow.", "disk/c.txt": "Slack."})
    (docs / "a.txt").symlink_to(away / "a.txt")
    (docs / "disk").symlink_to(away / "disk")
    assert build(docs, kb).added == 6
    (away / "disk").rename(away / "unmounted")
    assert build(docs, kb).removed == 0
    (away / "unmounted").rename(away / "disk")
    (away / "disk" / "b.txt").unlink()
    (docs / "a.txt").unlink()
    assert build(docs, kb).removed == 2
    assert texts_in(kb) == sorted([*TIDES.values(), "Slack."])


def test_the_size_of_an_index_is_told_while_a_run_removes_files(
    kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, walk = describe(kb)["bytes"], os.walk

    def walk_too_early(folder: Path) -> Iterator[Any]:
        return ((parent, folders, [*files, "removed.lance"]) for parent, folders, files in walk(folder))

    monkeypatch.setattr(os, "walk", walk_too_early)
    assert describe(kb)["bytes"] == whole > 0
