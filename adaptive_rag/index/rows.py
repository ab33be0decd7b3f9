"""Reads and checks the rows of a table version, also of a damaged one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptive_rag.errors import IndexDamagedError
from adaptive_rag.index.files import Fragment
from adaptive_rag.index.manifest import Settings
from adaptive_rag.index.neighbours import VECTOR
from adaptive_rag.index.store_errors import explain_read_errors, first_line
from adaptive_rag.index.table import CHUNK_COLUMNS, DOC, ID, SENTENCE_COLUMNS, SENTENCE_DIMENSION, TEXT, VIEWS
from adaptive_rag.ingest.chunking import chunk_id
from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.table import Table

ROW_COLUMNS = [*CHUNK_COLUMNS, DOC, VECTOR, VIEWS, *SENTENCE_COLUMNS]
TEXT_COLUMNS = [*CHUNK_COLUMNS, DOC]
ROWS_PER_READ = 1024
# A batch that cannot be read is halved and tried again, down to this many rows.
FEWEST_ROWS = 16


@dataclass(slots=True)
class Census:
    """The result of a check of rows: the intact rows of each source, and the faults of the others."""

    intact: dict[str, set[str]] = field(default_factory=dict)
    """For each source key, the ids of its intact rows."""
    repeated: Counter[str] = field(default_factory=Counter)
    """For each source key, how many rows repeat the id of another row."""
    faults: Counter[str] = field(default_factory=Counter)
    """The number of faulty rows, by fault."""

    def is_complete(self, doc: str, chunks: int) -> bool:
        """Return whether all chunks of a source are present exactly once."""
        return len(self.intact.get(doc, ())) == chunks and not self.repeated[doc]


def count_rows(table: Table, fragments: Sequence[Fragment], settings: Settings) -> Census:
    """Check each row of some fragments, and return the result."""
    census = Census()
    for fragment in fragments:
        try:
            with explain_read_errors(table.name, "rows"):
                for rows in read_rows(table, fragment.row_ids, ROW_COLUMNS):
                    _count(rows, settings, census)
        except IndexDamagedError as error:
            census.faults[f"those of {next(iter(fragment.files))} cannot be read ({first_line(error)})"] += 1
    return census


def read_rows(table: Table, row_ids: Sequence[int], columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield rows in batches, without the deleted ones."""
    for start in range(0, len(row_ids), ROWS_PER_READ):
        batch = list(row_ids[start : start + ROWS_PER_READ])
        yield table.take_row_ids(batch).select(list(columns)).to_arrow()


def proven_rows(table: Table, fragments: Sequence[Fragment], docs: Collection[str]) -> dict[str, list[Any]]:
    """Return, by source key, the rows whose text is proven by their id, in the order of the text.

    Also reads damaged files, which may still be readable in part, or with changed content.
    """
    rows_of: dict[str, dict[str, Any]] = {doc: {} for doc in docs}
    for fragment in fragments:
        for row in _readable_rows(table, fragment.row_ids):
            if row[DOC] in rows_of and _is_proven(row) and not _fault_of_text(row):
                rows_of[row[DOC]][row[ID]] = row
    return {
        doc: sorted(rows.values(), key=lambda row: (row["start"], row["end"]))
        for doc, rows in rows_of.items()
    }


def _readable_rows(table: Table, row_ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    try:
        with explain_read_errors(table.name, "rows"):
            rows = [row for batch in read_rows(table, row_ids, TEXT_COLUMNS) for row in batch.to_pylist()]
        yield from rows
    except IndexDamagedError:
        half = len(row_ids) // 2
        if half >= FEWEST_ROWS:
            yield from _readable_rows(table, row_ids[:half])
            yield from _readable_rows(table, row_ids[half:])


def _count(rows: pa.Table, settings: Settings, census: Census) -> None:
    vectors = rows[VECTOR].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    finite = np.isfinite(vectors.reshape(-1, settings.dimension)).all(axis=1)
    for row, is_finite in zip(rows.drop_columns([VECTOR]).to_pylist(), finite, strict=True):
        fault = "a vector is not finite" if not is_finite else _fault_of(row, settings)
        ids = census.intact.setdefault(row[DOC], set())
        if fault:
            census.faults[fault] += 1
        elif row[ID] in ids:
            census.repeated[row[DOC]] += 1
            census.faults["an id occurs twice"] += 1
        else:
            ids.add(row[ID])


def _fault_of(row: dict[str, Any], settings: Settings) -> str:
    """Return what is wrong with a row, or an empty string."""
    if fault := _fault_of_text(row):
        return fault
    if row[VIEWS] is not None and not _is_matrix(row[VIEWS], 2 * settings.dimension):
        return "the vectors of a question and its answer are damaged"
    return _fault_of_sentences(row) if settings.sentence_vectors else ""


def _fault_of_text(row: dict[str, Any]) -> str:
    try:
        if not isinstance(json.loads(row["metadata"] or "{}"), dict):
            return "metadata are not a JSON object"
    except ValueError:
        return "metadata cannot be read"
    # a text with a lone surrogate does not match its id: it was stored with a question mark in its place
    if not _is_proven(row) and "?" not in row[TEXT]:
        return "a text does not match its id"
    return ""


def _is_proven(row: dict[str, Any]) -> bool:
    return bool(row[ID] == chunk_id(row["source"], row["start"], row["end"], row[TEXT]))


def _fault_of_sentences(row: dict[str, Any]) -> str:
    stored_spans, stored_vectors = (row[name] or b"" for name in SENTENCE_COLUMNS)
    if len(stored_spans) % 16 or len(stored_vectors) != len(stored_spans) // 16 * SENTENCE_DIMENSION:
        return "the numbers of sentences and of their vectors differ"
    spans = np.frombuffer(stored_spans, dtype=np.int64).reshape(-1, 2)
    inside = (row["start"] <= spans[:, 0]) & (spans[:, 0] <= spans[:, 1]) & (spans[:, 1] <= row["end"])
    return "" if inside.all() else "sentences are outside the text"


def _is_matrix(stored: bytes, count: int) -> bool:
    if len(stored) != 4 * count:
        return False
    vectors: Vectors = np.frombuffer(stored, dtype=np.float32)
    return bool(np.isfinite(vectors).all())
