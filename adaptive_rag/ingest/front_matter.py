"""The front matter of a text file: metadata above its text, in YAML between "---" or TOML between "+++"."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date
from typing import Any

from adaptive_rag.ingest.documents import CHUNK_METADATA, TextBuilder
from adaptive_rag.ingest.properties import LONGEST, MOST, note_properties

# In characters: a longer block is not front matter.
_LONGEST_BLOCK = 50_000
_OPENING = re.compile(r"(?P<mark>---|\+\+\+)[ \t]*\n")
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\n|\Z)", re.MULTILINE),
}
# "title: Fees"; text between two horizontal rules does not begin with such a line.
_FIELD = re.compile(r"^[\"']?[\w][\w .@/-]{0,60}[\"']?[ \t]*(?::(?=\s|$)|=)", re.MULTILINE)
_NAME = re.compile(r"[^\W\d][\w-]{0,39}")
_COMMENT = re.compile(r"[ \t]*#.*")
# At most this many metadata fields are kept.
_MOST_FIELDS = 30
# Names that chunks, rows and loaders set themselves, on whose meaning filters and the code rely, and the
# fields that are noted as properties.
_RESERVED_NAMES = CHUNK_METADATA | frozenset(
    "source file kind page section id text start end lines row sheet question answer page_label start_index "
    "encoding language_of_code member attachment subject title author date language tags url chunk scores "
    "labels parts place time cut authors lang keywords".split()
)


def take_front_matter(text: str, builder: TextBuilder) -> int:
    """Note the front matter of a text, if it has any, and return the offset at which the text begins."""
    opening = _OPENING.match(text)
    closing = _CLOSING[opening["mark"]].search(text, opening.end(), _LONGEST_BLOCK) if opening else None
    if opening is None or closing is None:
        return 0
    block = text[opening.end() : closing.start()]
    lines = [line for line in block.split("\n") if line.strip() and not _COMMENT.fullmatch(line)]
    if lines and not _FIELD.match(lines[0]):
        return 0
    try:
        fields = tomllib.loads(block) if opening["mark"] == "+++" else _read_yaml(block)
    except (ValueError, RecursionError) as error:
        kind = "TOML" if opening["mark"] == "+++" else "YAML"
        builder.notes.append(f"its front matter is not {kind} ({str(error).splitlines()[0]})")
        return closing.end()
    if isinstance(fields, dict):
        _note_fields({str(name).lower(): value for name, value in fields.items()}, builder)
    return closing.end()


def _read_yaml(block: str) -> Any:
    """Read YAML with dates and numbers as text: a version 1.10 is not a number."""
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.load(block, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _note_fields(fields: Mapping[str, Any], builder: TextBuilder) -> None:
    """Note the standard properties, and the other fields as metadata, without long and nested values."""
    author = fields.get("author") or fields.get("authors") or ""
    tags = fields.get("tags") or fields.get("keywords") or ""
    note_properties(
        builder,
        title=_plain(fields.get("title")),
        author=[_plain(name) for name in author] if isinstance(author, list) else _plain(author),
        date=_plain(fields.get("date")),
        language=_plain(fields.get("lang") or fields.get("language")),
        tags=[_plain(tag) for tag in tags] if isinstance(tags, list) else _plain(tags),
    )
    for name, value in fields.items():
        name = name.replace(" ", "_")
        if len(builder.metadata) >= _MOST_FIELDS:
            return
        if name in _RESERVED_NAMES or not _NAME.fullmatch(name):
            continue
        values = [_plain(item) for item in (value if isinstance(value, list) else [value])]
        if values and len(values) <= MOST and all(0 < len(text) <= LONGEST for text in values):
            builder.metadata.setdefault(name, values if isinstance(value, list) else _typed(values[0]))


def _typed(value: str) -> str | int | bool:
    """Convert a whole number, "true" or "false"; 1.10 may be a version and stays text."""
    if value in ("true", "false"):
        return value == "true"
    return int(value) if re.fullmatch(r"0|-?[1-9][0-9]{0,14}", value) else value


def _plain(value: object) -> str:
    """Return a string, number, date or boolean as text; "" for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(str(value).split()) if isinstance(value, str | int | float | date) else ""
