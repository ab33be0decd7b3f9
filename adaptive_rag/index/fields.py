"""The fields of chunks: the values that conditions are checked against and that `info` lists."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import PurePath
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from adaptive_rag.state import Chunk
from adaptive_rag.where import Kind, Mask, kind_of

# Fields that every chunk has; they come before those of its document's metadata.
OWN_FIELDS = ("source", "file", "kind", "page", "section")
# Metadata for the program's own use, which describe the text rather than the document.
_NOT_FIELDS = frozenset(
    {"cells", "columns", "line", "ocr_spans", "page_end", "page_starts", "section_starts"}
)
# How many values of a text field are shown, and the most characters of each.
EXAMPLES, SHOWN = 3, 40


class Fields:
    """The fields of chunks, column by column."""

    def __init__(
        self,
        sources: Sequence[str],
        pages: Sequence[int | None],
        sections: Sequence[str | None],
        metadata: Sequence[Mapping[str, Any]],
        copies: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Build the columns from the values of each chunk; `copies` maps a source to its other names."""
        self.sources = list(sources)
        files = {source: _file(source) for source in set(sources)}
        names: dict[str, Any] = {source: [source, *copies[source]] for source in copies}
        bases: dict[str, Any] = {of: [_file(name).name for name in held] for of, held in names.items()}
        self._columns: dict[str, list[Any]] = {
            "source": [names.get(source, source) for source in sources],
            "file": [bases.get(source, files[source].name) for source in sources],
            "kind": [files[source].suffix[1:].lower() or None for source in sources],
            "page": list(pages),
            "section": list(sections),
        }
        names = dict.fromkeys(name for known in {id(m): m for m in metadata}.values() for name in known)
        for name in names:
            if name not in _NOT_FIELDS and name not in self._columns:
                self._columns[name] = [_plain(known.get(name)) for known in metadata]

    @classmethod
    def of_rows(
        cls,
        sources: list[str],
        pages: list[Any],
        sections: list[Any],
        stored: list[Any],
        copies: Mapping[str, Sequence[str]],
    ) -> Fields:
        """Return the fields of rows whose metadata are stored as JSON; equal texts are parsed once."""
        known: dict[str | None, dict[str, Any]] = {None: {}}
        for text in stored:
            if text not in known:
                known[text] = json.loads(text)
        return cls(sources, pages, sections, [known[text] for text in stored], copies)

    @classmethod
    def of_chunks(cls, chunks: Iterable[Chunk]) -> Fields:
        """Return the fields of chunks."""
        held = list(chunks)
        return cls(
            [chunk["source"] for chunk in held],
            [chunk["page"] for chunk in held],
            [chunk["section"] for chunk in held],
            [chunk["metadata"] for chunk in held],
        )

    @classmethod
    def joined(cls, parts: Sequence[Fields]) -> Fields:
        """Join the fields of several collections of chunks."""
        made = cls([], [], [], [])
        made.sources = [source for part in parts for source in part.sources]
        for name in dict.fromkeys(name for part in parts for name in part._columns):
            columns = (part._columns.get(name, [None] * len(part)) for part in parts)
            made._columns[name] = [value for column in columns for value in column]
        return made

    def __len__(self) -> int:
        return len(self.sources)

    def kinds(self) -> Mapping[str, Kind]:
        """Return each field and the kind of its values; fields that no chunk has are left out."""
        return self._kinds

    def values(self, field: str) -> list[Any]:
        """Return the value of a field for each chunk; None if it has none."""
        return self._columns[field]

    def common(self, most: int, kept: Mask | None = None) -> dict[str, tuple[Kind, dict[Any, int]]]:
        """Return the kind of each field and its most frequent values, with how many chunks have each.

        `kept` masks the chunks that count.
        """
        chosen = range(len(self)) if kept is None else np.flatnonzero(kept).tolist()
        counted = {}
        for name, kind in self._kinds.items():
            column = self._columns[name]
            held = (column[at] for at in chosen)
            values = (part for v in held for part in (v if isinstance(v, list) else [v]))
            counts = Counter(value for value in values if value is not None)
            if counts:
                counted[name] = kind, dict(counts.most_common(most))
        return counted

    def describe(self) -> dict[str, str]:
        """Return each field with its kind and its range or some of its values, for a person to read."""
        spans = {name: self._span(name, kind) for name, kind in self._kinds.items()}
        return {name: f"{self._kinds[name]}: {span}" for name, span in spans.items() if span}

    @cached_property
    def _kinds(self) -> dict[str, Kind]:
        return {
            name: kind_of(values)
            for name, values in self._columns.items()
            if name in OWN_FIELDS or any(value is not None for value in values)
        }

    def _span(self, name: str, kind: Kind) -> str:
        parts = (part for v in self._columns[name] for part in (v if isinstance(v, list) else [v]))
        values = list(dict.fromkeys(part for part in parts if part is not None))
        if not values:
            return ""
        if kind in ("number", "date"):
            return f"{min(values)} to {max(values)}"
        if kind == "yes or no":
            return "yes, no"
        shown = ", ".join(textwrap.shorten(str(value), SHOWN, placeholder="…") for value in values[:EXAMPLES])
        return shown if len(values) <= EXAMPLES else f"{shown} and {len(values) - EXAMPLES} more"


def _file(source: str) -> PurePath:
    """Return the path in a source's name; a web page whose address has no suffix gets ".html"."""
    if not re.match("https?://", source):
        return PurePath(source)
    path = PurePath(urlsplit(source).path)
    return path if path.suffix else PurePath(f"{path.name or 'index'}.html")


def _plain(value: Any) -> Any:
    """Return a value if it can be compared (text, number, boolean, or a list of these), else None."""
    if isinstance(value, list | tuple):
        return [part for part in value if isinstance(part, str | int | float)] or None
    return value if isinstance(value, str | int | float) and value != "" else None
