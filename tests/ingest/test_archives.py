import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError, IndexingError, InputError
from adaptive_rag.ingest import (
    Confined,
    Failure,
    SourceFile,
    archives,
    discover,
    extract_text,
    read_source,
)
from adaptive_rag.ingest.ignore import Patterns
from adaptive_rag.ingest.read import list_archive
from tests.index.made import build, texts_in
from tests.ingest.spans import checked_chunks

HELD = {
    "wall.md": "# Wall\n\nThe wall is 5 m high.\n",
    "./letters/may.txt": "The gate is shut in May.",
    "tables/levels.csv": "level,height\n1,3.6 m\n",
    "letters/.hidden.txt": "hidden",
    "__MACOSX/letters/may.txt": "of a Mac",
    "node_modules/lib/readme.md": "of others",
    "photo.raw": "no text",
}
READ = ["letters/may.txt", "tables/levels.csv", "wall.md"]


def make_zip(path, held):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in held.items():
            archive.writestr(name, text)
    return path


def make(path, held):
    """Make an archive of the kind that its name says."""
    return (make_zip if path.suffix.lower() == ".zip" else make_tar)(path, held)


def make_tar(path, held):
    suffix = path.suffix[1:].lower()
    with tarfile.open(path, "w" if suffix == "tar" else f"w:{suffix}") as archive:
        for name, text in held.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
        kinds = {"link.txt": tarfile.SYMTYPE, "hard.txt": tarfile.LNKTYPE, "pipe.txt": tarfile.FIFOTYPE}
        for name, kind in kinds.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    return path


@pytest.fixture
def docs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    return Path("docs")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "A.TAR.XZ"])
def test_each_file_in_an_archive_is_a_document_of_its_own(docs, name):
    make(docs / name, HELD)
    report = build("docs", Path("kb"))
    assert report.sources == [f"docs/{name}/{inner}" for inner in READ] and not report.failed
    wall, may, level = (
        "# Wall\n\nThe wall is 5 m high.",
        "The gate is shut in May.",
        "level: 1\nheight: 3.6 m",
    )
    assert texts_in(Path("kb")) == [wall, may, level]
    [chunk] = checked_chunks(extract_text(docs / name / "wall.md"))
    assert chunk["source"] == f"docs/{name}/wall.md" and chunk["section"] == "Wall"
    assert build("docs", Path("kb")).unchanged == 3


def test_an_archive_that_changes_is_followed_and_a_damaged_one_keeps_what_was_read(docs):
    path = make_zip(docs / "a.zip", {"a.txt": "The tide is low.", "b.txt": "Rain falls."})
    build(path, Path("kb"))
    make_zip(path, {"a.txt": "The tide is high.", "c.txt": "Shut the gate.", "photo.raw": ""})
    report = build(path, Path("kb"))
    assert (report.added, report.updated, report.removed) == (1, 1, 1)
    path.write_bytes(b"no archive")
    [failure] = build("docs", Path("kb")).failed
    assert str(failure) == "docs/a.zip is damaged, or no archive of its kind. Pack it again"
    assert texts_in(Path("kb")) == ["Shut the gate.", "The tide is high."]


def test_what_leads_out_lies_too_deep_or_is_too_large_is_left_out_with_a_line(docs, monkeypatch):
    monkeypatch.setattr(archives, "_LARGEST_FILE", 1_000_000)
    bad = [
        "../out.txt",
        "/etc/out.txt",
        "C:/out.txt",
        "a\\..\\..\\out.txt",
        "d/" * 20 + "deep.txt",
        "inner.zip",
    ]
    held = {"good.txt": "The tide.", **dict.fromkeys(bad, "secret"), "big.txt": "a" * 1_000_001}
    made, listed = make_zip(docs / "a.zip", held), archives.TextBuilder()
    archives.load_archive(made, listed)
    assert listed.text == "good.txt"
    assert listed.notes == ["holds a file that is not read: ../out.txt leads out of the archive and 6 more"]
    report = build("docs", Path("kb"))
    assert texts_in(Path("kb"))[0] == "The tide." and "../out.txt leads out" in str(report.failed[0])


def test_a_name_in_utf_8_is_read_as_such_where_the_archive_does_not_say_so(tmp_path):
    class MadeByMacOS(zipfile.ZipInfo):
        def _encodeFilenameFlags(self):
            return self.filename.encode(), 0

    path = make_zip(tmp_path / "a.zip", {MadeByMacOS("Möwe.txt"): "It is white."})
    [file], _ = list_archive(SourceFile(path, "a.zip"), Patterns())
    assert (file.source, read_source(file).text) == ("a.zip/Möwe.txt", "It is white.")


def test_a_name_with_characters_that_are_not_drawn_is_kept_with_escapes_and_told(docs):
    drawn, turned, split = "Familie 👨‍👩‍👧.txt", "chat \u202a+49 30\u202c.txt", "fer\u200bry/tide\u00ad.md"
    make_zip(docs / "a.zip", {turned: "The tide.", split: "The ferry.", drawn: "The quay."})
    report = build("docs", Path("kb"))
    escaped = [r"docs/a.zip/chat \u202a+49 30\u202c.txt", r"docs/a.zip/fer\u200bry/tide\xad.md"]
    assert report.sources == [f"docs/a.zip/{drawn}", *escaped] and not report.failed
    said = f"contains names with invisible characters. They are escaped: {escaped[0]} and 1 more"
    assert [(note.source, note.text) for note in report.notes] == [("docs/a.zip", said)]
    assert build("docs", Path("kb")).unchanged == 3


