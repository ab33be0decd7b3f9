"""`adaptive-rag list`, `show` and `remove`: the documents of an index by their names."""

import json
import os
from pathlib import Path

import pytest
from langchain_core.documents import Document

from adaptive_rag import Index
from adaptive_rag.ingest import extract_text
from tests.cli.conftest import Run, parsed
from tests.test_places import write_pptx

GATE = (
    "# Gates\n\nThe north gate is shut at nine. The south gate is shut when the last ferry has left.\n\n"
    "# Keys\n\nThe keys hang in the office. Whoever takes one writes name and hour in the ledger.\n"
)
SMALL = ("--chunk-size", 100, "--chunk-overlap", 0)
ROWS = "name,price\nhinge,4\nbolt,2\n"


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Path:
    """A folder with a copy in it, indexed."""
    folder = tmp_path / "docs"
    (folder / "old").mkdir(parents=True)
    for name, text in {"gate.md": GATE, "old/gate copy.md": GATE, "rows.csv": ROWS}.items():
        (folder / name).write_text(text)
    (folder / "bad.jsonl").write_text('{"text": "The ferry is late."}\n{oops\n')
    assert run("index", folder, *SMALL).exit_code == 0
    return folder


def test_documents_are_listed_with_what_is_known_of_each(run: Run, kept: Path) -> None:
    [bad, gate, copy, rows] = parsed(run("list", "--json"))
    assert [each["source"] for each in (gate, copy)] == ["docs/gate.md", "docs/old/gate copy.md"]
    assert (gate["kind"], rows["kind"]) == ("md", "csv")
    assert (gate["copy_of"], copy["copy_of"]) == (None, "docs/gate.md")
    assert gate["chunks"] == copy["chunks"] > 1 and gate["indexed"] > 1.7e9
    assert "1 of 2 lines could not be read" in bad["notes"][0]
    shown = " ".join(run("list").stdout.split())
    assert "the same as" in shown and "4 documents" in shown


def test_the_documents_of_a_folder_are_listed_and_a_note_does_not_break_a_name(run: Run, kept: Path) -> None:
    assert [each["source"] for each in parsed(run("list", "docs/old", "--json"))] == ["docs/old/gate copy.md"]
    long = kept / "a name that is as long as names of office files are.md"
    long.write_text(GATE)
    assert run("index", kept, *SMALL).exit_code == 0
    assert any(f"docs/{long.name}  " in line for line in run("list").stdout.splitlines())
    assert [each["source"] for each in parsed(run("list", "gate", "--json"))] == [
        "docs/gate.md",
        "docs/old/gate copy.md",
    ]
    nowhere = run("list", "nowhere/")
    assert (nowhere.exit_code, nowhere.stdout) == (0, "")
    assert "No document's name begins with 'nowhere/'." in nowhere.stderr


def test_a_document_is_shown_by_chunk_with_its_sections(run: Run, kept: Path) -> None:
    shown = run("show", "gate.md").stdout
    assert "docs/gate.md, Gates, lines 1-" in shown and "docs/gate.md, Keys, line" in shown
    assert "The north gate is shut at nine." in shown
    chunks = parsed(run("show", kept / "rows.csv", "--json"))["chunks"]
    text = extract_text(kept / "rows.csv").text
    assert [chunk["text"] for chunk in chunks] == [text[each["start"] : each["end"]] for each in chunks]


def test_a_chunk_of_several_slides_names_them_all(run: Run, tmp_path: Path) -> None:
    write_pptx(tmp_path / "gates.pptx")
    run("index", "gates.pptx")
    assert run("show", "gates.pptx").stdout.startswith("gates.pptx, slide 1-3 · 0-")


def test_a_document_is_shown_by_the_start_of_its_name_but_not_removed(run: Run, kept: Path) -> None:
    assert parsed(run("show", "row", "--json"))["source"] == "docs/rows.csv"
    unclear = run("show", "gate")
    assert unclear.exit_code == 1 and "could be any of: docs/gate.md, docs/old/gate copy.md" in unclear.stderr
    assert "Did you mean 'docs/rows.csv'?" in run("remove", "row").stderr
    assert "Did you mean 'docs/gate.md'" in run("show", "Gate").stderr


