"""`adaptive-rag index`."""

import json
from pathlib import Path

import pytest

from adaptive_rag import Index
from adaptive_rag.cli.session import format_progress, format_report
from adaptive_rag.cli.skipped import print_notes, print_skipped
from adaptive_rag.index import IndexReport, Progress
from adaptive_rag.ingest import Failure, Note
from tests.cli.conftest import Run, parsed
from tests.web_server import serving_pages


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(f"This is note {name}.\n")
    return folder


def test_what_is_added_unchanged_changed_and_gone_is_told_and_kept_where_asked(run: Run, notes: Path) -> None:
    first = run("index", notes)
    assert first.exit_code == 0 and first.stderr == ""
    [line] = first.stdout.splitlines()
    assert line.startswith("Documents: 2 added · 2 chunks written · 2 chunks in the index · ")
    assert "Documents: 2 unchanged · 2 chunks in the index" in run("index", notes).stdout
    (notes / "one.txt").write_text("This is another text for note one.\n")
    (notes / "two.txt").unlink()
    (notes / "three.txt").write_text("This is note three.\n")
    kept = run("index", notes, "--no-prune").stdout
    assert "1 added, 1 updated" in kept and "3 chunks in the index" in kept
    assert "1 removed" in run("index", notes).stdout


def test_other_settings_are_refused_with_the_command_that_mends_it(run: Run, notes: Path) -> None:
    run("index", notes)
    refused = run("index", notes, "--chunk-size", "500")
    assert refused.exit_code == 1 and "--rebuild" in refused.stderr
    rebuilt = run("index", notes, "--chunk-size", "500", "--rebuild")
    assert rebuilt.exit_code == 0
    assert Index.open(".adaptive-rag").info()["chunk_size"] == 500


def test_an_index_can_do_without_sentence_vectors(run: Run, notes: Path) -> None:
    assert run("index", notes, "--no-sentence-vectors").exit_code == 0
    assert Index.open(".adaptive-rag").info()["sentence_vectors"] is False
    assert "without sentence vectors" in run("index", notes).stderr


def test_info_shows_what_was_made_and_with_what(run: Run, notes: Path) -> None:
    run("index", notes, "--index", "kb")
    shown = run("info", "--index", "kb").stdout
    assert "local:all-MiniLM-L6-v2" in shown and "None" not in shown
    facts = parsed(run("info", "--index", "kb", "--json"))
    assert (facts["sources"], facts["chunks"], facts["chunk_size"]) == (2, 2, 1000)
    assert facts["fields"]["kind"] == "text: txt"


def test_of_very_many_fields_the_first_are_listed_within_the_width(
    run: Run, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "wide.jsonl").write_text(json.dumps({"text": "tide"} | {f"field {n}": n for n in range(150)}))
    (notes / f"{'long-' * 8}name.txt").write_text("This is a note.\n")
    run("index", notes)
    monkeypatch.setenv("COLUMNS", "50")
    _, fields = run("info").stdout.split("Fields for --where:\n")
    *_, last = fields.rstrip().splitlines()
    assert max(map(len, fields.splitlines())) <= 50
    assert last == "    and 54 more; --json lists them all"
    assert len(parsed(run("info", "--json"))["fields"]) == 154


def test_what_could_not_be_read_is_told_in_a_line(run: Run, notes: Path) -> None:
    (notes / "bad.jsonl").write_text('{"text": "This is [note] three."}\n{oops\n')
    told = "Note: notes/bad.jsonl: 1 of 2 lines could not be read: line 2 ("
    for _ in range(2):
        result = run("index", notes)
        assert (result.exit_code, result.stderr) == (0, "")
        [_, line] = result.stdout.splitlines()
        assert line.startswith(told)
    [shown] = [line for line in run("info").stdout.splitlines() if "Note" in line]
    assert shown.strip().startswith(told)
    [as_indexed] = parsed(run("index", notes, "--json"))["notes"]
    [as_shown] = parsed(run("info", "--json"))["notes"]
    assert as_indexed == as_shown
    answering = parsed(run("ask", "What is note three?", "--json"))["trace"][-1]
    [decision] = [each for each in answering["decisions"] if each["what"] == "reading"]
    assert (decision["chosen"], decision["why"]) == (as_shown["source"], as_shown["text"])


def test_each_file_that_was_skipped_is_named_with_the_reason(run: Run, notes: Path) -> None:
    for name in ("photo.heic", "drawing.heic", "LICENSE", "empty.txt", ".hidden", "also.log"):
        (notes / name).touch()
    (notes / ".gitignore").write_text("*.log\n")
    result = run("index", notes)
    assert sorted(result.stderr.splitlines()) == [
        "Skipped: notes/LICENSE is of a kind that is not read (no suffix)",
        "Skipped: notes/drawing.heic is of a kind that is not read (.heic)",
        "Skipped: notes/empty.txt is empty: it has 0 bytes",
        "Skipped: notes/photo.heic is of a kind that is not read (.heic)",
    ]
    assert "2 added, 1 not readable, 3 of a kind that is not read · " in result.stdout, "as many as are named"
    (notes / "empty.txt").unlink()
    assert run("index", notes).exit_code == 0, "what is of no known kind is no failure"


