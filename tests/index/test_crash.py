"""Runs that are killed, stopped, or meet another run."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.errors import IndexingError, IndexMismatchError
from adaptive_rag.index import Index
from adaptive_rag.index.location import Folder
from adaptive_rag.index.lock import write_lock
from adaptive_rag.index.table import TableWriter
from tests.index.made import HashEmbeddings, build, found, open_index, texts_in, write_files

OLD = {f"{n}.txt": f"Old note {n} on tides." for n in range(6)}
NEW = {f"{n}.txt": f"New note {n} on tides." for n in range(9)}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", OLD)


@pytest.fixture
def kb(docs: Path, new_kb: Path) -> Path:
    build(docs, new_kb)
    return new_kb


# Where a run is killed: just before or just after the call that is named.
TABLE, MANIFEST = "adaptive_rag.index.table.TableWriter", "adaptive_rag.index.manifest.Manifest"
MOMENTS = [
    ("before", f"{TABLE}.add"),
    ("after", f"{TABLE}.remove"),
    ("before", f"{MANIFEST}.publish"),
    ("after", f"{TABLE}.optimize"),
    ("before", f"{TABLE}.__init__"),
    ("after", f"{TABLE}.__init__"),
    ("after", "adaptive_rag.index.vectorize.Vectorizer.rows"),
    ("after", f"{TABLE}.add"),
    ("before", f"{TABLE}.index_words"),
    ("after", f"{MANIFEST}.publish"),
]

# Kills itself before or after the nth call of what is named; with the address of a cluster, it builds by Ray.
SCRIPT = """
    import importlib, os, signal, sys
    from adaptive_rag.index import run as building, cluster
    from tests.index.made import build

    when, target, number, docs, kb, *ray = sys.argv[1:]
    path, _, method = target.rpartition(".")
    module, _, owner = path.rpartition(".")
    kind = getattr(importlib.import_module(module), owner)
    real, calls = getattr(kind, method), []

    def deadly(*args, **kwargs):
        calls.append(method)
        if when == "before" and len(calls) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)
        made = real(*args, **kwargs)
        if when == "after" and len(calls) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    setattr(kind, method, deadly)
    if ray:
        cluster.SOURCES_PER_TASK, building.SECONDS_PER_PUBLISH = 3, 0.0
    build(docs, kb, ray=ray[0] if ray else None)
