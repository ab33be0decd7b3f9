"""The statements of a passage that claims are compared with: sentences with speakers, cells with rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adaptive_rag.answer.claims import Statement, read_tokens
from adaptive_rag.answer.contributions import Contributions
from adaptive_rag.answer.passages import text_at
from adaptive_rag.answer.rows import Cell
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.tables import find_tables, name_cells
from adaptive_rag.text.visible import plain

# A line of a record: "stock: 7".
_FIELD = re.compile(r"(?P<name>[^\W\d_][\w /()-]{0,30}): (?P<value>\S.*)")
# "They must be taken by June." refers to the sentence before it.
_GOES_ON = re.compile(
    r"\W*(?:(?:he|she|it|they|this|these|that|those|his|her|its|their)\b|\w+ (?:he|she|it|they)\b)", re.I
)


def read_statements(passage: Candidate, sentences: Sentences) -> Iterator[Statement]:
    """Yield the statements of a passage, in the plain text that the model read."""
    rows: list[tuple[int, int]] = []
    for table in find_tables(passage["text"], tuple(passage["metadata"].get("columns", ()))):
        for row in table.rows:
            rows.append((passage["start"] + row.start, passage["start"] + row.end))
            yield from _read_cells(name_cells(row.cells, table.columns))
    record: list[Cell] = []
    before, last, said_by = "", passage["start"], Contributions(passage)
    for start, end in sentences.spans.tolist():
        text = text_at(passage, start, end)
        field = _FIELD.fullmatch(text)
        if not field or "\n\n" in text_at(passage, last, start):
            yield from _read_cells(record)
            record = []
        last = end
        if field:
            record.append((field["name"], field["value"]))
        elif not any(first <= start < after for first, after in rows):
            said = f"{said_by.speaker_at(start, text) or ''}: {text}"
            yield Statement(read_tokens(plain(f"{before} {said}" if _GOES_ON.match(text) else said)))
            before = text
    yield from _read_cells(record)


def _read_cells(cells: Sequence[Cell]) -> Iterator[Statement]:
    for column, value in cells[1:]:
        yield Statement(read_tokens(plain(f"{cells[0][1]} | {column} | {value}")), cell=True)
