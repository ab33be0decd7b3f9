"""The file .env of the working directory: read where it is trusted, and what is set already stands."""

import os
from pathlib import Path

import pytest

from adaptive_rag.context import make_context
from tests.cli.conftest import Run, parsed

LONG = "How long is the sea wall of Saltmere?"


def read(run: Run) -> int:
    return len(parsed(run("ask", LONG, "--json"))["documents"])


def test_settings_and_keys_are_read_and_the_environment_wins(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = f"ADAPTIVE_RAG_INDEX={town_index}\nADAPTIVE_RAG_K=3\nTOWN_API_KEY='k-1'\n"
    Path(".env").write_text(lines, encoding="utf-8-sig")  # with a byte order mark
    monkeypatch.setenv("TOWN_API_KEY", "k-0")
    assert run("settings", "--trust").exit_code == 0
    assert (read(run), os.environ["TOWN_API_KEY"]) == (3, "k-0")
    monkeypatch.setenv("ADAPTIVE_RAG_K", "2")
    assert read(run) == 2


def test_an_option_that_the_environment_gives_is_read_from_it_too(run: Run, town_index: str) -> None:
    Path(".env").write_text("ADAPTIVE_RAG_MODEL=nobody:nothing\n")
    result = run("ask", LONG, "-i", town_index)
    assert result.exit_code == 1
    assert "nobody" in result.stderr


def test_a_key_in_it_is_never_shown(run: Run) -> None:
    Path(".env").write_text("TOWN_API_KEY=canary-key-7f3a9c51e2\n")
    run("settings", "--trust")
    result = run("ask", LONG, "-i", "canary-key-7f3a9c51e2")
    assert result.exit_code == 1
    assert "canary" not in result.stderr and "redacted" in result.stderr


def test_one_that_sets_a_key_is_not_read_before_it_is_trusted(run: Run, town_index: str) -> None:
    Path(".env").write_text("OPENAI_BASE_URL=https://collector.example/v1\nADAPTIVE_RAG_K=3\n")
    result = run("ask", LONG, "-i", town_index)
    assert "sets OPENAI_BASE_URL. It is not used" in " ".join(result.stderr.split())
    assert "OPENAI_BASE_URL" not in os.environ
    assert "is trusted as it is now" in run("settings", "--trust").stdout
    assert "not used" not in run("ask", LONG, "-i", town_index).stderr
    assert os.environ["OPENAI_BASE_URL"] == "https://collector.example/v1"


def test_trust_without_a_file_to_trust_is_refused(run: Run) -> None:
    assert "There is neither .env nor adaptive-rag.toml" in run("settings", "--trust").stderr


def test_one_that_is_no_text_is_an_error_and_not_a_traceback(run: Run) -> None:
    Path(".env").write_bytes(b"ADAPTIVE_RAG_K=\xff\xfe\n")
    result = run("ask", LONG)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "The file .env cannot be read" in result.stderr


def test_a_folder_of_that_name_is_passed_over(run: Run, town_index: str) -> None:
    Path(".env").mkdir()
    assert run("ask", LONG, "-i", town_index).exit_code == 0


def test_a_program_that_imports_the_package_does_not_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("ADAPTIVE_RAG_K=3\n")
    assert make_context().k is None
