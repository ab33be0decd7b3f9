"""Every command over a folder with documents, an index and a server's data: no document goes or changes."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adaptive_rag import Index
from adaptive_rag.cli.app import COMMANDS
from adaptive_rag.context import make_context
from adaptive_rag.server import demo
from adaptive_rag.server.settings import ServerSettings
from tests.cli.conftest import Run

TEXTS = {
    "ferry.md": "# Ferry\n\nThe ferry leaves at 7:45.\n",
    "quay/quay.txt": "The quay is lit until ten.\n",
}
# for each command the arguments that come nearest to changing something; these need the server's data alone
ALONE: dict[str, list[list[str]]] = {
    "backup": [["all.tar", "--data", "data"]],
    "restore": [["all.tar", "--data", "data"], ["all.tar", "--data", "restored", "--key", "data/backup.key"]],
    "move-aside": [["--data", "data"]],
}
CALLS: dict[str, list[list[str]]] = {
    "ask": [["When does the ferry leave?", "--docs", "docs"], ["When does the ferry leave?"]],
    "chat": [["--index", "index"]],
    "index": [["docs"], ["docs", "--rebuild"], ["--check"], ["--repair"]],
    "list": [[]],
    "show": [["ferry.md"]],
    "remove": [["ferry.md"]],
    "search": [["ferry"]],
    "compare": [["When does the ferry leave?"]],
    "recipes": [[]],
    "route": [["When does the ferry leave?"]],
    "feedback": [["When does the ferry leave?", "--type", "factual"]],
    "info": [[]],
    "graph": [[]],
    "demo": [["--copy", "copied"]],
    "settings": [[]],
    "doctor": [[], ["--server", "--data", "data"]],
    "eval": [["missing.jsonl"]],
    "ontology": [["missing.yaml"]],
}
# These run until they are ended. The server starts the same worker as the command `worker`.
SERVING = {"serve": ["--data", "data", "--port", "0"], "mcp": []}


def documents(*folders: str) -> dict[str, str]:
    """Return the digest of every file that a person brought, by its name and folder."""
    return {
        f"{path}": hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in folders
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and not ({"index", "aside"} & set(path.parts)) and "sqlite" not in path.name
        if folder == "docs" or "documents" in path.parts
    }


def test_no_command_takes_a_document_away(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert ALONE.keys() | CALLS.keys() | SERVING.keys() | {"worker"} == set(COMMANDS), (
        "every command is walked"
    )
    for name, text in TEXTS.items():
        place = tmp_path / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    Index.build("docs", "index")
    monkeypatch.setenv("ADAPTIVE_RAG_INDEX", "index")
    monkeypatch.setattr(demo, "samples_path", lambda: tmp_path / "docs")
    demo.add_samples(ServerSettings(data=Path("data")), make_context({}))
    held = documents("docs", "data")
    assert len(held) == len(TEXTS) + 1

    def walk(commands: dict[str, list[list[str]]]) -> None:
        for command, calls in commands.items():
            for arguments in calls:
                result = run(command, *arguments, stdin="When does the ferry leave?\n")
                assert result.exit_code in (0, 1, 2), (command, arguments, result.output)
                assert documents("docs", "data") == held, (command, arguments)

    walk(ALONE)
    assert len(documents("restored")) == len(documents("data")), "what was backed up came back whole"
    begun = [
        subprocess.Popen(
            [sys.executable, "-m", "adaptive_rag", command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for command, arguments in SERVING.items()
    ]
    walk(CALLS)
    [server, *_] = begun
    assert server.stderr and any(b"answers at" in line for line in server.stderr)
    for process in begun:
        process.send_signal(signal.SIGTERM)  # the server goes on; the other has ended
        process.communicate(timeout=60)
    assert documents("docs", "data") == held
