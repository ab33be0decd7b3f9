"""The loaders of CSV and JSON: a record for each row or object; questions and answers are recognized."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import CHUNK_METADATA, TextBuilder
from adaptive_rag.ingest.table_headers import is_column_name
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.visible import ESCAPED_NUL

# Names of columns and fields whose meaning is known.
_QUESTION_NAMES = ("question", "q", "query", "prompt", "frage")
_ANSWER_NAMES = ("answer", "a", "response", "reply", "ideal_answer", "antwort")
_TEXT_NAMES = ("text", "content", "body", "page_content", "passage", "contents")
_TITLE_NAMES = ("title", "heading", "name")
_ID_NAMES = ("_id", "id")
# The comma is last: "Time;Temp, °C" has as many semicolons as commas.
_DELIMITERS = ";\t|,"
# "sep=;", a first line for Excel
_STATED_DELIMITER = re.compile(r'"?sep=([^"])"?', re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
_DIGITS = re.compile(r"\d+")
# How many lines to search for titles and blank lines above the column names.
_MAX_TITLE_ROWS = 12
# The most levels of nested values: deeper ones can be read here, but not written later with less stack left.
_MAX_DEPTH = 100
# In characters: a longer JSON object gets a separate record for each object inside it.
_MAX_OBJECT_LENGTH = 600
# NUL or a surrogate as JSON writes it; a pair, "\\ud83d\\ude00", is one character.
_UNSTORABLE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_write_json = json.JSONEncoder(ensure_ascii=False).encode


def load_csv(path: Path, builder: TextBuilder) -> None:
    """Write a record for each row of a CSV file; the first row below any titles names the columns."""
    text = decode(path.read_bytes(), builder)
    lines = text.lstrip("\n").split("\n")
    stated = _STATED_DELIMITER.fullmatch(lines[0])
    lines = lines[1:] if stated else lines
    unquoted = _QUOTED.sub("", _find_line_of_names(lines or [""]))
    delimiter = stated[1] if stated else max(_DELIMITERS, key=unquoted.count)
    # A field may be as long as the file; the module's own limit is 131,072 characters.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    row_number = 0
    try:
        rows: Iterator[list[str]] = csv.reader(
            (line + "\n" for line in lines), delimiter=delimiter, skipinitialspace=True, strict=False
        )
        first = list(islice(rows, _MAX_TITLE_ROWS))
        titles = _count_titles(first)
        if title := "\n".join("".join(cells).strip() for cells in first[:titles] if any(cells)):
            builder.add_record(title, {})
        below = first[titles:]
        header = [] if _lacks_names(below) else list(distinct_names(below.pop(0)))
        rows = chain(below, rows)
        filled = (cells for cells in rows if any(map(str.strip, cells)))
        for row_number, cells in enumerate(filled, start=1):
            names = header + [f"column {index + 1}" for index in range(len(header), len(cells))]
            fields = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if cell.strip()}
            add_row(builder, fields, row_number, all_is_text=True)
    except csv.Error as error:
        raise IndexingError("is not a readable table. Save it as CSV again") from error
    if row_number == 0:
        raise IndexingError("holds no rows under its line of column names")


def _find_line_of_names(lines: Sequence[str]) -> str:
    """Return the first line, or, if it is a title, the one below the next blank line."""
    if not any(mark in lines[0] for mark in _DELIMITERS):
        for above, line in pairwise(lines[:_MAX_TITLE_ROWS]):
            if line.strip() and not above.strip():
                return line
    return lines[0]


def _count_titles(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of title rows, such as "Stock in March;;", above three or more column names."""
    for index, cells in enumerate(rows):
        filled = sum(map(bool, cells))
        if filled > 1:
            above = rows[index - 1]
            are_names = filled > 2 and (not any(above) or len(above) == len(cells))
            return index if are_names else 0
    return 0


