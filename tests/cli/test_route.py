"""`adaptive-rag route` and `adaptive-rag ontology`: JSON alone on standard output, errors as messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, parsed


@pytest.fixture(autouse=True)
def _nothing_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path / "home"))


def test_a_question_gives_what_spoke_for_each_type_as_json_or_bars_and_words(run: Run) -> None:
    answer = parsed(run("route", "Should zoos be closed?", "--json"))
    assert answer["type"] == "opinion"
    assert set(answer["contributions"]) == set(answer["probabilities"])
    assert answer["decided_by"] == "local"
    drawn = run("route", "Should zoos be closed?")
    assert drawn.exit_code == 0 and "█" in drawn.stdout and "should" in drawn.stdout
    with_context = ("What should I do first?", "--context", "I am a nurse")
    assert parsed(run("route", *with_context, "--json"))["type"] == "contextual"


def test_bytes_that_are_not_utf_8_are_no_obstacle(run: Run) -> None:
    assert run("route", "Should the caf\udce9 be closed?", "--context", "caf\udce9").exit_code == 0


def test_a_file_gives_a_line_a_question(run: Run, tmp_path: Path) -> None:
    asked, said = "Who built the bridge?", "The Romans built it."
    turns = [{"role": "user", "text": asked}, {"role": "agent", "text": said}]
    rows = [{"text": "Who wrote Faust?"}, {"text": "and when was that?", "history": turns}, {"text": ""}]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    result = run("route", "--file", file, "--json")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["type"] for answer in answers[:2]] == ["factual", "contextual"]
    assert answers[2]["decided_by"] == "hedge"
    keys = {"type", "probabilities", "confidence", "intent", "complexity", "decided_by"}
    assert all(keys <= set(answer) for answer in answers)
    table = run("route", "--file", file).stdout.splitlines()
    [kind, _, *others] = [cell.strip() for cell in table[2].split("   ") if cell.strip()]
    assert (kind, others) == ("contextual", ["local", "and when was that?"])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "neither a question nor a file"),
        (("Who?", "--file", "x.jsonl"), "QUESTION and --file"),
        (("--file", "nowhere.jsonl"), "nowhere.jsonl"),
        (("--file", "x.jsonl", "--context", "a nurse"), "--context goes with QUESTION"),
    ],
)
def test_bad_input_is_one_message(run: Run, arguments: tuple[str, ...], problem: str) -> None:
    result = run("route", *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert problem in " ".join(result.stderr.split())


def test_an_ontology_is_tried_on_a_question(run: Run, tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text("coast: [sea wall, tide]\n", encoding="utf-8")
    checked = parsed(run("ontology", "town.yaml", "How high is the sea wall?", "--json"))
    assert (checked["terms"], checked["found"]) == (2, {"coast": ["sea wall"]})
    assert checked["relevance"] > 0
    assert run("ontology", "town.yaml").stdout == "town.yaml: 2 terms in 1 category, no problems.\n"


def test_a_problem_in_an_ontology_is_reported_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("gear: [amp]\nroom: []\n", encoding="utf-8")
    result = run("ontology", "bad.yaml")
    assert result.exit_code == 1
    assert "line 2" in result.stderr


def test_when_a_question_is_unsure_follows_the_settings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed(run("route", "Should zoos be closed?", "--json"))["alternatives"] == []
    monkeypatch.setenv("ADAPTIVE_RAG_ROUTING__THRESHOLD", "1")
    unsure = parsed(run("route", "Should zoos be closed?", "--json"))
    assert unsure["decided_by"] == "hedge" and len(unsure["alternatives"]) == 1


def test_the_ontology_of_the_settings_counts_as_it_does_for_an_answer(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zoo.yaml").write_text("place: [zoo]\n")
    (tmp_path / "adaptive-rag.toml").write_text('ontology = "zoo.yaml"\n')
    settings = parsed(run("route", "Should zoos be closed?", "--json"))
    option = parsed(run("route", "Should zoos be closed?", "--ontology", "zoo.yaml", "--json"))
    assert settings["domain_relevance"] == option["domain_relevance"] > 0
