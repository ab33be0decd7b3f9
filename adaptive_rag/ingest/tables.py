"""The loaders of CSV and JSON: a record for each row; questions and answers are recognized."""

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
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.visible import without_surrogates

_QUESTIONS = ("question", "q", "query", "prompt", "frage")
_ANSWERS = ("answer", "a", "response", "reply", "ideal_answer", "antwort")
_TEXTS = ("text", "content", "body", "page_content", "passage", "contents")
_TITLES = ("title", "heading", "name")
_IDS = ("_id", "id")
_DELIMITERS = ",;\t|"
# "sep=;", a first line for Excel
_STATED_DELIMITER = re.compile(r'"?sep=([^"])"?', re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
# In lines: how far to look for titles and blank lines above the column names.
_MOST_TITLES = 12
# The most levels of nested values: deeper ones can be read here, but not written where less room is left.
_DEEPEST = 100
# In characters: a longer JSON object gets a separate record for each object inside it.
_LONGEST_OBJECT = 600
# A surrogate as JSON writes it; a pair, "\\ud83d\\ude00", is a whole character.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_write_json = json.JSONEncoder(ensure_ascii=False).encode


def load_csv(path: Path, builder: TextBuilder) -> None:
    """Write a record for each row of a CSV file; the first row names the columns.

    Titles above that row become text.
    """
    text = decode(path.read_bytes(), builder)
    lines = text.lstrip("\n").split("\n")
    stated = _STATED_DELIMITER.fullmatch(lines[0])
    lines = lines[1:] if stated else lines
    unquoted = _QUOTED.sub("", _line_of_names(lines or [""]))
    delimiter = stated[1] if stated else max(_DELIMITERS, key=unquoted.count)
    # A field may be as long as the file; the module's own limit is 131,072 characters.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    number = 0
    try:
        rows: Iterator[list[str]] = csv.reader(
            (line + "\n" for line in lines), delimiter=delimiter, strict=False
        )
        first = list(islice(rows, _MOST_TITLES))
        titles = _count_titles(first)
        if said := "\n".join("".join(cells).strip() for cells in first[:titles] if any(cells)):
            builder.add_record(said, {})
        header = list(distinct_names(first[titles])) if first else []
        rows = chain(first[titles + 1 :], rows)
        filled = (cells for cells in rows if any(cell.strip() for cell in cells))
        for number, cells in enumerate(filled, start=1):
            names = header + [f"column {at + 1}" for at in range(len(header), len(cells))]
            fields = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if cell.strip()}
            add_row(builder, fields, number, all_is_text=True)
    except csv.Error as error:
        raise IndexingError("is not a readable table. Save it as CSV again") from error
    if number == 0:
        raise IndexingError("holds no rows under its line of column names")


def _line_of_names(lines: Sequence[str]) -> str:
    """Return the first line, or if that is a title and not a row, the line below a blank line."""
    if not any(mark in lines[0] for mark in _DELIMITERS):
        for above, line in pairwise(lines[:_MOST_TITLES]):
            if line.strip() and not above.strip():
                return line
    return lines[0]


def _count_titles(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows above three or more column names: titles such as "Stock in March;;"."""
    for at, cells in enumerate(rows):
        if sum(map(bool, cells)) > 1:
            above = rows[at - 1]
            named = sum(map(bool, cells)) > 2 and (not any(above) or len(above) == len(cells))
            return at if named else 0
    return 0


def load_jsonl(path: Path, builder: TextBuilder) -> None:
    """Write a record for each line of JSON; lines that cannot be read are skipped, and a note lists them."""
    _add_lines(decode(path.read_bytes(), builder), builder)


def _add_lines(text: str, builder: TextBuilder) -> None:
    broken: list[str] = []
    number = 0
    for at, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        number += 1
        try:
            value = read_json(line)
        except (ValueError, RecursionError) as error:
            broken.append(f"line {at} ({_reason(error)})")
            continue
        if isinstance(value, str):
            value = {"text": value}
        if isinstance(value, dict):
            add_row(builder, value, number, all_is_text=False)
        else:
            broken.append(f"line {at} (an object with named fields was expected, got {type(value).__name__})")
    if not builder.length:
        first = broken[0] if broken else "no text"
        raise IndexingError(f"holds no line of JSON with text in it; the first problem: {first}")
    if broken:
        builder.notes.append(f"{len(broken)} of {number} lines could not be read: {', '.join(broken[:3])}")


def load_json(path: Path, builder: TextBuilder) -> None:
    """Write a record for each object of a JSON file; its section is the path of names that leads to it.

    A .json file often holds JSON lines; it is read as such.
    """
    text = decode(path.read_bytes(), builder)
    try:
        value = read_json(text)
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            _add_lines(text, builder)
            return
        raise IndexingError(f"cannot be read as JSON: {_reason(error)}") from error
    _add_value(builder, value, ())


def _add_value(builder: TextBuilder, value: Any, path: Sequence[str], row: int | None = None) -> None:
    """Add an object as one record, or, if it is long, with separate records for the objects inside it."""
    if isinstance(value, list):
        for number, item in enumerate(value, start=1):
            _add_value(builder, item, path, number)
    elif isinstance(value, dict):
        long = sum(len(name) + len(str(said)) for name, said in _flatten(value).items()) > _LONGEST_OBJECT
        apart = {
            name: inner
            for name, inner in value.items()
            if _holds_objects(inner) and (long or (row is None and isinstance(inner, list)))
        }
        own = _flatten({name: inner for name, inner in value.items() if name not in apart})
        add_row(builder, own, row, all_is_text=False, path=path)
        named = _pick({name.casefold(): name for name in own}, own, _TITLES) if apart else None
        if row is not None:
            path = (*path, own[named] if named else str(row))
        for name, inner in apart.items():
            _add_value(builder, inner, (*path, name))
    elif said := _flatten({"text": value}):
        add_row(builder, {"text": str(said["text"])}, row, all_is_text=False, path=path)


def _flatten(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the values of an object by path, "address > city"; of an item in a list, "size 2 > width"."""
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, list) and not _holds_objects(inner):
            inner = [item for item in inner if item not in (None, "", [])]
            simple = all(isinstance(item, str | int | float) for item in inner)
            inner = ", ".join(map(str, inner)) if simple else _write_json(inner)
        if isinstance(inner, dict):
            flat |= _flatten(inner, f"{before}{name} > ")
        elif isinstance(inner, list):
            numbered = {f"{name} {number}": item for number, item in enumerate(inner, start=1)}
            flat |= _flatten(numbered, before)
        elif inner not in (None, ""):
            flat[f"{before}{name}"] = inner
    return flat


