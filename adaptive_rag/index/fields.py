"""The fields of chunks, which conditions can use and which `info` lists."""

from __future__ import annotations

import json
import re
import textwrap
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from adaptive_rag.state import Chunk
from adaptive_rag.where import Kind, Mask, kind_of

# Fields that every chunk has; they are listed before the metadata of its document.
OWN_FIELDS = ("source", "file", "kind", "page", "section")
# Metadata for internal use, which describe the text of a chunk rather than its document.
_NOT_FIELDS = frozenset(
    {"cells", "columns", "line", "ocr_spans", "page_end", "page_starts", "section_starts"}
)
# The first so many fields can be compared. Rows that each have fields of their own would take gigabytes.
MOST_FIELDS = 20_000
# The number of values of a text field that are shown, and the most characters of each.
EXAMPLES, SHOWN = 3, 40


@dataclass(slots=True)
class _Column:
    """The values of a field that are not None, and the positions of their chunks: most fields are rare."""

    positions: array[int] = field(default_factory=lambda: array("q"))
    values: list[Any] = field(default_factory=list)

    def add(self, position: int, value: Any) -> None:
        if value is not None:
            self.positions.append(position)
            self.values.append(value)


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
        paths = {source: _file(source) for source in set(sources)}
        # a source with copies has a list of names and a list of file names
        all_names: dict[str, Any] = {source: [source, *copies[source]] for source in copies}
        file_names = {source: [_file(name).name for name in names] for source, names in all_names.items()}
        own: dict[str, list[Any]] = {
            "source": [all_names.get(source, source) for source in sources],
            "file": [file_names.get(source, paths[source].name) for source in sources],
            "kind": [paths[source].suffix[1:].lower() or None for source in sources],
            "page": [_all_pages(page, document) for page, document in zip(pages, metadata, strict=True)],
            "section": list(sections),
        }
        self._columns = {name: _Column() for name in OWN_FIELDS}
        for name, values in own.items():
            for position, value in enumerate(values):
                self._columns[name].add(position, value)
        for position, document in enumerate(metadata):
            for name, value in document.items():
                is_kept = name in self._columns or len(self._columns) < MOST_FIELDS
                if is_kept and name not in _NOT_FIELDS and name not in own:
                    self._columns.setdefault(name, _Column()).add(position, _to_comparable(value))

    @classmethod
    def of_rows(
        cls,
        sources: list[str],
        pages: list[Any],
        sections: list[Any],
        stored_metadata: list[Any],
        copies: Mapping[str, Sequence[str]],
    ) -> Fields:
        """Return the fields of rows whose metadata are stored as JSON; equal texts are parsed once."""
        parsed: dict[str | None, dict[str, Any]] = {None: {}}
        for text in stored_metadata:
            if text not in parsed:
                parsed[text] = json.loads(text)
        return cls(sources, pages, sections, [parsed[text] for text in stored_metadata], copies)

    @classmethod
    def of_chunks(cls, chunks: Iterable[Chunk]) -> Fields:
        """Return the fields of chunks."""
        chunk_list = list(chunks)
        return cls(
            [chunk["source"] for chunk in chunk_list],
            [chunk["page"] for chunk in chunk_list],
            [chunk["section"] for chunk in chunk_list],
            [chunk["metadata"] for chunk in chunk_list],
        )

    @classmethod
    def joined(cls, parts: Sequence[Fields]) -> Fields:
        """Join the fields of several collections of chunks."""
        joined = cls([], [], [], [])
        for part in parts:
            start = len(joined)
            for name, column in part._columns.items():
                joined_column = joined._columns.setdefault(name, _Column())
                joined_column.positions.extend(start + position for position in column.positions)
                joined_column.values += column.values
            joined.sources += part.sources
        return joined

    def __len__(self) -> int:
        return len(self.sources)

    def kinds(self) -> Mapping[str, Kind]:
        """Return each field and the kind of its values; fields that no chunk has are left out."""
        return self._kinds

    def values(self, field: str) -> list[Any]:
        """Return the value of a field for each chunk; None if it has none."""
        values: list[Any] = [None] * len(self)
        for position, value in self.known_values(field):
            values[position] = value
        return values

    def known_values(self, field: str) -> Iterator[tuple[int, Any]]:
        """Yield the position of each chunk that has a field, and its value."""
        column = self._columns[field]
        return zip(column.positions, column.values, strict=True)

    def common(self, limit: int, mask: Mask | None = None) -> dict[str, tuple[Kind, dict[Any, int]]]:
        """Return the kind of each field and its most frequent values, with the number of chunks of each.

        `mask` selects the chunks that count.
        """
        common_values = {}
        for name, kind in self._kinds.items():
            values = (v for position, v in self.known_values(name) if mask is None or mask[position])
            counts = Counter(_flatten(values))
            if counts:
                common_values[name] = kind, dict(counts.most_common(limit))
        return common_values

    def describe(self) -> dict[str, str]:
        """Return each field with its kind and its range or some of its values, for a person to read."""
        spans = {name: self._span(name, kind) for name, kind in self._kinds.items()}
        return {name: f"{self._kinds[name]}: {span}" for name, span in spans.items() if span}

    @cached_property
    def _kinds(self) -> dict[str, Kind]:
        return {
            name: kind_of(column.values)
            for name, column in self._columns.items()
            if name in OWN_FIELDS or column.values
        }

    def _span(self, name: str, kind: Kind) -> str:
        values = list(dict.fromkeys(_flatten(self._columns[name].values)))
        if not values:
            return ""
        if kind in ("number", "date"):
            return f"{min(values)} to {max(values)}"
        if kind == "yes or no":
            return "yes, no"
        examples = ", ".join(
            textwrap.shorten(str(value), SHOWN, placeholder="…") for value in values[:EXAMPLES]
        )
        return examples if len(values) <= EXAMPLES else f"{examples} and {len(values) - EXAMPLES} more"


def _flatten(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the single values of a column."""
    for value in values:
        yield from value if isinstance(value, list) else [value]


def _all_pages(page: int | None, metadata: Mapping[str, Any]) -> int | list[int] | None:
    """Return the page of a chunk, or all its pages if it runs over several."""
    last_page = metadata.get("page_end")
    return page if page is None or last_page is None else list(range(page, last_page + 1)) or page


def _file(source: str) -> PurePath:
    """Return the path in a source's name; a web page whose address has no suffix gets ".html"."""
    if not re.match("https?://", source):
        return PurePath(source)
    # not parsed as a URL: the name of a document may be none, such as "http://[x]"
    path = PurePath(re.sub(r"^https?://[^/?#]*|[?#].*", "", source))
    return path if path.suffix else PurePath(f"{path.name or 'index'}.html")


def _to_comparable(value: Any) -> Any:
    """Return a value if it can be compared (text, number, boolean, or a list of these), else None."""
    if isinstance(value, list | tuple):
        return [part for part in value if isinstance(part, str | int | float)] or None
    is_comparable = (
        isinstance(value, str | int | float) and value != "" and value == value
    )  # NaN is not itself
    return value if is_comparable else None
