"""What the shell door writes, and how."""

import io
import json
import sys
from pathlib import Path

import pytest

from adaptive_rag.cli import answers
from adaptive_rag.cli.output import place_of, print_block, print_json, short_source


def test_json_survives_names_that_are_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"source": "b\udcffd.txt", "answer": "Füße"})
    assert json.loads(capsys.readouterr().out) == {"source": "b\udcffd.txt", "answer": "Füße"}


def test_json_keeps_to_letters_that_the_terminal_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    print_json({"answer": "Füße"})
    assert json.loads(raw.getvalue()) == {"answer": "Füße"}


def test_sources_below_the_working_folder_are_shown_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert short_source(str(tmp_path / "docs" / "a.pdf")) == "docs/a.pdf"
    assert short_source("docs/a.pdf") == "docs/a.pdf"
    assert short_source("/one/two/three/four.pdf") == "…/three/four.pdf"
    assert short_source("/one/two.pdf") == "/one/two.pdf"
    assert short_source("s3://bucket/one/two/three.pdf") == "s3://bucket/one/two/three.pdf"
    assert place_of("a.pdf", 3) == "a.pdf, page 3"


def test_a_block_is_wrapped_with_a_hanging_margin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    print_block("one two three four five six seven eight", indent=2, hanging=3)
    assert capsys.readouterr().out.splitlines() == ["  one two three four five", "     six seven eight"]


def test_headings_and_markers_of_an_answer_are_styled_and_kept_in_words() -> None:
    styled = answers._styled("**For you** Do this. [1] Not [this] one.")
    assert styled.plain == "For you Do this. [1] Not [this] one."
    assert [styled.plain[span.start : span.end] for span in styled.spans if span.style] == ["For you", "[1]"]