"""


def run_python(script: str, *arguments: object, wait: bool = True) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if wait:
        process.wait(timeout=60)
    return process


@pytest.mark.few(1)
@pytest.mark.parametrize(("when", "target"), MOMENTS)
def test_a_killed_run_leaves_the_last_state_and_the_next_one_completes_it(
    docs: Path, kb: Path, when: str, target: str
) -> None:
    kill_and_complete(docs, kb, when, target)


def kill_and_complete(docs: Path, kb: Any, when: str, target: str) -> None:
    """Kill a run over an index of the old notes, and let the next one complete its work."""
    write_files(docs, NEW)
    killed = run_python(SCRIPT, when, target, 1, docs, kb)
    assert killed.returncode == -signal.SIGKILL, killed.stderr and killed.stderr.read()
    assert texts_in(kb) in (sorted(OLD.values()), sorted(NEW.values())), "a reader sees one whole state"
    build(docs, kb, wait_seconds=10)
    assert texts_in(kb) == sorted(NEW.values())
    assert found(open_index(kb), ["new note 8"], limit=1)[0][0] == NEW["8.txt"]


@pytest.mark.nightly
def test_a_killed_first_run_is_completed_by_the_next_which_embeds_nothing_again(
    docs: Path, new_kb: Path
) -> None:
    assert run_python(SCRIPT, *MOMENTS[2], 1, docs, new_kb).returncode == -signal.SIGKILL
    assert build(docs, new_kb).texts_embedded == 0
    assert texts_in(new_kb) == sorted(OLD.values())


def test_an_interrupted_run_keeps_what_is_complete_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.row_maker.CHUNKS_PER_STEP", 2)
    docs, kb = write_files(tmp_path / "docs", OLD), tmp_path / "kb"

    class Interrupted(HashEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if any("note 4" in text for text in texts):
                raise KeyboardInterrupt
            return super().embed_documents(texts)

    Interrupted.__module__, Interrupted.__qualname__ = HashEmbeddings.__module__, HashEmbeddings.__qualname__
    with pytest.raises(KeyboardInterrupt) as caught:
        build(docs, kb, embeddings=Interrupted())
    assert "4 sources are complete and kept. Run the same command again" in caught.value.__notes__[0]
    assert texts_in(kb) == sorted(OLD.values())[:4]
    report = build(docs, kb)
    assert (report.added, report.unchanged) == (2, 4)


def interrupted(model: HashEmbeddings, texts: list[str]) -> list[list[float]]:
    """Embed texts as `HashEmbeddings` does, but be interrupted at a note."""
    if any("note" in text for text in texts):
        raise KeyboardInterrupt
    return [model.embed_query(text) for text in texts]


def test_a_first_run_that_is_interrupted_before_a_source_is_complete_leaves_no_empty_index(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HashEmbeddings, "embed_documents", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        build(docs, tmp_path / "new")
    assert caught.value.__notes__[0].startswith("No source is complete yet. Run the same command again")
    with pytest.raises(IndexMismatchError):
        open_index(tmp_path / "new")


@pytest.mark.parametrize("shards", [None, 2])
def test_what_a_first_run_embedded_before_the_model_failed_is_not_embedded_again(
    docs: Path, new_kb: Path, monkeypatch: pytest.MonkeyPatch, shards: int | None
) -> None:
    monkeypatch.setattr("adaptive_rag.index.row_maker.CHUNKS_PER_STEP", 2)
    embedded = list[str]()

    def fail_later(model: HashEmbeddings, texts: list[str]) -> list[list[float]]:
        if len(embedded) >= 2:  # which documents come first follows from the names of their folders
            raise IndexingError("the model's server is gone")
        embedded.extend(text for text in texts if "note" in text)
        return [model.embed_query(text) for text in texts]

    with monkeypatch.context() as failing, pytest.raises(IndexingError, match="server is gone"):
        failing.setattr(HashEmbeddings, "embed_documents", fail_later)
        build(docs, new_kb, shards=shards)
    assert build(docs, new_kb, shards=shards).texts_embedded < len(OLD)
    assert Index.check(new_kb / "shard-0" if shards else new_kb, deep=True).healthy


def test_a_copy_of_a_changed_file_is_not_complete_before_that_file_is(
    tmp_path: Path, new_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write_files(tmp_path / "docs", {"a.txt": "An old note."})
    build(docs, new_kb)
    write_files(docs, dict.fromkeys(("a.txt", "b.txt"), "A newer note."))
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stopped.setattr(HashEmbeddings, "embed_documents", interrupted)
        build(docs, new_kb)
    assert texts_in(new_kb) == ["An old note."]
    assert build(docs, new_kb).copies == 1
    assert texts_in(new_kb) == ["A newer note."]
    assert Index.check(new_kb, deep=True).healthy


def test_sources_are_published_whole_however_small_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.row_maker.CHUNKS_PER_STEP", 3)
    monkeypatch.setattr("adaptive_rag.index.run.ROWS_PER_WRITE", 4)
    monkeypatch.setattr("adaptive_rag.index.run.SECONDS_PER_PUBLISH", 0.0)
    kb, states = tmp_path / "kb", set()
    long = "\n\n".join(f"Paragraph {n} tells of one more wave." for n in range(60))
    docs = write_files(tmp_path / "docs", {**OLD, "5-long.txt": long})

    def look(_: object) -> None:
        if (kb / "manifest.json").exists() and '"version": null' not in (kb / "manifest.json").read_text():
            states.add(tuple(sorted(open_index(kb).sources().items())))

    build(docs, kb, chunk_size=100, chunk_overlap=0, progress=look)
    final = open_index(kb).sources()
    assert len(states) > 1
    assert all(set(state) <= set(final.items()) for state in states)
    assert len(list(open_index(kb).chunks())) == sum(final.values())


@contextmanager
def held(kb: Path, release: threading.Event) -> Iterator[None]:
    """Let another thread hold the lock until it is told to let go."""

    def hold() -> None:
        with write_lock(Folder(kb), wait_seconds=0, on_wait=None):
            release.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    while not (kb / "lock.json").exists():
        time.sleep(0.01)
    yield
    holder.join()


def test_a_second_run_waits_says_for_whom_and_goes_on_from_what_the_other_wrote(
    docs: Path, kb: Path, tmp_path: Path
) -> None:
    later, release, heard = tmp_path / "later", threading.Event(), list[str]()
    shutil.copytree(kb, later)
    build(write_files(docs, NEW), later)

    def write(message: str) -> None:
        heard.append(message)
        shutil.copytree(later, kb, dirs_exist_ok=True)
        release.set()

    with held(kb, release):
        report = build(docs, kb, on_wait=write)
    assert len(heard) == 1 and f"process {os.getpid()} on " in heard[0]
    assert (report.unchanged, report.changed) == (len(NEW), False)


def test_a_second_run_that_may_not_wait_says_who_holds_the_index(docs: Path, kb: Path) -> None:
    with write_lock(Folder(kb), wait_seconds=0, on_wait=None):
        with pytest.raises(IndexingError, match=rf"being written by process {os.getpid()} on .* since 20"):
            build(docs, kb, wait_seconds=0)
        assert len(texts_in(kb)) == len(OLD), "reading needs no lock"


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_that_waited_in_vain_leaves_the_first_run_of_another_alone(
    docs: Path, new_kb: Path, stopped: bool
) -> None:
    new_kb.mkdir()

    def interrupt(_: str) -> None:
        if stopped:
            raise KeyboardInterrupt

    with write_lock(Folder(new_kb), wait_seconds=0, on_wait=None):
        with pytest.raises(KeyboardInterrupt if stopped else IndexingError):
            build(docs, new_kb, wait_seconds=0.4, on_wait=interrupt)
        assert {path.name for path in new_kb.iterdir()} == {".lock", "lock.json"}


@pytest.mark.nightly
def test_two_first_runs_at_once_make_one_index(tmp_path: Path) -> None:
    docs, kb = write_files(tmp_path / "docs", NEW), tmp_path / "kb"
    script = "import sys; from tests.index.made import build; print(build(sys.argv[1], sys.argv[2]).added)"
    runs = [run_python(script, docs, kb, wait=False) for _ in range(2)]
    outputs = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], outputs
    assert sorted(int(out) for out, _ in outputs) == [0, 9]
    assert texts_in(kb) == sorted(NEW.values())


@pytest.mark.parametrize("write", ["rows", "manifest.json", "manifest.copy.json"])
def test_a_full_disk_is_named_and_loses_nothing(
    docs: Path, kb: Path, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    write_files(docs, NEW)
    really = Folder.write

    def full(place: object, name: object, *content: bytes) -> None:
        if write in ("rows", name):
            raise OSError(28, "No space left on device")
        really(place, name, *content)  # type: ignore[arg-type]

    with monkeypatch.context() as broken:
        broken.setattr(*((TableWriter, "add") if write == "rows" else (Folder, "write")), full)
        with pytest.raises(IndexingError, match=r"the disk is full.*untouched"):
            build(docs, kb)
    assert texts_in(kb) in (sorted(OLD.values()), *([sorted(NEW.values())] if write != "rows" else []))
    build(docs, kb)
    assert texts_in(kb) == sorted(NEW.values())
    assert Index.check(kb, deep=True).healthy


LIMITED = """
    import resource, sys
    from tests.index.made import build

    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
    build(sys.argv[1], sys.argv[2])
