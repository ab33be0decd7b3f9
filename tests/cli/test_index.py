"""`adaptive-rag index`."""

import json
from pathlib import Path

import pytest

from adaptive_rag import Index
from adaptive_rag.cli.session import format_progress, format_report
from adaptive_rag.index import IndexReport, Progress
from tests.cli.conftest import Run, parsed


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(f"This is note {name}.\n")
    return folder


def test_a_folder_is_indexed_and_the_run_is_told_in_a_line(run: Run, notes: Path) -> None:
    result = run("index", notes)
    assert result.exit_code == 0 and result.stderr == ""
    [line] = result.stdout.splitlines()
    assert line.startswith("Documents: 2 added · 2 chunks written · 2 chunks in the index · ")


def test_what_is_unchanged_changed_and_gone_is_told(run: Run, notes: Path) -> None:
    run("index", notes)
    assert "Documents: 2 unchanged · 2 chunks in the index" in run("index", notes).stdout
    (notes / "one.txt").write_text("This is another text for note one.\n")
    (notes / "two.txt").unlink()
    (notes / "three.txt").write_text("This is note three.\n")
    assert "1 added, 1 updated, 1 removed" in run("index", notes).stdout


def test_json_is_one_object(run: Run, notes: Path) -> None:
    report = parsed(run("index", notes, "--json"))
    assert (report["added"], report["chunks"], report["failed"]) == (2, 2, [])


def test_what_vanished_is_kept_where_asked(run: Run, notes: Path) -> None:
    run("index", notes)
    (notes / "two.txt").unlink()
    assert parsed(run("index", notes, "--no-prune", "--json"))["total_chunks"] == 2
    assert parsed(run("index", notes, "--json"))["total_chunks"] == 1


def test_other_settings_are_refused_with_the_command_that_mends_it(run: Run, notes: Path) -> None:
    run("index", notes)
    refused = run("index", notes, "--chunk-size", "500")
    assert refused.exit_code == 1 and "--rebuild" in refused.stderr
    rebuilt = run("index", notes, "--chunk-size", "500", "--rebuild")
    assert rebuilt.exit_code == 0
    assert Index.open(".adaptive-rag").info()["chunk_size"] == 500


def test_info_shows_what_was_made_and_with_what(run: Run, notes: Path) -> None:
    run("index", notes, "--index", "kb")
    shown = run("info", "--index", "kb").stdout
    assert "local:all-MiniLM-L6-v2" in shown and "None" not in shown
    facts = parsed(run("info", "--index", "kb", "--json"))
    assert (facts["sources"], facts["chunks"], facts["chunk_size"]) == (2, 2, 1000)


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


def test_progress_says_how_many_how_fast_and_how_long() -> None:
    told = format_progress(Progress(done=1200, total=5000, rate=40.4, seconds_left=94.0, source="a.pdf"))
    assert told == "1,200 of about 5,000 chunks · 40/s · 1 min 34 s left"


def test_a_report_names_what_could_not_be_read() -> None:
    report = IndexReport(added=1, chunks=3, total_chunks=1003, seconds=7300.0)
    report.failed.append(json)  # type: ignore[arg-type]
    assert format_report(report) == (
        "Documents: 1 added, 1 not readable · 3 chunks written · 1,003 chunks in the index · 2 h 1 min"
    )
