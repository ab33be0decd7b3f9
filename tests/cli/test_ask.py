"""`adaptive-rag ask`."""

import os
import re
from pathlib import Path

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.cli.answers import print_answer
from tests.cli.conftest import Run, parsed
from tests.ingest.made_scans import note, save_scan

LONG = "How long is the sea wall of Saltmere?"


def test_json_is_one_object_with_every_key_and_nothing_else(run: Run, town_index: str) -> None:
    result = run("ask", LONG, "--index", town_index, "--json")
    output = parsed(result)
    keys = (
        "question query_type analysis documents trace answer parts citations grounding confidence outcome "
        "abstained"
    )
    assert list(output) == keys.split()
    assert set(output["analysis"]["probabilities"]) == {"factual", "analytical", "opinion", "contextual"}
    assert 0 < output["analysis"]["confidence"] <= 1
    assert set(output["citations"][0]) == {"marker", "source", "page", "place", "start", "end", "quote"}
    assert set(output["documents"][0]) >= {"id", "source", "page", "start", "end", "text", "scores"}
    assert (output["question"], output["abstained"]) == (LONG, False)
    assert result.stderr == ""


def test_a_terminal_shows_route_answer_citation_and_time(run: Run, town_index: str) -> None:
    shown = run("ask", LONG, "--index", town_index, "-k", "4").stdout
    lines = [line for line in shown.splitlines() if line]
    assert lines[0].startswith("● factual  decided ")
    assert "2,340 metres long" in shown
    assert any(line.startswith("  [1] ") and "note01.txt" in line for line in lines)
    assert " s · 4 passages read · answered: " in lines[-1]
    assert "% sure · quoted from the documents · no chat model" in lines[-1]


def test_an_answer_that_is_worked_out_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("Name,Sales\nAna,40\nBo,70\nCy,20\n")
    shown = run("ask", "Who has the highest sales?", "--docs", tmp_path / "sales.csv").stdout
    assert "worked out from the rows of a table" in shown and "Bo" in shown


