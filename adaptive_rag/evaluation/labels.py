"""Write labelled questions to a file, one per line, as `adaptive-rag route --learn` reads them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.analysis.learning import QuestionLine, read_questions
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.records import QuestionRecord
from adaptive_rag.private import home, make_folder

FILE = "questions.jsonl"


class Appended(NamedTuple):
    """The result of appending questions to a file."""

    written: int
    already_held: int
    # those written although the file holds the same question with another label
    disputed: list[QuestionLine]


def own_questions() -> Path:
    """Return the path of the user's own labelled questions."""
    return home() / FILE


def labelled_questions(records: Iterable[QuestionRecord]) -> list[QuestionLine]:
    """Return the questions of a run that have a label."""
    return [
        QuestionLine(record["question"], record["user_context"], record["history"], record["type"])
        for record in records
        if record["type"] is not None
    ]


def append_questions(file: Path, questions: Iterable[QuestionLine]) -> Appended:
    """Append labelled questions to a file, one per line; leave out the lines that it already has.

    Raises:
        ConfigurationError: the file cannot be written, or has a line that is not a labelled question.
    """
    from filelock import FileLock

    try:
        make_folder(home())
        make_folder(file.parent)
        # Processes that append to one file take turns, so that none misses the lines of another.
        name = hashlib.sha256(os.path.realpath(file).encode()).hexdigest()[:16]
        with FileLock(home() / f"{name}.lock"):
            return _append_new(file, questions)
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(f"The questions {str(file)!r} cannot be written: {reason}.") from error


def _append_new(file: Path, questions: Iterable[QuestionLine]) -> Appended:
    present = read_questions(file, labelled=True) if file.exists() else []
    lines = {format_question(question) for question in present}
    labels = {_without_label(question): question.type for question in present}
    already_held, new_lines, disputed = 0, list[str](), list[QuestionLine]()
    for question in questions:
        line = format_question(question)
        if line in lines:
            already_held += 1
            continue
        if labels.setdefault(_without_label(question), question.type) != question.type:
            disputed.append(question)
        lines.add(line)
        new_lines.append(line)
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        # An editor may have left the last line without a line end.
        prefix = ""
        if size and os.lseek(descriptor, size - 1, os.SEEK_SET) >= 0 and os.read(descriptor, 1) != b"\n":
            prefix = "\n"
        for line in new_lines:
            # One call per line, so that an interruption leaves complete lines.
            os.write(descriptor, f"{prefix}{line}\n".encode())
            prefix = ""
    finally:
        os.close(descriptor)
    return Appended(len(new_lines), already_held, disputed)


def format_question(question: QuestionLine) -> str:
    """Return a question as a line of such a file."""
    row = {"text": question.text, "type": question.type}
    optional = {"user_context": question.user_context, "history": question.history}
    # In ASCII, because a line separator inside a text must not end the line.
    return json.dumps({**row, **{name: value for name, value in optional.items() if value}})


def _without_label(question: QuestionLine) -> str:
    return format_question(question._replace(type=None))