def test_a_name_that_is_not_utf_8_keeps_no_file_from_being_read_and_is_told_in_text(docs):
    held = {"L\udcf6cks.yaml": "lock: open", "L\udcf6cks.pdf": "%PDF-1.4", "b.txt": "The quay."}
    make_tar(docs / "a.tar", held)
    report = build("docs", Path("kb"))
    assert report.sources == [r"docs/a.tar/L\xf6cks.yaml", "docs/a.tar/b.txt"]
    [failure] = report.failed
    assert r"qpdf 'L\xf6cks.pdf'" in str(failure).encode().decode()


@pytest.mark.parametrize(("bound", "value"), [("_MOST_FILES", 2), ("_LARGEST", 20)])
def test_an_archive_beyond_the_bounds_is_refused(docs, monkeypatch, bound, value):
    monkeypatch.setattr(archives, bound, value)
    with pytest.raises(IndexingError, match="more than an archive may"):
        archives.load_archive(make_tar(docs / "a.tar", HELD), archives.TextBuilder())


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_the_last_of_several_versions_of_a_file_is_read_as_when_unpacked(docs, name):
    make(docs / name, {"price.txt": "It is 10 euro.", "b.txt": "The tide.", "./price.txt": "It is 99 euro."})
    build("docs", Path("kb"))
    assert texts_in(Path("kb")) == ["It is 99 euro.", "The tide."]


@pytest.mark.parametrize("name", ["a.zip", "a.tar"])
def test_a_name_that_is_too_long_for_a_file_on_disk_is_read_and_others_keep_theirs(docs, name):
    long, deep = f"{'報告書' * 34}.txt", f"{'d' * 80}/" * 12 + "tide.txt"
    held = {long: "The gate closes at 22.10.", "wall.py": "HEIGHT = 5", deep: "The tide."}
    too_long = {"n" * 60_000 + ".txt": "Rain.", "\u202a" * 300 + ".txt": "The quay."}
    path = make(docs / name, held | too_long)
    report = build("docs", Path("kb"))
    assert report.sources == [f"docs/{name}/{inner}" for inner in sorted(held)]
    assert sorted(texts_in(Path("kb"))) == sorted(held.values())
    assert extract_text(path / "wall.py").section_at(0) == "wall.py"
    assert [str(failure) for failure in report.failed] == [
        f"docs/{name} holds a file that is not read: {'n' * 100} … has a name of more than 1,000 characters "
        "and 1 more"
    ]


def test_a_file_that_unpacks_to_more_than_it_says_ends(docs, monkeypatch):
    made = make_zip(docs / "a.zip", {"a.txt": "tide " * 1000})
    monkeypatch.setattr(archives, "_LARGEST_FILE", 1000)
    with pytest.raises(IndexingError, match="unpacks to more"), archives.unpacked(made / "a.txt"):
        pass


def test_a_locked_file_a_missing_one_and_another_kind_are_told(docs):
    path = make_zip(docs / "a.zip", {"a.txt": "tide", "b.raw": ""})
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + at] |= 1
    path.write_bytes(data)
    reasons = {"a.txt": "password", "c.txt": "no longer in its archive", "b.raw": "not of a kind"}
    for name, reason in reasons.items():
        failure = read_source(SourceFile(path / name, name))
        assert isinstance(failure, Failure) and reason in failure.reason
    with pytest.raises(ConfigurationError, match="does not exist"):
        extract_text("docs/b.zip/a.txt")


def test_the_files_of_an_archive_count_among_those_that_a_caller_may_have_indexed(docs):
    make_zip(docs / "a.zip", {f"{number}.txt": "tide" for number in range(5)})
    asked = Confined(["docs"], [str(docs.resolve())], 4)
    assert len(discover(asked)) == 1
    with pytest.raises(InputError, match="5 files were found"):
        build(asked, Path("kb"))


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_files_that_are_read_one_after_the_other_have_their_archive_opened_once(docs, monkeypatch, name):
    held = {f"{number}.txt": f"Gate {number} is shut." for number in range(20)}
    opened, open_archive = [], archives._open
    monkeypatch.setattr(archives, "_open", lambda path: opened.append(path) or open_archive(path))
    for times, first in enumerate(("shut", "open"), start=1):
        held["0.txt"] = f"Gate 0 is {first}."
        path = make(docs / name, held)
        for inner, text in held.items():
            with archives.unpacked(path / inner) as file:
                assert file.read_text() == text
        assert len(opened) == times


def test_an_archive_with_nothing_to_read_says_why(tmp_path):
    names = ("a.bin", "b/c.bin", "b/plan.dwg", ".d/e.txt", "f.zip", "draft.txt")
    path = make_zip(tmp_path / "a.zip", dict.fromkeys(names, "x"))
    members, failure = list_archive(SourceFile(path, "a.zip"), Patterns(exclude=("draft*",)))
    assert not members
    assert failure.reason == (
        "holds no file to read: 2 of no kind that is read (.bin), 1 of no kind that is read (.dwg), "
        "1 hidden, 1 left out by a pattern; "
        "it holds a file that is not read: f.zip is an archive in an archive"
    )