def _lacks_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is not the names of the columns but a row as the one below it.

    Then its figures and dates have the form of those below. Years, and numbers that count up, may be names.
    """
    if len(rows) < 2:
        return not rows
    pairs = list(zip(*rows[:2], strict=False))
    figures = [(cell, below) for cell, below in pairs if cell and not is_column_name(cell)]
    counted = [int(cell) for cell, _ in figures if cell.isdecimal()]
    if len(counted) > 1 and counted == list(range(counted[0], counted[0] + len(counted))):
        return False
    forms = (tuple(_DIGITS.sub("0", cell) for cell in pair) for pair in figures)
    return bool(figures) and all(form == below for form, below in forms)


def load_jsonl(path: Path, builder: TextBuilder) -> None:
    """Write a record for each line of JSON; lines that cannot be read are skipped, and a note lists them."""
    _add_json_lines(decode(path.read_bytes(), builder), builder)


def _add_json_lines(text: str, builder: TextBuilder) -> None:
    """Add a record for each line of JSON, and a note about lines that cannot be read."""
    problems: list[str] = []
    row = 0
    for line_number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        row += 1
        try:
            value = read_json(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"line {line_number} ({_describe_error(error)})")
            continue
        if isinstance(value, str):
            value = {"text": value}
        if isinstance(value, dict):
            add_row(builder, value, row, all_is_text=False)
        else:
            kind = type(value).__name__
            problems.append(f"line {line_number} (an object with named fields was expected, got {kind})")
    if not builder.length:
        first = problems[0] if problems else "no text"
        raise IndexingError(f"holds no line of JSON with text in it; the first problem: {first}")
    if problems:
        builder.notes.append(f"{len(problems)} of {row} lines could not be read: {', '.join(problems[:3])}")


def load_json(path: Path, builder: TextBuilder) -> None:
    """Write a record for each object of a JSON file; its section is the path of names that leads to it.

    A .json file often holds JSON lines; it is read as such.
    """
    text = decode(path.read_bytes(), builder)
    try:
        value = read_json(text)
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            _add_json_lines(text, builder)
            return
        raise IndexingError(f"cannot be read as JSON: {_describe_error(error)}") from error
    _add_value(builder, value, ())


def _add_value(builder: TextBuilder, value: Any, path: Sequence[str], row: int | None = None) -> None:
    """Add an object as one record, or, if it is long, with separate records for the objects inside it."""
    if isinstance(value, list):
        for number, item in enumerate(value, start=1):
            _add_value(builder, item, path, number)
    elif isinstance(value, dict):
        length = sum(len(name) + len(str(item)) for name, item in _flatten(value).items())
        is_long = length > _MAX_OBJECT_LENGTH
        separate = {
            name: inner
            for name, inner in value.items()
            if _holds_objects(inner) and (is_long or (row is None and isinstance(inner, list)))
        }
        remaining = _flatten({name: inner for name, inner in value.items() if name not in separate})
        add_row(builder, remaining, row, all_is_text=False, path=path)
        if separate and row is not None:
            title_field = _find_field(remaining, _TITLE_NAMES)
            path = (*path, remaining[title_field] if title_field else str(row))
        for name, inner in separate.items():
            _add_value(builder, inner, (*path, name))
    elif flat := _flatten({"text": value}):
        add_row(builder, {"text": str(flat["text"])}, row, all_is_text=False, path=path)


def _flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of an object by path: "address > city", or "size 2 > width" inside a list."""
    flat: dict[str, Any] = {}
    for name, item in value.items():
        if isinstance(item, list) and not _holds_objects(item):
            item = [element for element in item if element not in (None, "", [])]
            is_simple = all(isinstance(element, str | int | float) for element in item)
            item = ", ".join(map(str, item)) if is_simple else _write_json(item)
        if isinstance(item, dict):
            flat |= _flatten(item, f"{prefix}{name} > ")
        elif isinstance(item, list):
            numbered = {f"{name} {number}": element for number, element in enumerate(item, start=1)}
            flat |= _flatten(numbered, prefix)
        elif item not in (None, ""):
            flat[f"{prefix}{name}"] = item
    return flat


