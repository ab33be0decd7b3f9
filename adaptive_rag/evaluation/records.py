"""What a run leaves on disk: one line a question, written as it is answered, so that it can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import Citation, QueryType, TraceRecord

QUESTIONS, RUN, SUMMARY = "questions.jsonl", "run.json", "summary.json"
DETAILS, REPORT = "details.json", "report.html"
RUN_FILES = (QUESTIONS, RUN, SUMMARY, DETAILS, REPORT)


class ArmRecord(TypedDict):
    """What one arm made of one question."""

    metrics: dict[str, float]
    ms: float
    model_calls: int
    rounds: int
    tokens: int
    route: str | None
    probability: float | None
    confidence: float | None
    routes: NotRequired[list[str]]  # all that were run, where the router hedged
    answer: NotRequired[str]
    citations: NotRequired[list[Citation]]
    abstained: NotRequired[bool]
    trace: list[TraceRecord]


class QuestionRecord(TypedDict):
    """One line of questions.jsonl."""

    dataset: str
    id: str
    type: QueryType | None
    question: str
    user_context: str
    history: list[Any]
    reference: str | None
    has_answer: bool | None
    gold: dict[str, int]
    ranked: dict[str, list[str]]  # arm -> ids, best first
    arms: dict[str, ArmRecord]
    texts: NotRequired[dict[str, str]]  # how ranked chunks begin, where documents were cut by us


class Journal:
    """The questions answered so far; a line is complete before the next question starts."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / QUESTIONS
        self.records: dict[tuple[str, str], QuestionRecord] = {}
        if self.file.exists():
            for record in _whole_lines(self.file):
                self._merge(record)

    def missing(self, dataset: str, question: str, arms: Iterable[str]) -> list[str]:
        """Return the arms that have not answered a question yet."""
        done = self.records.get((dataset, question))
        return [arm for arm in arms if done is None or arm not in done["arms"]]

    def add(self, record: QuestionRecord) -> None:
        """Write one question's results, or those of further arms for it."""
        with self.file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._merge(record)

    def compact(self) -> None:
        """Rewrite the file with one line per question."""
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in self.records.values())
        write_text(self.file, "".join(lines))

    def _merge(self, record: QuestionRecord) -> None:
        seen = self.records.setdefault((record["dataset"], record["id"]), record)
        seen["ranked"].update(record["ranked"])
        seen["arms"].update(record["arms"])
        if "texts" in record:
            seen.setdefault("texts", {}).update(record["texts"])


def read_records(folder: Path) -> list[QuestionRecord]:
    """Read the questions of a finished run.

    Raises:
        ConfigurationError: the folder holds no finished run.
    """
    if not (folder / SUMMARY).is_file() or not (folder / QUESTIONS).is_file():
        raise ConfigurationError(
            f"{str(folder)!r} holds no finished run; expected a folder that 'adaptive-rag eval --out' wrote, "
            f"with {SUMMARY} and {QUESTIONS}."
        )
    return list(_whole_lines(folder / QUESTIONS))


def write_text(file: Path, text: str) -> None:
    """Replace a file at once, so that an interruption leaves the old one or the new one."""
    partial = file.with_name(file.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, file)


def write_json(file: Path, value: Any) -> None:
    """Replace a JSON file at once."""
    write_text(file, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_json(file: Path) -> Any:
    """Read a JSON file of a run.

    Raises:
        ConfigurationError: the file is damaged.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{file} is damaged ({error}); start the run anew with --fresh.") from error


def _whole_lines(file: Path) -> Iterable[QuestionRecord]:
    text = file.read_text(encoding="utf-8")
    whole, _, torn = text.rpartition("\n")
    if torn:
        # The run stopped while it wrote; the question is simply asked again.
        write_text(file, whole + "\n" if whole else "")
    for number, line in enumerate(whole.split("\n") if whole else [], 1):
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise ConfigurationError(
                f"{file}:{number} is not a line of a run ({error.msg}); start anew with --fresh."
            ) from error