def _holds_objects(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_objects, value)))


def read_json(line: str) -> Any:
    """Read a line or a file of JSON.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep to be read, or to be written again.
    """
    value = json.loads(line)
    if _HALF_CHARACTER.search(line):
        value = json.loads(without_surrogates(_write_json(value)))
    layer = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEEPEST):
        holders = (each.values() if isinstance(each, dict) else each for each in layer)
        layer = [each for values in holders for each in values if isinstance(each, dict | list)]
        if not layer:
            return value
    raise RecursionError


def _reason(error: ValueError | RecursionError) -> str:
    """Describe what is wrong with a JSON text."""
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

    With `all_is_text`, fields that are neither question nor answer follow as such lines, and ids come last.
    Fields other than the main ones are metadata too, and so is `place`, which says where the row is. The
    record's section is its question or title, below the path that leads to the record; without any of these
    it is the sheet that `place` names.
    """
    by_name = {name.casefold(): name for name in fields}
    metadata: dict[str, Any] = {}
    if (question := _pick(by_name, fields, _QUESTIONS)) and (answer := _pick(by_name, fields, _ANSWERS)):
        used = {question, answer}
        title, text = fields[question].strip(), fields[answer].strip()
        metadata = {"kind": "qa", "question": title, "answer": text}
    elif not all_is_text and (body := _pick(by_name, fields, _TEXTS)):
        named = _pick(by_name, fields, _TITLES)
        used = {body, named or body}
        title, text = fields[named].strip() if named else "", fields[body].strip()
        metadata = {"title": title} if title else {}
    else:
        used = {name for name in fields if name.casefold() not in _IDS}
        title, text = "", _lines(fields, [name for name in fields if name in used])
    if text and all_is_text:
        others = _lines(fields, [name for name in fields if name not in used])
        text = f"{text}\n{others}" if others else text
    if text:
        free = fields.keys() - used - CHUNK_METADATA
        rest = {name: value for name, value in fields.items() if name in free and value is not None}
        stands = {**(place or {}), **({} if row is None else {"row": row})}
        section = " > ".join(filter(None, (*path, title))) or stands.get("sheet")
        # A row is about its own fields, such as "name: Tern"; a record that is not a row is about the path to
        # it.
        head = title or (section if row is None else "")
        builder.add_record(f"{head}\n{text}" if head else text, {**rest, **metadata, **stands}, title=section)


def _lines(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    """Write fields as lines of "column: value"."""
    filled = ((name, fields[name]) for name in names if fields[name] not in (None, "", [], {}))
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else _write_json(value)}" for name, value in filled
    )


def names_question_and_answer(columns: Iterable[str]) -> bool:
    """Tell whether the columns of a table include a question and an answer, as in a FAQ."""
    names = {name.casefold() for name in columns}
    return not names.isdisjoint(_QUESTIONS) and not names.isdisjoint(_ANSWERS)


def distinct_names(names: Sequence[str]) -> Iterator[str]:
    """Yield a distinct name for each column."""
    seen: set[str] = set()
    for at, name in enumerate(names, start=1):
        name = " ".join(name.replace(":", "").split()) or f"column {at}"
        yield name if name not in seen else f"{name} ({at})"
        seen.add(name)


def _pick(by_name: Mapping[str, str], fields: Mapping[str, Any], wanted: tuple[str, ...]) -> str | None:
    """Return the first field that has one of the wanted names and holds text."""
    named = (by_name[name] for name in wanted if name in by_name)
    return next((name for name in named if isinstance(fields[name], str) and fields[name].strip()), None)
