"""The words that a person sees, in a file for each language: en.toml and de.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("en", "de")
# "{n|row|rows}" is a plural, "{n}" and "{queries:;}" are values.
_PLURAL = re.compile(r"\{(\w+)\|([^|}]*)\|([^|}]*)\}")
_VALUE = re.compile(r"\{(\w+)(?::([^}]*))?\}")


@dataclass(frozen=True)
class Words:
    """The words of a language."""

    phrases: Mapping[str, str]
    """What the program itself says in answers and in the trace, by code."""
    labels: Mapping[str, Mapping[str, str]]
    """Names for codes, by kind and code."""
    page: Mapping[str, str]
    """The other texts of the page, by key."""
    sentences: Mapping[str, str]
    """What the API says without a code, by its English words; empty in English."""


@cache
def load_words(language: str) -> Words:
    """Return the words of a language."""
    tables = tomllib.loads(files(__package__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))
    phrases, page, sentences = (
        dict(_flatten(tables.get(name, {}))) for name in ("phrases", "page", "sentences")
    )
    return Words(phrases, tables["labels"], page, sentences)


def _flatten(table: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in table.items():
        yield from _flatten(value) if isinstance(value, Mapping) else [(name, value)]


def label_for(kind: str, code: str, **values: Any) -> str:
    """Return the English label for a code; the code itself if it has none."""
    label = load_words("en").labels[kind].get(code)
    return code if label is None else fill(label, values)


def fill(words: str, values: Mapping[str, Any], to_text: Callable[[Any, str], str] = format) -> str:
    """Put values into words; `to_text` gets a value and its format."""
    chosen = _PLURAL.sub(lambda match: match[2 if values[match[1]] == 1 else 3], words)
    return _VALUE.sub(lambda match: to_text(values[match[1]], match[2] or ""), chosen)