def test_many_files_that_were_skipped_are_told_by_reason_and_each_one_where_asked(
    run: Run, notes: Path
) -> None:
    for number in range(14):
        (notes / f"photo{number:02}.heic").touch()
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "old.wpd"):
        (notes / name).touch()
    named = "To see the name of each file, index again with -v."
    assert run("index", notes).stderr.splitlines() == [
        "Skipped: 4 files, each is empty: it has 0 bytes (notes/a.txt, notes/b.txt, notes/c.txt and 1 more)",
        "Skipped: 15 files of kinds that are not read: 14 .heic, 1 .wpd. Save .wpd as .docx",
        named,
    ]
    every = run("index", notes, "-v").stderr.splitlines()
    assert len([line for line in every if line.startswith("Skipped: notes/")]) == 19 and named not in every
    assert len(json.loads(run("index", notes, "--json").stdout)["unknown"]) == 15


def test_what_one_extra_would_read_is_told_in_a_line_whatever_kinds_it_is_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    install = "pip install 'adaptive-rag[ocr]'"
    report = IndexReport(
        failed=[
            *(Failure(f"{number}.jpg", f"was not read. Install it with: {install}") for number in range(2)),
            *(Failure(f"{pages}.pdf", f"holds no text: {pages} pages: {install}, or") for pages in (2, 3)),
        ],
        notes=[Note(f"{page}.pdf", f"page {page} holds no text: {install}") for page in range(4, 1200)],
    )
    print_skipped(report, verbose=False)
    print_notes(report, verbose=False)
    told = capsys.readouterr()
    assert told.err.splitlines()[0] == (
        f"Skipped: 4 files cannot be read without {install} (0.jpg, 1.jpg, 2.pdf and 1 more)"
    )
    assert told.out == (
        f"Note: 1,196 files were read in part; to have the rest read: {install} "
        "(4.pdf, 5.pdf, 6.pdf and 1,193 more)\n"
    )


