"""What the shell door writes, and how."""

import io
import json
import re
import signal
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from adaptive_rag.cli import answers
from adaptive_rag.cli.output import (
    format_source_place,
    print_block,
    print_fact,
    print_json,
    print_line,
    print_note,
    print_plain,
    print_table,
    short_source,
    shortest_names,
    stderr,
    stdout,
)
from adaptive_rag.cli.session import showing_progress
from adaptive_rag.ingest import Failure
from adaptive_rag.samples import samples_path
from adaptive_rag.text.visible import is_hidden


def test_json_survives_names_that_are_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"source": "b\udcffd.txt", "answer": "Füße"})
    assert json.loads(capsys.readouterr().out) == {"source": "b\udcffd.txt", "answer": "Füße"}


def test_json_has_no_number_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [float("nan"), -float("inf"), 1.5], "text": "NaN", "failure": Failure("a", "ä\u202e")})
    out = capsys.readouterr().out
    shown = json.loads(out, parse_constant=lambda name: pytest.fail(name))
    assert shown["a"] == [None, None, 1.5] and shown["text"] == "NaN" and "\u202e" not in out


@pytest.mark.parametrize("width", ["0", "1", "-5", "x"])
def test_a_terminal_of_no_width_is_written_to(monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    print_table(["document"], [["a.txt"]])
    print_block("The tide comes in.")
    print_fact(["fact  "], "The tide comes in.")
    assert stdout().width > 0 and stderr().width > 0


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
    assert short_source("/one/two/three/four.pdf") == "/one/two/three/four.pdf"
    assert short_source(str(tmp_path.parent / "a.pdf")) == "../a.pdf"
    assert short_source("s3://bucket/one/two/three.pdf") == "s3://bucket/one/two/three.pdf"
    assert format_source_place("a.pdf", {"page": 3}) == "a.pdf, page 3"


HOSTILE = "\x1b[31mred\x1b]8;;https://x.example\x1b\\ \u202edesrever \u200b[bold]b[/] [/] :skull: \x9b2J"


@pytest.mark.parametrize("terminal", [False, True], ids=["piped", "terminal"])
def test_no_text_speaks_to_the_terminal_by_whatever_way_it_goes(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Console, "is_terminal", terminal)
    print_line(HOSTILE, style="bold")
    print_note((HOSTILE, "red"))
    print_block(HOSTILE, hanging=2)
    print_table((HOSTILE, ""), [(HOSTILE, Text(HOSTILE, "dim"))])
    print_plain(f"{HOSTILE}\n")
    stdout().print(HOSTILE)
    stderr().print(HOSTILE, soft_wrap=True)
    with stderr().status("[bold]searching[/]"):
        stderr().print(Text(HOSTILE))
    written = capsys.readouterr()
    shown = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]|\r", "", written.out + written.err)
    assert not [character for character in shown if is_hidden(character)]
    assert "2J" not in shown and "x.example" not in shown
    assert shown.count("[bold]b[/] [/] :skull:") >= 9


def test_json_holds_the_exact_text_and_shows_none_that_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    value = {HOSTILE: [HOSTILE, "\u2028", "\U000e0041"]}
    print_json(value)
    written = capsys.readouterr().out
    assert json.loads(written) == value
    assert not [character for character in written if is_hidden(character)]


def test_a_secret_is_not_shown_where_a_line_is_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("OPENAI_API_KEY", "canary key 7f3a9c51e2 of four words")
    said = "It says that the canary key 7f3a9c51e2 of four words is wrong."
    print_block(said)
    print_table(("", ""), [("x", said)])
    print_json({"said": said})
    written = capsys.readouterr().out
    assert "7f3a9c51e2" not in written and written.count("redacted") == 3


def test_the_traceback_of_a_bug_shows_no_secret_and_no_escape(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from adaptive_rag import cli

    monkeypatch.setenv("OPENAI_API_KEY", "canary-key-7f3a9c51e2")
    try:
        raise RuntimeError(f"canary-{'key'}-7f3a9c51e2 {HOSTILE}")
    except RuntimeError as error:
        cli._print_traceback(RuntimeError, error, error.__traceback__)
    said = capsys.readouterr().err
    assert "RuntimeError: [redacted] red" in said
    assert not [character for character in said if is_hidden(character)]


def test_a_long_name_in_a_table_is_broken_after_a_separator(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    print_table(("", ""), [("docs/food_note_2025.pdf", "pdf"), ("two words", "md"), ("x" * 20, "c")])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[:3] == [["docs/food_", "pdf"], ["note_2025.pdf"], ["two", "words", "md"]]
    assert rows[3:] == [["x" * 13, "c"], ["x" * 7]]


def test_a_block_is_wrapped_with_a_hanging_margin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    print_block("one two three four five six seven eight", indent=2, hanging=3)
    assert capsys.readouterr().out.splitlines() == ["  one two three four five", "     six seven eight"]


LINKED = "Read [the guide](https://a.test/x) or [https://b.test](https://b.test). [1] `[a](b)`"


@pytest.mark.parametrize(
    ("answer", "shown", "styled"),
    [
        ("**For you** Do [1] Not [this].", "For you Do [1] Not [this].", ["For you", "[1]"]),
        ("**kwargs collects arguments [1].", "**kwargs collects arguments [1].", ["[1]"]),
        ("## For **you**\nDo this. [1]", "For you\nDo this. [1]", ["For you", "[1]"]),
        ("*Ask `me`.* 2*3*4, `*.md` or `*.txt`.", "Ask `me`. 2*3*4, `*.md` or `*.txt`.", ["Ask `me`."]),
        (LINKED, "Read the guide (https://a.test/x) or https://b.test. [1] `[a](b)`", ["[1]"]),
    ],
)
def test_the_marks_of_an_answer_are_shown_as_styles(answer: str, shown: str, styled: list[str]) -> None:
    text = answers._style_answer(answer)
    assert text.plain == shown
    assert [text.plain[span.start : span.end] for span in text.spans if span.style] == styled


def test_a_sample_document_goes_by_its_name() -> None:
    assert short_source(str(samples_path() / "faq.csv")) == "faq.csv"


def test_ctrl_c_before_a_command_has_begun_is_told_in_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from adaptive_rag import cli

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr("adaptive_rag.cli.app.app", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "Interrupted.\n")


def test_ctrl_c_during_a_run_is_answered_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), showing_progress("Indexing"):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "Stopping.\n"


def test_documents_go_by_the_shortest_names_that_tell_them_apart() -> None:
    page = "https://example.org/note.md"
    sources = ["docs/a/note.md", "docs/b/note.md", "docs/b/other.md", "note.md", page]
    shown = ["a/note.md", "b/note.md", "other.md", "note.md", page]
    assert list(shortest_names(sources).values()) == shown
    names = shortest_names(["docs/a/note.md"], ["docs/b/note.md", "a/other.md"])
    assert names == {"docs/a/note.md": "a/note.md"}
