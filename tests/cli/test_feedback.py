"""`feedback`, `eval --collect`, `route --learn` and `--forget`: learning from one's own questions."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest

from adaptive_rag.analysis.learning import read_questions
from adaptive_rag.analysis.router import learned_file
from tests.analysis.test_explain_and_learn import house_style
from tests.cli.conftest import Run, parsed

TURNS = [{"role": "user", "text": "Who built it?"}, {"role": "agent", "text": "The town."}]


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path / "my home"))  # as "Application Support" on a Mac


def test_a_question_is_kept_in_the_users_own_file_and_said_where(run: Run, tmp_path: Path) -> None:
    result = run("feedback", "Status of the pump?", "--type", "Opinion")
    own = tmp_path / "my home" / "questions.jsonl"
    assert result.stdout == f"Kept as opinion in {own}\n"
    assert f"adaptive-rag route --learn '{own}'" in result.stderr
    assert own.read_text() == '{"text": "Status of the pump?", "type": "opinion"}\n'


def test_what_belongs_to_the_question_is_kept_and_read_back(run: Run) -> None:
    text = "and when?\u2028really — ü"
    given = ("--type", "contextual", "--context", "I own a pump", "--history", json.dumps(TURNS))
    found = parsed(run("feedback", text, *given, "--file", "mine.jsonl", "--json"))
    assert found == {"file": "mine.jsonl", "type": "contextual", "written": 1}
    [line] = read_questions("mine.jsonl", labelled=True)
    assert line == (text, "I own a pump", TURNS, "contextual")


def test_a_line_is_never_there_twice_and_two_labels_are_pointed_out(run: Run) -> None:
    ask = ("feedback", "Status?", "--file", "mine.jsonl")
    run(*ask, "--type", "opinion")
    again = run(*ask, "--type", "opinion")
    assert again.exit_code == 0 and again.stdout == "Already kept as opinion in mine.jsonl\n"
    other = run(*ask, "--type", "factual")
    assert "with another type too" in " ".join(other.stderr.split())
    assert [line.type for line in read_questions("mine.jsonl", labelled=True)] == ["opinion", "factual"]


def test_what_a_person_wrote_without_an_end_of_line_stays_whole(run: Run) -> None:
    Path("mine.jsonl").write_text('{"text": "Who?", "type": "factual", "note": "mine"}')
    run("feedback", "Status?", "--type", "opinion", "--file", "mine.jsonl")
    first, second = Path("mine.jsonl").read_text().splitlines()
    assert json.loads(first)["note"] == "mine" and json.loads(second)["text"] == "Status?"
    assert "Already" in run("feedback", "Who?", "--type", "factual", "--file", "mine.jsonl").stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("Who?", "--type", "poem"), "--type = 'poem' is not usable: expected one of factual"),
        ((" ", "--type", "factual"), "The question is empty"),
        (("Who?", "--type", "factual", "--history", "{"), "--history is not valid JSON"),
        (("Who?", "--type", "factual", "--history", "3"), "expected a list of"),
        (("Who?", "--type", "factual", "--history", '[{"role": "robot"}]'), "robot"),
        (("Who?", "--type", "factual", "--history", '[{"role": "user", "text": 3}]'), "expected a list of"),
        (("Who?", "--type", "factual", "--file", "folder"), "'folder'"),
        (("Who?", "--type", "factual", "--file", "notes.txt"), "notes.txt, line 1 is not JSON"),
        (("Who?", "--type", "factual", "--file", "notes.txt/mine.jsonl"), "cannot be written"),
    ],
)
def test_bad_input_is_one_message_and_changes_nothing(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("my notes\n")
    result = run("feedback", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert problem in " ".join(result.stderr.split())
    assert not (tmp_path / "home" / "questions.jsonl").exists()
    assert (tmp_path / "notes.txt").read_text() == "my notes\n"


def test_what_was_learned_is_said_taken_back_and_taken_up_again(run: Run, town_index: str) -> None:
    question = "Status of the turbine project?"
    assert parsed(run("route", question, "--json"))["routing"] == {"routing": "shipped"}
    assert "as shipped" in run("route", question).stdout
    before = parsed(run("route", question, "--json"))["type"]
    for row in house_style():
        run("feedback", row["text"], "--type", row["type"], "--file", "mine.jsonl")
    learned = run("route", "--learn", "mine.jsonl")
    assert "route --forget" in learned.stdout
    count = int(re.search(r"Learned from (\d+) questions", learned.stdout)[1])  # type: ignore[index]

    found = parsed(run("route", question, "--json"))
    assert (found["type"], found["routing"]["questions"]) == ("opinion", count)
    said = f"learned from {count} questions on {date.today().isoformat()}"
    for command in (("route", question), ("info", "-i", town_index), ("doctor", "-i", town_index)):
        assert said in " ".join(run(*command).stdout.split())
    assert parsed(run("info", "-i", town_index, "--json"))["routing"]["routing"] == "learned"

    forgotten = run("route", "--forget")
    kept = learned_file().with_name("router.json.bak")
    assert forgotten.exit_code == 0 and str(kept) in forgotten.stdout.replace("\n", "")
    assert parsed(run("route", question, "--json"))["type"] == before != "opinion"
    assert "as shipped" in run("info", "-i", town_index).stdout
    kept.rename(learned_file())
    assert parsed(run("route", question, "--json"))["type"] == "opinion"


def test_nothing_to_forget_is_no_error(run: Run) -> None:
    result = run("route", "--forget")
    assert result.exit_code == 0 and "Nothing was learned" in result.stdout
    assert parsed(run("route", "--forget", "--json")) == {"forgotten": False, "kept": None}
    mixed = run("route", "Who?", "--forget")
    assert mixed.exit_code == 1 and "QUESTION and --forget" in mixed.stderr


def test_a_learned_file_that_is_broken_is_a_fault_and_can_be_forgotten(run: Run, town_index: str) -> None:
    learned_file().parent.mkdir(parents=True)
    learned_file().write_text("{")
    assert run("doctor", "-i", town_index).exit_code == 1
    assert "cannot be used" in " ".join(run("doctor", "-i", town_index).stdout.split())
    shown = run("info", "-i", town_index)
    assert shown.exit_code == 0 and "not usable" in shown.stdout
    assert run("route", "--forget").exit_code == 0
    assert run("doctor", "-i", town_index).exit_code == 0