"""


@pytest.mark.nightly
def test_a_disk_that_takes_no_more_is_told_whatever_file_it_breaks_off(docs: Path, kb: Path) -> None:
    write_files(docs, {"long.txt": "\n\n".join(f"Wave {n} breaks on the wall." * 9 for n in range(200))})
    for limit in (1_000, 20_000):
        run = run_python(LIMITED, docs, kb, limit)
        said = run.stderr.read() if run.stderr else ""
        assert "IndexingError: The index" in said and "Its last complete state is untouched" in said
        # before the data file could be written, and after
        assert ("a file is larger than the system allows" in said) == (limit == 1_000)
        assert len(texts_in(kb)) == len(OLD)
    build(docs, kb)
    assert len(texts_in(kb)) > len(OLD) and Index.check(kb, deep=True).healthy


def test_a_disk_that_is_read_only_is_named(docs: Path, kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    with pytest.raises(IndexingError, match=r"cannot be written: Read-only file system.*untouched"):
        build(docs, kb)
    assert texts_in(kb) == sorted(OLD.values())


def test_a_read_only_index_is_searched(kb: Path) -> None:
    for path in [kb, *kb.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert isinstance(Index.open(kb, embeddings=HashEmbeddings()).search(["tides"], limit=2)[0], list)
    finally:
        for path in [kb, *kb.rglob("*")]:
            path.chmod(0o755)


def test_old_versions_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptive_rag.index.table.CLOCK_MARGIN_S", 0)
    monkeypatch.setattr("adaptive_rag.index.run.SECONDS_PER_QUESTION", 0)
    docs, kb = write_files(tmp_path / "docs", OLD), tmp_path / "kb"
    sizes = []
    for turn in range(6):
        write_files(docs, {name: f"Turn {turn}: {text}" for name, text in OLD.items()})
        build(docs, kb)
        sizes.append(len(list((kb / "chunks-1.lance" / "_versions").iterdir())))
    # a run makes four; whether the one before last is old enough to go is up to the clock
    assert max(sizes[3:]) <= max(sizes[:3]) + 1
