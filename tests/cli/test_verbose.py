"""`--verbose`: what the steps log, on standard error."""

import logging
from importlib import import_module

import pytest

from tests.cli.conftest import Run, parsed

LONG = "How long is the sea wall of Saltmere?"


def test_each_step_is_a_line_on_standard_error_alone(run: Run, town_index: str) -> None:
    result = run("search", LONG, "--json", "-i", town_index, "-v")
    steps = [record["step"] for record in parsed(result)["trace"]]
    assert [line.split()[0] for line in result.stderr.splitlines()] == [f"adaptive_rag.{s}" for s in steps]
    assert run("search", LONG, "--json", "-i", town_index).stderr == ""


def test_twice_shows_the_scores(run: Run, town_index: str) -> None:
    once = run("ask", LONG, "-i", town_index, "-v").stderr.splitlines()
    twice = run("ask", LONG, "-i", town_index, "-vv").stderr.splitlines()
    assert len(twice) > len(once)
    assert any("dense 0." in line for line in twice) and not any("dense 0." in line for line in once)


def test_a_conversation_and_a_comparison_are_logged_too(run: Run, town_index: str) -> None:
    kept = ("-i", town_index, "--file", "kept.sqlite", "-v")
    assert "adaptive_rag.classify" in run("chat", *kept, stdin=f"{LONG}\n").stderr
    shown = run("compare", LONG, "-i", town_index, "--routes", "factual,opinion", "-v").stderr
    assert shown.count("adaptive_rag.classify") == 2


def test_a_part_that_failed_is_shown_with_its_traceback(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADAPTIVE_RAG_STRICT")
    classify = import_module("adaptive_rag.nodes.classify")
    monkeypatch.setattr(classify, "correct_spelling", lambda *_: {}["no such word"])
    asked = run("ask", LONG, "-i", town_index, "-v")
    assert asked.exit_code == 0 and "2,340 metres" in asked.stdout
    assert "left out spelling" in asked.stderr and "KeyError" in asked.stderr


def test_nothing_is_left_behind_when_a_command_ends(run: Run, town_index: str) -> None:
    logger = logging.getLogger("adaptive_rag")
    before = list(logger.handlers), logger.level
    run("ask", LONG, "-i", town_index, "-vv")
    run("ask", " ", "-i", town_index, "-vv")
    assert (list(logger.handlers), logger.level) == before
