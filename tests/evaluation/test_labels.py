"""Labelled questions in a file: appended whole, once, by several processes at a time."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from adaptive_rag.analysis.learning import QuestionLine, read_questions
from adaptive_rag.evaluation.labels import append_questions, labelled_questions

ROOT = Path(__file__).parents[2]

NUMBERS = range(40)
CODE = """
import sys
from pathlib import Path
from tests.evaluation.test_labels import append_numbers
print("ready", flush=True)
append_numbers(Path(sys.argv[1]))
"""


def append_numbers(file: Path) -> None:
    for number in NUMBERS:
        append_questions(file, [QuestionLine(f"Who was number {number}?", "", [], "factual")])


def test_two_processes_write_every_line_whole_and_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    command = [sys.executable, "-c", CODE, str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "ready\n"
        append_numbers(file)
    assert other.returncode == 0
    texts = [json.loads(line)["text"] for line in file.read_text().splitlines()]
    assert sorted(texts) == sorted(f"Who was number {number}?" for number in NUMBERS)


def test_only_questions_with_a_label_are_taken(tmp_path: Path) -> None:
    turns: list[Any] = [{"role": "user", "text": "Is there a library?"}]
    rows: list[Any] = [
        {"question": "When?", "type": "factual", "user_context": "", "history": []},
        {"question": "And then?", "type": "contextual", "user_context": "I read", "history": turns},
        {"question": "Hm?", "type": None, "user_context": "", "history": []},
    ]
    lines = labelled_questions(rows)
    assert append_questions(tmp_path / "deep" / "mine.jsonl", lines) == (2, 0, [])
    assert append_questions(tmp_path / "deep" / "mine.jsonl", lines) == (0, 2, [])
    assert read_questions(tmp_path / "deep" / "mine.jsonl", labelled=True) == [
        QuestionLine("When?", "", [], "factual"),
        QuestionLine("And then?", "I read", turns, "contextual"),
    ]
