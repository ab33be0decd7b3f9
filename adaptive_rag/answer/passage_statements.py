"""Reads the statements of a passage that claims are compared with: sentences and table cells."""

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

# A line of a record: "stock: 7"
_FIELD = re.compile(r"(?P<name>[^\W\d_][\w /()-]{0,30}): (?P<value>\S.*)")
# The beginning of a sentence that refers to the one before it: "They must be taken by June."
_REFERS_BACK = re.compile(
    r"\W*(?:(?:he|she|it|they|this|these|that|those|his|her|its|their)\b|\w+ (?:he|she|it|they)\b)", re.I
)


def read_statements(passage: Candidate, sentences: Sentences) -> Iterator[Statement]:
    """Yield the statements of a passage, in the plain text that the model read."""
    row_spans: list[tuple[int, int]] = []
    for table in find_tables(passage["text"], tuple(passage["metadata"].get("columns", ()))):
        for row in table.rows:
            row_spans.append((passage["start"] + row.start, passage["start"] + row.end))
            yield from _read_cells(name_cells(row.cells, table.columns))
    record: list[Cell] = []
    previous_text, previous_end, contributions = "", passage["start"], Contributions(passage)
    for start, end in sentences.spans.tolist():
        text = text_at(passage, start, end)
        field = _FIELD.fullmatch(text)
        if not field or "\n\n" in text_at(passage, previous_end, start):
            yield from _read_cells(record)
            record = []
        previous_end = end
        if field:
            record.append((field["name"], field["value"]))
        elif not any(row_start <= start < row_end for row_start, row_end in row_spans):
            statement = f"{contributions.speaker_at(start, end) or ''}: {text}"
            if _REFERS_BACK.match(text):
                statement = f"{previous_text} {statement}"
            yield Statement(read_tokens(plain(statement)))
            previous_text = text
    yield from _read_cells(record)


def _read_cells(cells: Sequence[Cell]) -> Iterator[Statement]:
    """Yield a statement for each cell after the first, which names the row."""
    for column, value in cells[1:]:
        yield Statement(read_tokens(plain(f"{cells[0][1]} | {column} | {value}")), is_cell=True)
