"""The terminal chat: lines in, answers out, conversations kept by name."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from adaptive_rag.conversation import Threads
from benchmarks.chat_server import ChatServer, say_sensibly
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]


def test_a_conversation_is_continued_by_its_name(run: Run, town_index: str) -> None:
    kept = ("--file", "kept.sqlite", "-i", town_index)
    first = run("chat", "walls", *kept, stdin="How long is the sea wall of Saltmere?\n")
    assert first.exit_code == 0, first.stderr
    assert "2,340 metres" in first.stdout
    again = run("chat", "walls", *kept, stdin="/quit\n")
    assert "'walls', 1 question so far" in again.stdout
    assert "'other', new" in run("chat", "other", *kept, stdin="/quit\n").stdout


@pytest.mark.parametrize("stdin", ["", "How long is the sea wall of Saltmere?\n"])
def test_without_an_index_it_ends_at_once(run: Run, stdin: str) -> None:
    result = run("chat", "--file", "kept.sqlite", stdin=stdin)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "There is no index" in result.stderr


def test_an_index_has_a_conversation_of_its_own(run: Run, town_index: str, tmp_path: Path) -> None:
    kept = ("--file", "kept.sqlite")
    shutil.copytree(town_index, tmp_path / "elsewhere")
    run("chat", *kept, "-i", town_index, stdin="How long is the sea wall of Saltmere?\n")
    assert "1 question so far" in run("chat", *kept, "-i", town_index, stdin="/quit\n").stdout
    assert ", new" in run("chat", *kept, "-i", "elsewhere", stdin="/quit\n").stdout


def test_two_chats_in_one_conversation_answer_one_after_the_other(
    run: Run, town_index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("--file", "kept.sqlite", "-i", town_index)
    began, waits, turn = Event(), Event(), Threads.turn

    def answer_elsewhere() -> None:
        with Threads.open(tmp_path / "kept.sqlite") as threads, turn(threads, "walls", lambda: None):
            began.set()
            assert waits.wait(60)

    monkeypatch.setattr(
        Threads, "turn", lambda threads, name, on_wait: turn(threads, name, lambda: (on_wait(), waits.set()))
    )
    other = Thread(target=answer_elsewhere)
    other.start()
    assert began.wait(30)
    result = run("chat", "walls", *kept, stdin="How long is the sea wall of Saltmere?\n")
    other.join()
    assert "2,340 metres" in result.stdout
    assert result.stderr.count("Another chat is answering in this conversation.") == 1


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="needs a terminal of POSIX")
def test_a_line_can_be_edited_in_a_terminal(town_index: str, tmp_path: Path) -> None:
    pytest.importorskip("readline", reason="this Python has none")
    terminal, end = os.openpty()
    os.write(terminal, b"/trce\x1b[D\x1b[Da\n/quit\n")  # twice to the left
    command = [sys.executable, "-m", "adaptive_rag", "chat", "-i", town_index, "--file", tmp_path / "kept"]
    subprocess.run(command, cwd=ROOT, stdin=end, stdout=end, stderr=end, timeout=300, check=True)
    os.close(end)
    assert b"Nothing was asked yet." in os.read(terminal, 10_000)
    os.close(terminal)


def test_words_of_farewell_leave(run: Run, town_index: str) -> None:
    for word in ("exit", "Quit", "bye", ":q"):
        left = run("chat", "-i", town_index, stdin=f"{word}\nHow long is the sea wall of Saltmere?\n")
        assert left.exit_code == 0 and "2,340 metres" not in left.stdout


def test_the_profile_is_kept_shown_and_forgotten(run: Run, town_index: str) -> None:
    kept = ("chat", "--file", "kept.sqlite", "-i", town_index, "--user", "ada")
    run(*kept, stdin="/profile I keep forty sheep.\n")
    assert "I keep forty sheep." in run(*kept, stdin="/profile\n").stdout
    assert "Nothing is known of 'bob'" in run(*kept[:-1], "bob", stdin="/profile\n").stdout
    assert "Forgotten: 'ada'" in run(*kept, stdin="/forget\n").stdout
    assert "Nothing is known of 'ada'" in run(*kept, stdin="/profile\n").stdout


def test_a_line_that_cannot_be_used_ends_no_conversation(run: Run, town_index: str) -> None:
    lines = f"{'a' * 20_001}\n/thread {'b' * 201}\nHow long is the sea wall of Saltmere?\n"
    result = run("chat", "-i", town_index, stdin=lines)
    assert result.exit_code == 0 and "2,340 metres" in result.stdout
    assert "at most 20,000" in result.stderr and "1 to 200 characters" in result.stderr


@pytest.fixture
def _in_tokyo() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.skipif(os.name == "nt", reason="its time zone cannot be set")
@pytest.mark.usefixtures("_in_tokyo")
def test_conversations_are_listed_and_deleted(run: Run, town_index: str) -> None:
    kept = ("--file", "kept.sqlite", "-i", town_index)
    for name in ("one", "two"):
        run("chat", name, *kept, stdin="How long is the sea wall of Saltmere?\n")
    listed = run("chat", "three", *kept, stdin="/threads\n/delete one\n/threads\n/delete one\n").stdout
    assert [listed.count(name + "  (") for name in ("one", "two")] == [1, 2]
    shown = datetime.strptime(listed.partition("two  (")[2][:16], "%Y-%m-%d %H:%M")
    assert abs(datetime.now() - shown) < timedelta(minutes=30), "the time of this place"
    assert "Deleted: 'one'." in listed and "There is no conversation 'one'." in listed


def test_commands_show_the_help_and_the_trace_and_an_unknown_one_is_named(run: Run, town_index: str) -> None:
    lines = "/nosuch\n/help\n/trace\nHow long is the sea wall of Saltmere?\n/trace\n"
    shown = run("chat", "-i", town_index, stdin=lines).stdout
    assert "no chat model is configured" in shown
    assert (shown.count("/nosuch is not a command"), shown.count("/threads  ")) == (1, 2)
    assert "Nothing was asked yet." in shown and "classify" in shown


def test_an_answer_of_a_model_is_printed_once_as_it_comes(run: Run, town_index: str) -> None:
    text = "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high [1]."

    def answer(body: dict) -> str:
        return say_sensibly(body) if body.get("response_format") else text

    with ChatServer(say=answer) as server:
        result = run(
            "chat", "-i", town_index, "-m", "openai:scripted", "--set", f"models.base_url={server.url}",
            stdin="How long is the sea wall of Saltmere?\n",
        )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("metres long and 4.1") == 2, "once as the answer, once as the quoted sentence"
    assert len(server.calls) == 2, "the scores and the answer"
    assert "2 model calls" in result.stdout