def _holds_objects(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_objects, value)))


def read_json(line: str) -> Any:
    """Parse a line or a file of JSON.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep to be read, or to be written again.
    """
    value = json.loads(line)
    if _UNSTORABLE.search(line):
        value = json.loads(ESCAPED_NUL.sub(rb"\1", _write_json(value).encode(errors="replace")))
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MAX_DEPTH):
        containers = (item.values() if isinstance(item, dict) else item for item in level)
        level = [item for values in containers for item in values if isinstance(item, dict | list)]
        if not level:
            return value
    raise RecursionError


def _describe_error(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON from character {error.pos + 1} on"
    return "nested too deep" if isinstance(error, RecursionError) else "a number is too long"


def add_row(
    builder: TextBuilder,
    fields: Mapping[str, Any],
    row: int | None,
    *,
    all_is_text: bool,
    path: Sequence[str] = (),
    place: Mapping[str, Any] | None = None,
) -> None:
    """Add a record: a question with its answer, a text with its title, or "column: value" lines.

    The record's section is its question or title, below `path`; without these it is the sheet that `place`
    names.

    An object that is not a row has no number, and `path` has the names that lead to it. With `all_is_text`,
    fields that are neither question nor answer follow as lines, ids last; otherwise they are only metadata.
    `place` has metadata that say where the row is.
    """
    metadata: dict[str, Any] = {}
    question, answer = _find_field(fields, _QUESTION_NAMES), _find_field(fields, _ANSWER_NAMES)
    if question and answer:
        used = {question, answer}
        title, text = fields[question].strip(), fields[answer].strip()
        metadata = {"kind": "qa", "question": title, "answer": text}
    elif not all_is_text and (body := _find_field(fields, _TEXT_NAMES)):
        title_field = _find_field(fields, _TITLE_NAMES)
        used = {body, title_field or body}
        title, text = fields[title_field].strip() if title_field else "", fields[body].strip()
        metadata = {"title": title} if title else {}
    else:
        used = {name for name in fields if name.casefold() not in _ID_NAMES}
        title, text = "", _format_fields(fields, [name for name in fields if name in used])
    if text and all_is_text:
        other_text = _format_fields(fields, [name for name in fields if name not in used])
        text = f"{text}\n{other_text}" if other_text else text
    if text:
        free = fields.keys() - used - CHUNK_METADATA
        rest = {name: value for name, value in fields.items() if name in free and value is not None}
        position = {**(place or {}), **({} if row is None else {"row": row})}
        section = " > ".join(filter(None, (*path, title))) or position.get("sheet")
        # A row describes itself, such as "name: Tern"; an object that is not a row is described by its path.
        first_line = title or (section if row is None else "")
        text = f"{first_line}\n{text}" if first_line else text
        builder.add_record(text, {**rest, **metadata, **position}, title=section)


def _format_fields(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    filled = ((name, fields[name]) for name in names if fields[name] not in (None, "", [], {}))
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else _write_json(value)}" for name, value in filled
    )


def names_question_and_answer(columns: Iterable[str]) -> bool:
    """Return whether the columns of a table include a question and an answer, as in a FAQ."""
    names = {name.casefold() for name in columns}
    return not names.isdisjoint(_QUESTION_NAMES) and not names.isdisjoint(_ANSWER_NAMES)


def distinct_names(names: Sequence[str]) -> Iterator[str]:
    """Yield a distinct name for each column: "Price", and "Price (3)" for a third column of that name."""
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        name = " ".join(name.replace(":", "").split()) or f"column {number}"
        while name in seen:
            name += f" ({number})"
        seen.add(name)
        yield name


def _find_field(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first field that has one of the names, in the order of `names`, and text."""
    by_name = {name.casefold(): name for name in fields}
    present = (by_name[name] for name in names if name in by_name)
    return next((name for name in present if isinstance(fields[name], str) and fields[name].strip()), None)
