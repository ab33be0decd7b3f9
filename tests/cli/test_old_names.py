"""An old name of a setting is told in one plain line on standard error, wherever it was given."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, parsed

LONG = "How long is the sea wall of Saltmere?"
TOLD = "The setting 'hedge' is now without={'hedge'}."


def give(where: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Give `hedge=false` in one of three ways, and return the options that this takes."""
    if where == "file":
        Path("adaptive-rag.toml").write_text("hedge = false\n")
    elif where == "environment":
        monkeypatch.setenv("ADAPTIVE_RAG_HEDGE", "false")
    return ("--set", "hedge=false") if where == "option" else ()


@pytest.mark.few(2)
@pytest.mark.parametrize("where", ["option", "environment", "file"])
@pytest.mark.parametrize("command", ["ask", "search"])
def test_an_old_name_is_told_in_one_line_and_understood(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch, command: str, where: str
) -> None:
    options = give(where, monkeypatch)
    for _ in range(2):
        result = run(command, LONG, "-i", town_index, "--json", *options)
        assert parsed(result)["question"] == LONG
        assert result.stderr == TOLD + "\n"
        assert TOLD not in result.stdout


@pytest.mark.parametrize("where", ["option", "environment", "file"])
def test_a_conversation_is_told_once(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    options = give(where, monkeypatch)
    result = run("chat", "--file", "kept.sqlite", "-i", town_index, *options, stdin=f"{LONG}\n{LONG}\n")
    assert result.exit_code == 0
    assert (result.stderr.count(TOLD), result.stdout.count(TOLD)) == (1, 0)


def test_each_old_name_has_its_line(run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_ALPHA", "0.5")
    result = run("ask", LONG, "-i", town_index, "--set", "hedge=false", "--set", "window=0")
    assert sorted(result.stderr.splitlines()) == [
        "The setting 'alpha' is now retrieval.alpha.",
        TOLD,
        "The setting 'window' is now without={'window'}.",
    ]


def test_a_new_name_is_told_nothing(run: Run, town_index: str) -> None:
    options = ("--set", "without=hedge,window", "--set", "retrieval.alpha=0.5")
    assert run("ask", LONG, "-i", town_index, *options).stderr == ""


def test_a_process_shows_no_file_and_no_line_of_python(tmp_path: Path, town_index: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "adaptive_rag", "info", "-i", town_index],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "ADAPTIVE_RAG_HEDGE": "false"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == TOLD + "\n"
