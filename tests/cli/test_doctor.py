"""The doctor names every fault with the line that mends it, and its exit code serves scripts."""

import json
import os
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import Result

from benchmarks.chat_server import ChatServer
from tests.cli.conftest import Run


def doctor(run: Run, index: str, server: ChatServer, option: str) -> Result:
    url = f"models.base_url={server.url}"
    return run("doctor", "-i", index, "-m", "openai:scripted", "--set", url, option)


def findings(result) -> dict[str, dict[str, str]]:
    return {finding["what"]: finding for finding in json.loads(result.stdout)["findings"]}


def test_without_a_model_all_is_well_and_it_says_who_answers(run: Run, town_index: str) -> None:
    result = run("doctor", "-i", town_index)
    assert result.exit_code == 0
    assert "384 dimensions" in result.stdout
    assert "every step is done locally" in result.stdout
    assert "All is well" in result.stdout


def test_embeddings_that_cannot_be_called_are_a_fault(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no network")

    local = import_module("adaptive_rag.models.embeddings")
    monkeypatch.setattr(type(local.load_embeddings(None)), "embed_query", fail)
    result = run("doctor", "-i", town_index, "--json")
    assert result.exit_code == 1
    assert "no network" in findings(result)["embeddings"]["found"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("-i", "nowhere"), "adaptive-rag index"), (("--set", "k=many"), "k = 'many'")],
)
def test_a_missing_index_and_a_wrong_setting_are_faults(
    run: Run, arguments: tuple[str, str], said: str
) -> None:
    result = run("doctor", *arguments)
    assert result.exit_code == 1 and said in result.stdout


def test_a_damaged_index_is_a_fault_with_its_command(run: Run, town_index: str, tmp_path: Path) -> None:
    shutil.copytree(town_index, tmp_path / "kb")
    os.truncate(tmp_path / "kb" / "embeddings.sqlite", 100)
    result = run("doctor", "-i", "kb")
    assert result.exit_code == 1
    assert "embeddings.sqlite" in result.stdout and "index --repair" in result.stdout


def test_a_model_that_works_is_reported_with_how_it_fills_forms(run: Run, town_index: str) -> None:
    with ChatServer() as server:
        result = doctor(run, town_index, server, "--json")
    assert result.exit_code == 0, result.stdout
    assert findings(result)["chat model"]["state"] == "ok"
    assert "json schema" in findings(result)["chat model, forms"]["found"]


@pytest.mark.parametrize(
    ("behaviour", "mend"),
    [("wrong key", "OPENAI_API_KEY"), ("unknown model", "The server has: scripted"), ("500", "")],
)
def test_a_model_that_fails_is_a_fault(run: Run, town_index: str, behaviour: str, mend: str) -> None:
    with ChatServer(behave=lambda number, body: behaviour) as server:
        result = doctor(run, town_index, server, "--json")
    assert result.exit_code == 1
    assert findings(result)["chat model"]["state"] == "fault"
    assert mend in findings(result)["chat model"]["mend"]


def test_a_missing_key_is_found_without_a_call(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    result = run("doctor", "-i", town_index, "-m", "openai:gpt-4.1-mini")
    assert result.exit_code == 1
    assert "set OPENAI_API_KEY" in " ".join(result.stdout.split())


def test_offline_no_model_is_called(run: Run, town_index: str) -> None:
    with ChatServer() as server:
        result = doctor(run, town_index, server, "--offline")
        assert server.requests == []
    assert result.exit_code == 0


def test_what_mends_an_empty_index_names_that_index(run: Run) -> None:
    Path("note.txt").write_text("This is a note.\n")
    run("index", "note.txt", "-i", "kb")
    run("remove", "note.txt", "-i", "kb")
    found = findings(run("doctor", "-i", "../" + Path.cwd().name + "/kb", "--offline", "--json"))["index"]
    place = Path("kb").resolve()
    assert found["found"] == f"{place} holds nothing"
    assert found["mend"].endswith(f"adaptive-rag index PATH --index {place}")
