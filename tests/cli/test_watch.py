"""`adaptive-rag index --watch`: a real process that follows a folder."""

import _thread
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from adaptive_rag.cli.watch import _ChangeFilter, watch_folders
from adaptive_rag.errors import ConfigurationError
from tests.cli.conftest import Run

pytest.importorskip("watchfiles", reason="needs the extra `watch`")
ROOT = Path(__file__).parents[2]
PATIENCE = 120  # seconds that a step may take before the test gives up


class Watch:
    """A process that watches a folder, and what it writes, line by line."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "adaptive_rag", "index", str(folder), "--watch", "--json"]
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        pipes: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        environment = {**os.environ, "PYTHONPATH": paths}
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            text=True,
            # Whoever runs the tests in the background has it ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            **pipes,
        )
        self.lines = {"stdout": Queue[str](), "stderr": Queue[str]()}
        for name, queue in self.lines.items():
            threading.Thread(target=self._pass_on, args=(name, queue), daemon=True).start()

    def _pass_on(self, name: str, queue: "Queue[str]") -> None:
        for line in getattr(self.process, name):
            queue.put(line)

    def report(self) -> Any:
        return json.loads(self.lines["stdout"].get(timeout=PATIENCE))

    def told(self, text: str) -> None:
        while text not in self.lines["stderr"].get(timeout=PATIENCE):
            pass


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    (tmp_path / "one.txt").write_text("This is note one.\n")
    running = Watch(tmp_path)
    yield running
    running.process.kill()
    running.process.wait()


def test_each_change_of_a_folder_is_indexed_and_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "one.txt").write_text("This is note one.\n")

    def change(*roots: str, **options: object) -> Iterator[set[tuple[str, str]]]:
        yield set()
        (folder / "two.txt").write_text("This is note two.\n")
        yield {("added", "two.txt")}
        (folder / "two.txt").rename(folder / "three.txt")
        (folder / "one.txt").unlink()
        yield {("deleted", "one.txt"), ("deleted", "two.txt"), ("added", "three.txt")}
        (folder / "three.txt").rename(folder / "three.unknown")
        yield {("deleted", "three.txt")}
        (folder / "four.txt").write_text("This is note four.\n")
        yield {("added", "four.txt")}
        raise KeyboardInterrupt

    monkeypatch.setattr("watchfiles.watch", change)
    result = run("index", folder, "--watch", "--json")
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    counts = [(each["added"], each["moved"], each["removed"], each["total_chunks"]) for each in reports]
    assert counts == [(1, 0, 0, 1), (1, 0, 0, 2), (0, 1, 1, 1), (1, 0, 1, 1)]
    said = " ".join(result.stderr.split())
    assert "Watching docs. Ctrl-C ends it." in said and "No file to read was found" in said
    assert result.exit_code == 0 and "The watch has ended." in said


def test_a_problem_is_told_once_and_not_again_with_each_change(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "empty.txt").write_text("")
    (folder / "old.txt").write_bytes("This is a note on caf\xe9s.\n".encode("latin-1"))

    def change(*roots: str, **options: object) -> Iterator[set[tuple[str, str]]]:
        yield set()
        (folder / "two.txt").write_text("This is note two.\n")
        (folder / "bad.txt").write_text("")
        yield {("added", "two.txt"), ("added", "bad.txt")}
        raise KeyboardInterrupt

    monkeypatch.setattr("watchfiles.watch", change)
    result = run("index", folder, "--watch")
    said = " ".join(result.stderr.split())
    assert (said.count("empty.txt is empty"), said.count("bad.txt is empty")) == (1, 1)
    assert result.stdout.count("Documents:") == 2 and result.stdout.count("not UTF-8") == 1


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_a_process_follows_a_folder_until_ctrl_c(watch: Watch, tmp_path: Path) -> None:
    assert watch.report()["added"] == 1
    watch.told("Watching")
    (tmp_path / "two.txt").write_text("This is note two.\n")
    assert watch.report()["added"] == 1
    watch.process.send_signal(signal.SIGINT)
    watch.told("The watch has ended.")
    assert watch.process.wait(PATIENCE) == 0


def test_what_is_hidden_and_the_index_itself_are_no_changes(tmp_path: Path) -> None:
    wanted = _ChangeFilter([str(tmp_path)], str(tmp_path / "kb"))
    for inner, counts in {
        "a.txt": True,
        "sub/a.txt": True,
        ".gitignore": True,
        "sub/.gitignore": True,
        ".git/index": False,
        ".adaptive-rag/manifest.json": False,
        "kb/manifest.json": False,
    }.items():
        assert wanted(None, str(tmp_path / inner)) is counts, inner


def test_a_folder_that_is_replaced_is_followed_on(tmp_path: Path) -> None:
    folder, runs = tmp_path / "docs", list[int]()
    folder.mkdir()

    def index_again() -> None:
        runs.append(len(runs))
        if len(runs) == 1:
            folder.rmdir()
        elif len(runs) == 2:
            folder.mkdir()
        elif len(runs) == 3:
            (folder / "new.txt").write_text("The tide is high.\n")
        else:
            raise KeyboardInterrupt

    stop = threading.Timer(PATIENCE, _thread.interrupt_main)
    stop.start()
    watch_folders([folder], None, index_again)
    stop.cancel()
    assert len(runs) == 4


def test_files_and_other_modes_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("This is note one.\n")
    refused = run("index", tmp_path / "one.txt", "--watch")
    assert refused.exit_code == 1 and "--watch takes folders" in refused.stderr
    refused = run("index", "--watch", "--check")
    assert refused.exit_code == 1 and "--watch cannot be combined" in refused.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is text")
def test_a_name_that_is_no_text_ends_the_watch_with_a_message(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be watched any longer: Unable to decode path"):
        watch_folders([tmp_path], None, (tmp_path / "b\udce9d.txt").touch)


def test_ctrl_c_in_the_middle_of_a_run_ends_the_watch_and_tells_what_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = 0

    def run() -> None:
        nonlocal runs
        runs += 1
        (tmp_path / f"{runs}.txt").write_text("A change.\n")
        if runs == 2:
            interrupt = KeyboardInterrupt()
            interrupt.add_note("One source is kept.")
            raise interrupt

    watch_folders([tmp_path], None, run)
    assert runs == 2
    assert "The watch has ended. One source is kept." in capsys.readouterr().err
