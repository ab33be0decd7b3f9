"""The files of a run: one line per question, written when it is answered, so that the run can be resumed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import make_file, replace_text
from adaptive_rag.state import Citation, RoutedType, TraceRecord
from adaptive_rag.text.redaction import redact_known_all
from adaptive_rag.text.visible import without_surrogates

QUESTIONS, RUN, SUMMARY = "questions.jsonl", "run.json", "summary.json"
VERDICTS, DETAILS, REPORT = "verdicts.jsonl", "details.json", "report.html"
RUN_FILES = (QUESTIONS, RUN, SUMMARY, VERDICTS, DETAILS, REPORT)


class Cost(TypedDict):
    """The cost of one question."""

    model_calls: int
    rounds: int  # chat calls made one after another
    ms: float
    tokens: int  # in and out


class ArmRecord(Cost):
    """The result of one arm for one question."""

    metrics: dict[str, float]
    route: str | None
    probability: float | None
    confidence: float | None
    routes: NotRequired[list[str]]  # all strategies that were run, if the router hedged
    answer: NotRequired[str]
    citations: NotRequired[list[Citation]]
    abstained: NotRequired[bool]
    trace: list[TraceRecord]


class QuestionRecord(TypedDict):
    """One line of questions.jsonl."""

    dataset: str
    id: str
    type: RoutedType | None
    question: str
    user_context: str
    history: list[Any]
    reference: str | None
    has_answer: bool | None
    gold: dict[str, int]
    ranked: dict[str, list[str]]  # arm -> ids, best first
    arms: dict[str, ArmRecord]
    texts: dict[str, str]  # id -> beginning of a ranked chunk


class Journal:
    """The questions answered so far; each line is written completely before the next question starts."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / QUESTIONS
        self.records: dict[tuple[str, str], QuestionRecord] = {}
        for record in read_complete_lines(self.file):
            self._merge(record)

    def missing(self, dataset: str, question: str, arms: Iterable[str]) -> list[str]:
        """Return the arms that have not answered a question yet."""
        record = self.records.get((dataset, question))
        return [arm for arm in arms if record is None or arm not in record["arms"]]

    def add(self, record: QuestionRecord) -> None:
        """Write the results of one question, or those of further arms for it."""
        record = redact_known_all(record)
        append_line(self.file, record)
        self._merge(record)

    def compact(self) -> None:
        """Rewrite the file with one line per question."""
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in self.records.values())
        replace_text(self.file, "".join(lines))

    def _merge(self, record: QuestionRecord) -> None:
        merged = self.records.setdefault((record["dataset"], record["id"]), record)
        merged["ranked"].update(record["ranked"])
        merged["arms"].update(record["arms"])
        merged["texts"].update(record["texts"])


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
    return list(read_complete_lines(folder / QUESTIONS))


def append_line(file: Path, value: Any) -> None:
    """Append a value to a file of JSON lines."""
    make_file(file)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(value, ensure_ascii=False) + "\n")


def write_json(file: Path, value: Any) -> None:
    """Replace a JSON file atomically."""
    replace_text(file, json.dumps(redact_known_all(value), ensure_ascii=False, indent=1) + "\n")


def read_text(file: Path) -> str:
    """Read a file in UTF-8.

    Raises:
        ConfigurationError: it is in another encoding.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not in UTF-8: {error}. Save it as UTF-8.") from error


def parse_json(text: str, complaint: str) -> Any:
    """Parse JSON.

    Raises:
        ConfigurationError: the text is not JSON; the message begins with `complaint`.
    """
    try:
        value = json.loads(text)
        if "\\u" in text:  # half of an emoji, such as "\ud83d", could not be stored
            value = json.loads(without_surrogates(json.dumps(value, ensure_ascii=False)))
        return value
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{complaint}: {error}.") from error


def parse_lines(text: str, file: Path, complaint: str = "is not a line of JSON") -> Iterator[Any]:
    """Yield the values of a file of JSON lines; an error names the line."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield parse_json(line, f"{file}:{number} {complaint}")


def read_complete_lines(file: Path) -> Iterator[Any]:
    """Return the values of a file that `append_line` wrote; remove the rest of an interrupted line."""
    if not file.exists():
        return iter(())
    content, line_end, incomplete = file.read_bytes().rpartition(b"\n")
    complete = content.decode(errors="replace")
    if incomplete:
        # The run stopped while it wrote the last line; its question is asked or judged again.
        replace_text(file, complete + line_end.decode())
    return parse_lines(complete, file, "is not a line of a run; start anew with --fresh")