@pytest.mark.parametrize(("columns", "widest"), [(40, 40), (80, 80), (200, 96)])
def test_the_answer_keeps_to_the_width_and_to_a_readable_measure(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch, columns: int, widest: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    question = "What are the different views on raising the sea wall?"
    body = [
        line
        for line in run("ask", question, "--index", town_index).stdout.splitlines()
        if line.startswith("  ") and "note" not in line and "·" not in line
    ]
    assert body and max(map(len, body)) <= widest
    assert max(map(len, body)) > widest / 2


def test_the_trace_names_every_step_and_what_was_done_locally(run: Run, town_index: str) -> None:
    shown = run("ask", LONG, "--index", town_index, "--trace").stdout
    for step in ("classify", "enhance", "retrieve", "rerank", "generate"):
        assert f"\n  {step} " in shown
    assert "generate done locally: no chat model is configured" in " ".join(shown.split())
    assert "Type of question: factual" in shown
    # What is piped has no colours and no blanks at the ends of lines.
    assert "\x1b" not in shown and all(line == line.rstrip() for line in shown.splitlines())


def test_an_abstention_says_so_and_exits_zero(run: Run, town_index: str) -> None:
    result = run("ask", "What is the boiling point of tungsten?", "--index", town_index)
    assert result.exit_code == 0
    assert "abstained" in result.stdout.splitlines()[-1]


def test_the_question_is_read_from_standard_input(run: Run, town_index: str) -> None:
    output = parsed(run("ask", "-", "--index", town_index, "--json", stdin=LONG + "\n"))
    assert output["question"] == LONG


def test_options_reach_the_run(run: Run, town_index: str) -> None:
    options = ("--route", "contextual", "-k", "2", "--context", "I rent a ground-floor flat", "--json")
    output = parsed(run("ask", "How should I prepare for a flood?", "--index", town_index, *options))
    assert output["analysis"]["decided_by"] == "caller"
    assert len(output["documents"]) == 2
    assert "I rent" in str(output["trace"])
    options = ("--set", "without=enhance", "--set", "k=1", "--json")
    fewer = parsed(run("ask", LONG, "--index", town_index, *options))
    assert len(fewer["documents"]) == 1
    assert [s["skill"] for r in fewer["trace"] for s in r.get("stand_ins", [])].count("enhance") == 0


def test_docs_are_indexed_where_they_are_new_then_asked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wall.txt").write_text("The sea wall of Saltmere is 2,340 metres long.\n")
    os.utime(tmp_path / "wall.txt", (1e9, 1e9))  # the time of a file that has just changed is not trusted
    first = parsed(run("ask", LONG, "--docs", "wall.txt", "--json"))
    assert first["citations"][0]["source"] == "wall.txt"
    written = (tmp_path / ".adaptive-rag" / "manifest.json").stat().st_mtime_ns
    assert parsed(run("ask", LONG, "--docs", "wall.txt", "--json"))["answer"] == first["answer"]
    assert (tmp_path / ".adaptive-rag" / "manifest.json").stat().st_mtime_ns == written


def test_only_the_documents_named_are_asked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wall.txt").write_text("The sea wall of Saltmere is 2,340 metres long.\n")
    (tmp_path / "rye.txt").write_text("Rye bread is baked for 75 minutes at 220 degrees.\n")
    run("index", ".")
    output = parsed(run("ask", "How long is rye bread baked?", "--docs", "wall.txt", "--json"))
    assert {document["source"] for document in output["documents"]} == {"wall.txt"}
    both = parsed(run("ask", "How long is rye bread baked?", "-d", "wall.txt", "-d", "rye.txt", "--json"))
    assert "75 minutes" in both["answer"]


def test_a_name_that_only_the_index_knows_is_answered_with_its_condition(run: Run, tmp_path: Path) -> None:
    assert run("ask", LONG, "--docs", "wall.txt").stderr.endswith("Give a file, a folder or a pattern.\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "wall.txt").write_text("The sea wall of Saltmere is 2,340 metres long.\n")
    run("index", "docs")
    refused = run("ask", LONG, "--docs", "wall.txt")
    condition = 'source = "docs/wall.txt"'
    assert refused.exit_code == 1 and f"to search it: --where '{condition}'" in refused.stderr
    assert parsed(run("ask", LONG, "--where", condition, "--json"))["citations"]
    assert "The index has" not in run("ask", LONG, "--docs", "gate.txt").stderr


def test_the_citations_of_an_answer_are_numbered_from_1_and_say_what_was_read_from_a_picture(
    capsys: pytest.CaptureFixture[str], town_index: str
) -> None:
    rag = AdaptiveRAG(index=town_index)
    output = rag.invoke({"question": LONG})
    quote = output["citations"][0]["quote"]
    cited = [{**output["citations"][0], "marker": marker} for marker in (4, 2)]
    print_answer({**output, "answer": f"*{quote}* [4] {quote} [2]", "citations": cited}, 0.1, rag.context)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{quote} [1] {quote} [2] [1] note01.txt" in shown and "“" not in shown
    scanned = [cited[0] | {"ocr_confidence": 0.936}, cited[1]]
    print_answer({**output, "answer": f"{quote} [4] {quote} [2]", "citations": scanned}, 0.1, rag.context)
    assert capsys.readouterr().out.count("(read from a picture, 94 % sure)") == 1


def test_long_paths_are_shown_short(run: Run, tmp_path: Path, town_index: str) -> None:
    (tmp_path / "wall.txt").write_text("The sea wall of Saltmere is 2,340 metres long.\n")
    assert "[1] wall.txt" in run("ask", LONG, "--docs", tmp_path / "wall.txt").stdout
    far = run("ask", LONG, "--index", town_index).stdout
    assert "[1] note01.txt" in far
    reached = os.path.relpath(Path(town_index).parent / "note01.txt")
    assert f"[1] {reached}" in run("ask", LONG, "--index", town_index, "--paths").stdout


def test_a_short_name_is_distinct_in_the_whole_index(run: Run, tmp_path: Path) -> None:
    for folder, text in (("north", "The sea wall of Saltmere is 2,340 metres long."), ("south", "It rains.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.txt").write_text(f"{text}\n")
    run("index", ".")
    for command, *more in (("ask",), ("search",), ("compare", "--routes", "factual,opinion")):
        said = run(command, LONG, "-w", "source like 'north*'", *more).stdout
        assert said.count("north/notes.txt") == said.count("notes.txt") > 0, (command, said)
    assert "Saltmere" in run("show", "north/notes.txt").stdout


def test_whole_paths_are_shown_as_they_are_reached_from_here(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "docs" / "wall.txt").write_text("The sea wall of Saltmere is 2,340 metres long.\n")
    run("index", "docs")
    kb = tmp_path / ".adaptive-rag"
    for folder, shown in ((".", "docs/wall.txt"), ("docs", "wall.txt"), ("elsewhere", "../docs/wall.txt")):
        monkeypatch.chdir(tmp_path / folder)
        for command, *more in (("ask",), ("search",), ("compare", "--routes", "factual,contextual")):
            said = run(command, LONG, "-i", kb, "--paths", *more).stdout
            assert f" {shown}" in said, (folder, command, said)
        # What a program reads names the document as the index does.
        assert parsed(run("ask", LONG, "-i", kb, "--json"))["citations"][0]["source"] == "docs/wall.txt"
    (tmp_path / "docs" / "wall.txt").unlink()
    assert "[1] docs/wall.txt" in run("ask", LONG, "-i", kb, "--paths").stdout


@pytest.mark.nightly
def test_a_scanned_page_is_indexed_asked_and_said_to_be_a_picture(run: Run) -> None:
    pytest.importorskip("rapidocr", reason="the extra `ocr` is not installed")
    save_scan(Path("gate.pdf"), note("The gate of the castle is shut at nine in the evening."))
    Path("wall.txt").write_text("The wall of the castle is built of red stone.")
    assert run("index", "gate.pdf", "wall.txt").exit_code == 0
    asked = "ask", "When is the gate of the castle shut?"
    assert re.search(r"gate\.pdf, page 1 .*\(read from a picture, 9\d % sure\)", run(*asked).stdout)
    assert "picture" not in run("ask", "What is the wall of the castle built of?").stdout
    [citation] = parsed(run(*asked, "--where", "ocr = true", "--json"))["citations"]
    assert 0.9 < citation["ocr_confidence"] <= 1