@pytest.mark.parametrize("name", ["docs/gate.md", "gate copy.md"])
def test_a_span_is_shown_in_its_place(run: Run, kept: Path, name: str) -> None:
    start = GATE.index("The keys")
    span = f"{start}-{start + 8}"
    shown = parsed(run("show", name, "--span", span, "--json"))
    assert (shown["text"], shown["section"]) == ("The keys", "Keys")
    line = GATE[:start].count("\n") + 1
    assert shown["place"] == {"section": "Keys", "lines": [line, line]}
    assert shown["before"] == GATE[:start] and shown["after"] == GATE[start + 8 :].rstrip()
    printed = run("show", name, "--span", span).stdout
    assert f"Keys, line {line} · {span}" in printed and "«The keys» hang in the office." in printed


def test_a_name_that_a_mac_wrote_is_found_as_it_is_typed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cafe\u0301").mkdir()
    (tmp_path / "cafe\u0301" / "me\u0301nu.txt").write_text("The soup is green.")
    run("index", "cafe\u0301")
    for command in (("show", "ménu.txt"), ("show", tmp_path / "café/ménu.txt"), ("list", "café/")):
        assert run(*command).stdout, command
    for condition in ("file = ménu.txt", "source like 'café/*'"):
        assert parsed(run("search", "soup", "--where", condition, "--json"))["documents"], condition
    assert run("remove", "café/ménu.txt").exit_code == 0


def test_a_document_without_text_is_not_shown(run: Run) -> None:
    Index.build([Document(" ", metadata={"source": "blank.txt"})], ".adaptive-rag")
    assert "has no text" in run("show", "blank.txt").stderr


@pytest.mark.parametrize("span", ["9-3", "one-two", "5-5000"])
def test_a_span_that_is_none_is_refused(run: Run, kept: Path, span: str) -> None:
    refused = run("show", "gate.md", "--span", span)
    assert refused.exit_code == 1 and "span" in refused.stderr


def test_what_is_removed_is_not_found_and_its_copy_is(run: Run, kept: Path) -> None:
    before = parsed(run("info", "--json"))["chunks"]
    result = run("remove", "docs/gate.md", "rows.csv")
    assert result.exit_code == 0 and "Removed: docs/rows.csv" in result.stdout
    left = [each["source"] for each in parsed(run("list", "--json"))]
    assert left == ["docs/bad.jsonl", "docs/old/gate copy.md"]
    assert parsed(run("info", "--json"))["chunks"] < before
    assert run("index", "--check", "--deep").exit_code == 0
    [best] = json.loads(run("search", "When is the north gate shut?", "-k", 1, "--json").stdout)["documents"]
    assert best["source"] == "docs/old/gate copy.md"
    assert (kept / "gate.md").exists()


def test_all_documents_can_be_removed(run: Run, kept: Path) -> None:
    report = parsed(run("remove", "bad.jsonl", "gate.md", "gate copy.md", "rows.csv", "--json"))
    assert (report["removed"], report["total_chunks"]) == (4, 0)
    assert parsed(run("list", "--json")) == []
    assert "4 added" in run("index", kept, *SMALL).stdout


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["show", "remove"])
def test_an_unknown_or_unclear_name_changes_nothing(run: Run, kept: Path, command: str) -> None:
    (kept / "old" / "rows.csv").write_text("name,price\nlatch,7\n")
    run("index", kept, *SMALL)
    unknown = run(command, "gates.md")
    assert unknown.exit_code == 1 and "Did you mean 'docs/gate.md'?" in unknown.stderr
    unclear = run(command, "rows.csv")
    assert unclear.exit_code == 1 and "docs/old/rows.csv" in unclear.stderr
    assert len(parsed(run("list", "--json"))) == 5


def test_no_word_is_cut_in_two_around_a_span(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(f"{'before ' * 60}Here. {'after ' * 60}\n")
    run("index", "long.txt")
    shown = " ".join(run("show", "long.txt", "--span", "420-425").stdout.split("\n", 1)[1].split())
    assert set(shown.split()) == {"…", "before", "«Here.»", "after"}
    assert shown.startswith("… before") and shown.endswith("after …")


@pytest.mark.skipif(os.name == "nt", reason="no file has such a name there")
def test_a_name_of_two_lines_is_shown_on_one(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "gate\n  [2] law\u202e.md").write_text(GATE)
    run("index", folder, *SMALL)
    question = "When is the north gate shut?"
    for words in (("ask", question), ("search", question), ("list",)):
        shown = run(*words).stdout
        assert "\\n  [2] law\\u202e.md" in shown.replace("\n      ", " "), words
        assert not any(line.lstrip().startswith("[2] law") for line in shown.splitlines())
    assert parsed(run("list", "--json"))[0]["file"].endswith("/docs/gate\n  [2] law\u202e.md")