def test_a_very_long_name_of_a_skipped_file_is_shown_without_its_middle(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failure = Failure(f"a.zip/{'n' * 900}/tide.txt", "is empty")
    print_skipped(IndexReport(failed=[failure]), verbose=False)
    told = " ".join(capsys.readouterr().err.split())
    assert told.startswith("Skipped: a.zip/nnn") and told.endswith("n/tide.txt is empty") and len(told) < 330


def test_progress_says_how_many_how_fast_and_how_long() -> None:
    told = format_progress(Progress(done=1200, total=5000, rate=40.4, seconds_left=94.0, source="a.pdf"))
    assert told == "1,200 of about 5,000 chunks · 40/s · 1 min 34 s left"


def test_the_progress_of_a_cluster_names_the_nodes() -> None:
    nodes = {f"node-{n}": 100 * n for n in range(6, 0, -1)}
    told = format_progress(Progress(2100, 2100, 40.4, 0.0, "a.pdf", nodes=nodes))
    assert told.endswith(" · node-1 100, node-2 200, node-3 300, node-4 400 and 2 nodes more")
    assert format_progress(Progress(9, 9, 1.0, None, "a.pdf", nodes={"me": 9})).endswith("1/s · me 9")


def test_a_report_names_what_could_not_be_read() -> None:
    report = IndexReport(added=1, chunks=1, total_chunks=1003, seconds=7300.0)
    report.failed.append(json)  # type: ignore[arg-type]
    assert format_report(report) == (
        "Documents: 1 added, 1 not readable · 1 chunk written · 1,003 chunks in the index · 2 h 1 min"
    )


def spoil(kb: Path) -> None:
    """Flip a bit in the file of the rows."""
    [file] = (kb / "chunks-1.lance" / "data").iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_damage_is_told_with_the_command_that_mends_it_and_that_command_does(run: Run, notes: Path) -> None:
    run("index", notes, "--index", "kb")
    [first, second] = run("index", "--check", "--index", "kb").stdout.splitlines()
    assert "2 chunks of 2 sources · " in first and second.startswith("Sizes and counts are right")
    deep = run("index", "--check", "--deep", "--index", "kb")
    assert deep.exit_code == 0 and deep.stdout.splitlines()[-1] == "Contents are as they were written."
    assert parsed(run("index", "--check", "--index", "kb", "--json"))["healthy"] is True
    spoil(Path("kb"))
    refused = run("ask", "What is note one?", "--index", "kb")
    assert refused.exit_code == 1 and "adaptive-rag index --repair --index" in refused.stderr
    assert run("index", notes, "--index", "kb").exit_code == 1
    assert run("index", "--check", "--index", "kb").exit_code == 0, "sizes alone do not tell"
    checked = run("index", "--check", "--deep", "--index", "kb")
    assert checked.exit_code == 1 and "has changed since it was written" in checked.stdout
    command = checked.stdout.splitlines()[-1].split()
    assert command[:3] == ["adaptive-rag", "index", "--repair"]
    repaired = run(*command[1:])
    assert repaired.exit_code == 0
    assert "Mended · sources: 2 read again · 2 chunks in the index" in repaired.stdout
    assert run("index", "--check", "--deep", "--index", "kb").exit_code == 0
    assert run("ask", "What is note one?", "--index", "kb").exit_code == 0
    assert "Nothing was damaged · sources: 2 whole" in run("index", "--repair", "--index", "kb").stdout


def test_what_is_lost_is_named_and_the_exit_code_says_so(run: Run, notes: Path) -> None:
    run("index", notes, "--index", "my kb")
    (notes / "two.txt").unlink()
    for file in Path("my kb/chunks-1.lance/data").iterdir():
        file.unlink()
    repaired = run("index", "--repair", "--index", "my kb")
    assert repaired.exit_code == 1 and "1 read again, 1 lost" in repaired.stdout
    assert "Lost: notes/two.txt: " in repaired.stderr and "two.txt is gone" in repaired.stderr
    assert f"adaptive-rag index PATH --index '{Path('my kb').absolute()}'" in repaired.stderr
    assert run("index", "--check", "--deep", "--index", "my kb").exit_code == 0


def test_a_damaged_manifest_is_mended_by_the_command_that_is_named(run: Run, notes: Path) -> None:
    run("index", notes, "--index", "kb")
    Path("kb/manifest.json").write_text("{")
    assert "--repair" in run("info", "--index", "kb").stderr
    assert run("index", "--repair", "--index", "kb").exit_code == 0
    Path("kb/manifest.json").write_text("{")
    Path("kb/manifest.copy.json").write_text("{")
    for command in (("info",), ("index", "--repair"), ("index", notes)):
        assert "--rebuild" in run(*command, "--index", "kb").stderr
    assert run("index", notes, "--index", "kb", "--rebuild").exit_code == 0
    assert parsed(run("info", "--index", "kb", "--json"))["chunks"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name the files or folders to index"),
        (["--check", "notes"], "leave out 'notes'"),
        (["--repair", "--ray", "local"], "--repair runs in this process: leave --ray out."),
        (["--repair", "--check"], "Use only one of"),
        (["--repair", "--rebuild"], "Use only one of"),
        (["--deep", "notes"], "--deep goes with --check"),
    ],
)
def test_what_does_not_go_together_is_refused(run: Run, notes: Path, arguments: list[str], said: str) -> None:
    refused = run("index", *arguments)
    assert refused.exit_code == 1 and said in refused.stderr
    assert not Path(".adaptive-rag").exists()


def test_include_and_exclude_choose_the_files_of_a_folder(run: Run, notes: Path) -> None:
    (notes / "node_modules").mkdir()
    (notes / "node_modules/three.txt").write_text("This is note three.\n")
    assert parsed(run("index", notes, "--json"))["total_chunks"] == 2
    chosen = parsed(run("index", notes, "--include", "one.*", "--json"))
    assert (chosen["removed"], chosen["total_chunks"]) == (1, 1)
    arguments = ("--exclude", "two.txt", "--exclude", "!node_modules/")
    assert parsed(run("index", notes, *arguments, "--json"))["total_chunks"] == 2
    assert "[z-a" in run("index", notes, "--exclude", "[z-a]*a*a*a*a").stderr


def test_an_address_is_read_as_far_as_the_operator_allows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_pages() as server:
        server.put("/", "<p>The harbour closes at wind force nine. <a href='/ferry'>Ferry</a></p>")
        server.put("/ferry", "<p>The ferry runs until nine.</p>")
        refused = run("index", f"{server.url}/")
        assert refused.exit_code == 1 and "is no address of the public Internet" in refused.stderr
        assert server.asked == []
        monkeypatch.setenv("ADAPTIVE_RAG_WEB__PRIVATE_NETWORKS", "true")
        assert parsed(run("index", f"{server.url}/", "--json"))["sources"] == [f"{server.url}/"]
        report = parsed(run("index", f"{server.url}/", "--depth", 1, "--json"))
        assert (report["unchanged"], report["added"]) == (1, 1)
        assert f"{server.url}/ferry" in run("ask", "How late does the ferry run?").stdout
