"""The shell door as a whole: its commands, its help, what it loads."""

import subprocess
import sys
from pathlib import Path

import pytest

from adaptive_rag.cli.app import COMMANDS
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
HEAVY = "lancedb langchain_core langgraph onnxruntime numpy pydantic pymupdf tokenizers".split()


def python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_help_is_there_without_loading_the_stack() -> None:
    code = f"import sys, adaptive_rag.cli.app; print([m for m in {HEAVY} if m in sys.modules])"
    assert python("-c", code).strip() == "[]"


def test_the_help_names_every_command_and_is_shown_without_one(run: Run) -> None:
    for shown in (run("--help").stdout, run().output):
        assert all(f" {name} " in shown for name in COMMANDS)
    assert run("--version").stdout.startswith("adaptive-rag 0.")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_its_options_on_a_screen(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert (COMMANDS[name].__doc__ or "").split(":")[0].split(".")[0][:40] in " ".join(result.stdout.split())
    lines = result.stdout.splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("recipes | true", 0, ""),
        ("recipes >&-", 0, ""),
        ("ask - <&-", 1, "Error: The question is empty."),
        pytest.param(
            *("ask - -i nowhere <<< $'caf\\xe9?'", 1, "Error: There is no index at"),
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["a reader that goes away", "no output", "no input", "no text"],
)
def test_a_stream_that_is_closed_or_no_text_is_no_surprise(arguments: str, code: int, said: str) -> None:
    command = f"set -o pipefail; {sys.executable} -m adaptive_rag {arguments}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(said) and len(done.stderr.splitlines()) <= 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
@pytest.mark.few(1)
@pytest.mark.parametrize("arguments", [["recipes"], ["--help"]])
def test_an_output_that_cannot_be_written_is_an_error_of_one_line(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "adaptive_rag", *arguments]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == "Error: The output cannot be written: No space left on device.\n"
    assert done.returncode == 1
