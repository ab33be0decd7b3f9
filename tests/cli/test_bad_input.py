"""Bad input at the shell door: a clear message on standard error, a non-zero exit, nothing lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adaptive_rag import Index
from adaptive_rag.errors import IndexMismatchError
from adaptive_rag.index.index import STORES
from tests.cli.conftest import Run

LONG = "How long is the sea wall of Saltmere?"


def complaint(run: Run, *arguments: object) -> str:
    """Run a command that must fail, and return its one message."""
    result = run(*arguments)
    assert result.exit_code != 0
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return " ".join(result.stderr.split())


@pytest.mark.parametrize("command", ["index", "ask"])
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nowhere", "'nowhere' does not exist"),
        ("", "A path is empty."),
        ("x" * 300, "x' does not exist"),
        ("nowhere/*.pdf", "No file matches the pattern 'nowhere/*.pdf'"),
        ("empty", "No file to read was found in 'empty'. These kinds are read: PDF"),
    ],
)
def test_a_path_with_nothing_to_read_is_named(run: Run, command: str, path: str, said: str) -> None:
    Path("empty").mkdir()
    arguments = ("index", path) if command == "index" else ("ask", LONG, "--docs", path)
    assert said in complaint(run, *arguments)
    assert not Path(".adaptive-rag").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows removes no folder that is in use")
def test_a_working_directory_that_is_gone_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gone").mkdir()
    monkeypatch.chdir("gone")
    Path("../gone").rmdir()
    assert complaint(run, "list") == "Error: The working directory no longer exists. Change to another one."


def test_a_choice_that_does_not_exist_is_told_the_others(run: Run) -> None:
    message = complaint(run, "users", "token", "ada", "--role", "wizard")
    assert "'--role': 'wizard' is not one of reader, writer, admin." in message


@pytest.mark.parametrize("command", [("users", "list"), ("users", "token", "ada"), ("move-aside",)])
def test_a_mistyped_data_folder_becomes_no_new_server(run: Run, command: tuple[str, ...]) -> None:
    assert "There is no server's data in 'typo'." in complaint(run, *command, "--data", "typo")
    assert not Path("typo").exists()


@pytest.mark.parametrize("command", [("ask", LONG), ("search", LONG), ("compare", LONG), ("info",)])
def test_without_an_index_the_command_that_makes_one_is_named(run: Run, command: tuple[str, ...]) -> None:
    message = complaint(run, *command)
    assert "There is no index at" in message and "adaptive-rag index PATH" in message


@pytest.mark.parametrize("command", [("ask", LONG), ("search", LONG), ("info",), ("index", "letter.txt")])
def test_a_folder_or_a_file_that_is_no_index_is_left_alone(run: Run, command: tuple[str, ...]) -> None:
    Path("letter.txt").write_text("Dear reader\n")
    Path("photos").mkdir()
    Path("photos/cat.jpg").write_bytes(b"cat")
    assert "photos is not an index of this program" in complaint(run, *command, "--index", "photos")
    assert [file.name for file in Path("photos").iterdir()] == ["cat.jpg"]
    assert "'letter.txt' is a file" in complaint(run, *command, "--index", "letter.txt")
    assert Path("letter.txt").read_text() == "Dear reader\n"


@pytest.mark.parametrize("command", ["ask", "search", "compare"])
def test_an_empty_question_is_refused(run: Run, town_index: str, command: str) -> None:
    assert "The question is empty. Write it in" in complaint(run, command, " \n", "--index", town_index)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (("-k", "0"), "k = 0 is not usable"),
        (("-k", "1000000"), "k = 1000000 is not usable"),
        (("--set", "embeddings=onnx:/nowhere/other"), "other"),
        (("--route", "sideways"), "route = 'sideways' is not usable: expected one of factual, analytical"),
        (("--profile", "reckless"), "profile = 'reckless' is not usable: expected 'conservative'"),
        (("--set", "colour=red"), "'colour' is not a setting. Did you mean "),
        (("--set", "hedge"), "expected NAME=VALUE"),
        (("--set", "k=many"), "k = 'many' is not usable"),
        (("--set", "ontology=nowhere.yaml"), "nowhere.yaml"),
        pytest.param(
            *(("--set", "ontology=/dev/zero"), "it is not a file"),
            marks=pytest.mark.skipif(os.name == "nt", reason="the files of devices are those of POSIX"),
        ),
    ],
)
def test_an_unknown_setting_or_value_is_refused(
    run: Run, town_index: str, option: tuple[str, str], expected: str
) -> None:
    assert expected in complaint(run, "ask", LONG, "--index", town_index, *option)


def test_a_wrong_line_in_the_config_file_or_a_wrong_variable_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, said in (
        ("kk = 3\n", "'kk' is not a setting"),
        ("this is no TOML\n", "adaptive-rag.toml"),
        (f"k = {'[' * 50_000}\n", "nested too deep"),
        ('index = "\\u0000"\n', "null character"),
    ):
        Path("adaptive-rag.toml").write_text(content)
        assert said in complaint(run, "ask", LONG)
    Path("adaptive-rag.toml").unlink()
    monkeypatch.setenv("ADAPTIVE_RAG_RETRIEVAL", "[" * 50_000)
    assert "nested too deep" in complaint(run, "ask", LONG)


@pytest.mark.parametrize(
    "what", ["[" * 100_000, '{"format": 1, "weights": {}, "embedding": 1%s}' % ("0" * 400)]
)
def test_a_learned_routing_that_cannot_be_read_is_named(
    run: Run, town_index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path))
    (tmp_path / "router.json").write_text(what)
    assert "What the router learned" in complaint(run, "ask", "How long is the wall?", "-i", town_index)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (("--chunk-size", "0"), "chunk size of 0"),
        (("--chunk-overlap", "1000"), "chunk overlap of 1000"),
        (("--embeddings", "nobody:nothing"), "nobody"),
    ],
)
def test_a_wrong_setting_of_the_index_is_refused(run: Run, option: tuple[str, str], expected: str) -> None:
    Path("letter.txt").write_text("Dear reader\n")
    assert expected in complaint(run, "index", "letter.txt", *option)
    assert not Path(".adaptive-rag").exists()


def test_a_place_that_cannot_be_written_is_named(run: Run) -> None:
    Path("letter.txt").write_text("Dear reader\n")
    Path("blocked").write_text("a file where a folder would have to be")
    message = complaint(run, "index", "letter.txt", "--index", "blocked/kb")
    assert "blocked" in message


def test_a_place_without_the_right_to_write_there_is_named_with_what_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("adaptive_rag.index.build.make_folder", refuse)
    Path("letter.txt").write_text("Dear reader\n")
    message = complaint(run, "index", "letter.txt", "--index", "kb")
    assert "you have no right to write there" in message and "once this is fixed" in message
    assert "--repair" not in message


def test_a_data_set_that_is_none_is_named_and_no_bar_is_left_behind(run: Run) -> None:
    result = run("eval", "nowhere")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: 'nowhere' is not a data set")


def test_an_agent_without_the_extra_is_told_what_needs_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "limits", None)
    assert complaint(run, "mcp").startswith("Error: adaptive-rag mcp needs the package 'limits'")


def test_a_picture_that_cannot_be_written_is_named(run: Run) -> None:
    assert "nowhere/graph.png" in complaint(run, "graph", "--png", "nowhere/graph.png")


def test_a_surprise_of_ours_keeps_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setitem(STORES, "", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run("search", "what?")


@pytest.mark.slow
def test_ctrl_c_while_indexing_keeps_what_was_complete_and_says_so(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(1200):
        words = " ".join(f"Sentence {i} of note {number} speaks of the sea and its wall." for i in range(10))
        (docs / f"{number:03}.txt").write_text(words)
    process = subprocess.Popen(
        [sys.executable, "-m", "adaptive_rag", "index", "docs"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in its background deaf to Ctrl-C, and the tests may be such.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    _wait_for_embeddings(tmp_path / ".adaptive-rag", process)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "Interrupted." in stderr and "Run the same command again" in stderr
    assert "Traceback" not in stderr
    try:
        assert 0 < len(Index.open(tmp_path / ".adaptive-rag").sources()) < 1200
    except IndexMismatchError as error:
        pytest.fail(f"what was complete is not readable: {error}")


def _wait_for_embeddings(index: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the run has embedded something, which the cache in the index's folder tells."""
    for _ in range(1200):
        assert process.poll() is None, process.communicate()
        size = (
            sum(file.stat().st_size for file in index.rglob("*") if file.is_file()) if index.exists() else 0
        )
        if size > 700_000:
            return
        time.sleep(0.1)
    pytest.fail("indexing did not start")
