"""The loaders of CSV and JSON lines: a record for each row, question and answer recognised where they are."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.builder import TextBuilder
from adaptive_rag.ingest.text import decode

_QUESTIONS = ("question", "q", "query", "prompt", "frage")
_ANSWERS = ("answer", "a", "response", "reply", "ideal_answer", "antwort")
_TEXTS = ("text", "content", "body", "page_content", "passage", "contents")
_TITLES = ("title", "heading", "name")
_IDS = frozenset({"_id", "id"})
_DELIMITERS = ",;\t|"


def load_csv(path: Path, builder: TextBuilder) -> None:
    """Write a record for each row of a CSV file; the first row names the columns.

    Raises:
        IndexingError: the file has no rows, or is not a table.
    """
    text = decode(path.read_bytes(), builder)
    lines = text.split("\n")
    # a field may be as long as the file; the module's own bound is 131,072 characters
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    try:
        rows = csv.reader((line + "\n" for line in lines), delimiter=_delimiter(lines[0]), strict=False)
        header = [name.strip() for name in next(rows, [])]
        number = 0
        for cells in rows:
            if not any(cell.strip() for cell in cells):
                continue
            number += 1
            names = header + [f"column {at + 1}" for at in range(len(header), len(cells))]
            fields = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if cell.strip()}
            _write(builder, fields, number, rest_is_text=True)
    except csv.Error as error:
        raise IndexingError(f"is not a readable table: {error}") from error
    if number == 0:
        raise IndexingError("holds no rows under its line of column names")


def load_jsonl(path: Path, builder: TextBuilder) -> None:
    """Write a record for each line of JSON; lines that cannot be read are noted and passed over.

    Raises:
        IndexingError: no line can be read.
    """
    broken: list[str] = []
    number = 0
    for at, line in enumerate(decode(path.read_bytes(), builder).split("\n"), start=1):
        if not line.strip():
            continue
        number += 1
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            broken.append(f"line {at} ({error})")
            continue
        if isinstance(found, str):
            found = {"text": found}
        if not isinstance(found, dict):
            broken.append(f"line {at} (an object with named fields was expected, got {type(found).__name__})")
            continue
        _write(builder, {str(name): value for name, value in found.items()}, number, rest_is_text=False)
    if not builder.length:
        raise IndexingError(
            f"holds no line of JSON with text in it; the first problem: {broken[0] if broken else 'no text'}"
        )
    if broken:
        builder.notes.append(f"{len(broken)} of {number} lines could not be read: {', '.join(broken[:3])}")


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _write(builder: TextBuilder, fields: Mapping[str, Any], row: int, *, rest_is_text: bool) -> None:
    """Write one record: a question with its answer, or a text, or "column: value" lines."""
    by_name = {name.casefold(): name for name in fields}
    question, answer = _pick(by_name, fields, _QUESTIONS), _pick(by_name, fields, _ANSWERS)
    if question and answer:
        used = {question, answer}
        metadata: dict[str, Any] = {
            "kind": "qa",
            "question": fields[question].strip(),
            "answer": fields[answer].strip(),
        }
        text = f"{metadata['question']}\n{metadata['answer']}"
    else:
        body = _pick(by_name, fields, _TEXTS)
        title = _pick(by_name, fields, _TITLES)
        metadata = {}
        if body and not rest_is_text:
            used = {name for name in (body, title) if name}
            text = fields[body].strip()
            if title:
                metadata["title"] = fields[title].strip()
                text = f"{metadata['title']}\n{text}"
        else:
            used = set(fields) - _IDS
            text = "\n".join(f"{name}: {value}" for name, value in _flat(fields))
    if not text.strip():
        return
    rest = {name: value for name, value in fields.items() if name not in used and value is not None}
    # a section is what a reader looks under: a row's title serves as one, and so does a question
    title = metadata.get("title") or metadata.get("question")
    builder.add_record(text, {**rest, **metadata, "row": row}, title=title)


def _pick(by_name: Mapping[str, str], fields: Mapping[str, Any], wanted: tuple[str, ...]) -> str | None:
    for name in wanted:
        if name in by_name and isinstance(fields[by_name[name]], str) and fields[by_name[name]].strip():
            return by_name[name]
    return None


def _flat(fields: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """List the fields that can be written out, leaving out ids and empty ones."""
    return [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in fields.items()
        if value not in (None, "", [], {}) and name.casefold() not in _IDS
    ]
