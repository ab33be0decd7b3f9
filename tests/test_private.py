"""What is written about people is for its owner alone."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from adaptive_rag import Index
from adaptive_rag.analysis import learning, router
from adaptive_rag.analysis.learning import QuestionLine
from adaptive_rag.conversation import Threads
from adaptive_rag.evaluation.labels import append_questions
from adaptive_rag.evaluation.records import Journal, write_json
from adaptive_rag.graph.caching import open_cache
from adaptive_rag.private import make_file, make_folder, replace_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


@pytest.fixture(autouse=True)
def _usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o777:o}"


def test_folders_that_are_missing_are_made_for_their_owner(tmp_path):
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "a" / "b")
    assert [mode(tmp_path / part) for part in ("", "a", "a/b")] == ["755", "700", "700"]
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        make_folder(tmp_path / "file")


def test_a_folder_that_is_removed_as_it_is_made_is_missing_and_no_file(tmp_path, monkeypatch):
    made = Path.mkdir

    def mkdir(place, *rest, **named):
        made(place, *rest, **named)
        place.rmdir()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(FileNotFoundError, match="removed while it was created"):
        make_folder(tmp_path / "folder")


def test_what_exists_keeps_its_mode_and_its_content(tmp_path):
    file = tmp_path / "shared.txt"
    file.write_text("old")
    file.chmod(0o664)
    make_file(file)
    assert (mode(file), file.read_text()) == ("664", "old")
    replace_text(file, "new")
    assert (mode(file), file.read_text()) == ("664", "new")
    replace_text(tmp_path / "own.txt", "new")
    assert mode(tmp_path / "own.txt") == "600"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.txt", "shared.txt"]


def test_a_file_is_whole_whoever_else_replaces_it(tmp_path):
    file = tmp_path / "key"
    with ThreadPoolExecutor(4) as pool:
        written = [pool.submit(replace_text, file, letter * 100_000) for letter in "abcd" * 20]
        wait(written[:4])
        while not all(future.done() for future in written):
            assert len({*(text := file.read_text())}) == 1 and len(text) == 100_000
    assert not any(future.exception() for future in written)
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_left_of_a_file_that_cannot_be_replaced(tmp_path):
    (tmp_path / "key").mkdir()
    with pytest.raises(OSError, match="key"):
        replace_text(tmp_path / "key", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_file_is_on_disk_before_it_takes_its_name(tmp_path, monkeypatch):
    steps, replace = [], os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: steps.append("written"))
    monkeypatch.setattr(os, "replace", lambda *names: steps.append("named") or replace(*names))
    replace_text(tmp_path / "key", "new")
    assert steps == ["written", "named"]


def test_an_index_is_made_for_its_owner_and_one_that_exists_keeps_its_mode(tmp_path):
    (tmp_path / "note.txt").write_text("The sea wall is 2,340 metres long.")
    Index.build(tmp_path / "note.txt", tmp_path / "kb")
    assert mode(tmp_path / "kb") == "700"
    assert mode(tmp_path / "kb" / "embeddings.sqlite") == "600"
    (tmp_path / "kb").chmod(0o750)
    (tmp_path / "more.txt").write_text("It was built in 1968.")
    Index.build(tmp_path / "more.txt", tmp_path / "kb")
    assert mode(tmp_path / "kb") == "750"


def test_conversations_and_caches_are_for_their_owner(tmp_path):
    with Threads.open(tmp_path / "own" / "threads.sqlite"):
        written = list((tmp_path / "own").iterdir())
        assert {mode(path) for path in written} == {"600"}
    cache = open_cache(tmp_path / "caches" / "steps.sqlite")
    cache.set({(("steps",), "key"): ([("trace", [])], None)})
    assert {mode(path) for path in (tmp_path / "caches").iterdir()} == {"600"}
    assert mode(tmp_path / "own") == mode(tmp_path / "caches") == "700"


def test_a_cache_in_memory_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_cache(":memory:")
    assert list(tmp_path.iterdir()) == []


def test_what_was_learned_and_collected_is_for_its_owner(tmp_path, monkeypatch):
    monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path / "home"))
    weights = router.LearnedWeights(weights=[], bias=[0.0] * 4)
    learned = learning._save(weights, {}, router.learned_file())
    questions = tmp_path / "home" / "labels.jsonl"
    append_questions(questions, [QuestionLine("How long is it?", "", [], "factual")])
    assert {mode(learned), mode(questions)} == {"600"}
    assert mode(tmp_path / "home") == "700"


def test_the_files_of_an_evaluation_are_for_their_owner(tmp_path):
    journal = Journal(tmp_path)
    record = {"dataset": "d", "id": "q", "question": "How long?", "ranked": {}, "arms": {}, "texts": {}}
    journal.add(record)
    write_json(tmp_path / "run.json", {"settings": {}})
    assert {mode(path) for path in tmp_path.iterdir()} == {"600"}
    journal.compact()
    assert json.loads((tmp_path / "questions.jsonl").read_text())["id"] == "q"
    assert mode(tmp_path / "questions.jsonl") == "600"
