"""The shell door as a test calls it: every command with its two outputs apart, and a small index."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adaptive_rag import Index
from adaptive_rag.cli.app import app
from tests.conftest import TOWN

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in an empty folder and return its result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture(scope="session")
def town_index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An index of the small town, one file a sentence."""
    folder = tmp_path_factory.mktemp("town")
    for number, text in enumerate(TOWN):
        (folder / f"note{number:02}.txt").write_text(text + "\n")
    Index.build(folder, folder / "kb")
    return str(folder / "kb")


def parsed(result: Result) -> Any:
    """Return the one JSON value that a command wrote."""
    assert result.exit_code == 0, result.stderr
    [line] = result.stdout.splitlines()
    return json.loads(line)
