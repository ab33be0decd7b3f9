"""Every command and snippet of the README does what it says."""

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adaptive_rag.cli.app import app
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.samples import samples_path
from benchmarks.chat_server import ChatServer
from tests.sample_vectors import begin_with

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHELL = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines()]
COMMANDS = [line for line in SHELL if line.startswith("adaptive-rag ")]
# Run by .ci/run from the README itself, by the tests of the Studio server, and by tests/page/test_frame.py.
RUN_ELSEWHERE = ("python3 -m venv ", "pip install '.[", "langgraph dev", "curl ")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, sample_vectors: Path) -> Path:
    """The index that the README's first command leaves, which the later ones find."""
    place = tmp_path_factory.mktemp("readme")
    shutil.copy(samples_path() / "climate_handbook.pdf", place)
    with contextlib.chdir(place), pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmbeddingCache, "__init__", begin_with(sample_vectors))
        assert CliRunner().invoke(app, ["index", "climate_handbook.pdf"]).exit_code == 0
    (place / "climate_handbook.pdf").unlink()  # where it is found again it has moved
    return place / ".adaptive-rag"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: Path) -> Path:
    shutil.copy(samples_path() / "climate_handbook.pdf", tmp_path)
    shutil.copytree(index, tmp_path / ".adaptive-rag")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_shell_command_is_run_by_something() -> None:
    assert len(COMMANDS) >= 3
    for line in SHELL:
        assert line in COMMANDS or line.startswith(RUN_ELSEWHERE), line


def test_the_two_commands_come_first() -> None:
    first, second = SHELL[:2]
    assert first.endswith("adaptive-rag demo")
    assert second.endswith("pytest")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("folder", "samples_embedded")
def test_a_command_works_as_printed(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, (done.stderr, done.exception)
    assert done.stdout.strip()
    if "highest water level" in command:
        [shown] = [text for language, text in BLOCKS if language == "text" and text.startswith("●")]
        steady = re.compile(r"\d+\.\d+ s|\d+% sure")
        for line in shown.strip().splitlines():
            assert steady.sub("", line).strip() in steady.sub("", done.stdout), line


@pytest.mark.usefixtures("folder", "samples_embedded")
def test_the_python_snippets_run_one_after_another() -> None:
    namespace: dict[str, object] = {}
    snippets = [text for language, text in BLOCKS if language == "python"]
    assert len(snippets) >= 5
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), namespace)
    assert namespace["documents"]


def test_links_lead_to_files_of_the_repository() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", README):
        assert (ROOT / target).exists(), target
