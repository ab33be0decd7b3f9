"""The table of chunks in PostgreSQL: its columns and its writer. PGVectorStore can open it too."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from adaptive_rag.errors import import_extra
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.postgres import neighbours
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.table import TableRow, from_arrow
from adaptive_rag.ingest.chunking import chunk_id
from adaptive_rag.state import Chunk
from adaptive_rag.text.words import without_accents
from adaptive_rag.where import fold, kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from psycopg import Cursor

# Columns that PGVectorStore does not have; it has the id, the content with its words, the vector and the
# metadata.
OWN_COLUMNS = {
    "source": "text",
    "doc": "text",
    "page": "integer",
    "section": "text",
    "start_index": "bigint",
    "end_index": "bigint",
    "words": "integer",
    "fields": "jsonb",
    "kinds": "jsonb",
    "views": "bytea",
    "sentence_spans": "bytea",
    "sentence_vectors": "bytea",
}
COLUMNS = {
    "langchain_id": "text",
    "content": "text",
    "content_tsv": "tsvector",
    "embedding": "vector",
    "langchain_metadata": "json",
    **OWN_COLUMNS,
}
# These columns are not nullable, so PGVectorStore can read the table, but cannot add rows without a manifest.
REQUIRED = ("source", "doc", "start_index", "end_index", "words", "fields", "kinds", "number")
# Fields that depend only on the source. They are not stored with each chunk, because the other names of a
# source are in the manifest.
SOURCE_FIELDS = ("source", "file", "kind")
LANGUAGE = "pg_catalog.english"
# Selects the words of each chunk, with their number of occurrences and the chunk's number of words.
WORD_ROWS = (
    'SELECT lexeme COLLATE "C" AS lexeme, number, cardinality(positions)::smallint AS times, words '
    "FROM {table}, unnest(content_tsv)"
)


class DatabaseWriter:
    """Appends and replaces rows in the open transaction; writing the manifest commits them."""

    def __init__(self, database: Database, name: str, version: int | None, dimension: int) -> None:
        self.name = name
        self._database = database
        self._table, self._words = database.chunks_of(name), database.words_of(name)
        self._version, self._dimension = version or 0, dimension
        self._has_indexes = version is not None
        if version is None:
            self._create_table(dimension)

    @property
    def version(self) -> int:
        """Return the version, which every write increases by one."""
        return self._version

    def add(self, rows: Sequence[TableRow]) -> None:
        """Append rows; a row with the id of an existing one replaces it."""
        computed = {
            "content_tsv": "made",
            "words": "coalesce((SELECT sum(cardinality(positions)) FROM unnest(made)), 0)",
        }
        values = [computed.get(name, f"%({name})s::{kind}") for name, kind in COLUMNS.items()]
        updates = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "langchain_id")
        statement = (
            f"INSERT INTO {self._table} ({', '.join(COLUMNS)}) SELECT {', '.join(values)} "
            f"FROM to_tsvector('{LANGUAGE}', %(divided)s) AS made "
            f"ON CONFLICT (langchain_id) DO UPDATE SET {updates}"
        )
        columns = _to_columns(rows)
        self._write(statement, columns)
        self._add_words([row["langchain_id"] for row in columns])

    def copy(self, rows: pa.Table) -> None:
        """Append the rows of an Arrow table, which the workers of a cluster make."""
        self.add(from_arrow(rows))

    def copy_renamed(self, names: Mapping[str, tuple[str, str]]) -> None:
        """Append copies of chunks under another source; `names` maps old keys to (source, new key)."""
        copied_columns = ", ".join(name for name in COLUMNS if name not in ("langchain_id", "source", "doc"))
        for doc, (source, new_doc) in names.items():
            columns = f"langchain_id, start_index, end_index, content FROM {self._table}"
            chunks = self._run(f"SELECT {columns} WHERE doc = %s", [doc])
            renamed = [(chunk_id(source, *place), _clean(source), new_doc, id_) for id_, *place in chunks]
            self._write(
                f"INSERT INTO {self._table} (langchain_id, source, doc, {copied_columns}) "
                f"SELECT %s, %s, %s, {copied_columns} FROM {self._table} WHERE langchain_id = %s",
                renamed,
            )
            self._add_words([id_ for id_, *_ in renamed])

    def remove(self, docs: Sequence[str]) -> None:
        """Remove the chunks of sources, by key."""
        if docs and self._has_indexes:
            self._write(
                f"DELETE FROM {self._words} AS held USING (SELECT number, lexeme FROM {self._table}, "
                "unnest(content_tsv) WHERE doc = ANY(%s)) AS gone "
                "WHERE (held.lexeme, held.number) = (gone.lexeme, gone.number)",
                [[list(docs)]],
            )
        if docs:
            self._write(f"DELETE FROM {self._table} WHERE doc = ANY(%s)", [[list(docs)]])

    def count(self) -> int:
        """Return how many rows the table holds after the last write."""
        [[number]] = self._run(f"SELECT count(*) FROM {self._table}")
        return int(number)

    def index_words(self) -> None:
        """Create the indexes of a new table over its words, the fields of its chunks, and their sources.

        BM25 reads a separate table with the chunks of each word, through an index that covers all its
        columns. Unnesting the words of chunks at each search took forty times as long.
        """
        if self._has_indexes:
            return
        self._run(f"CREATE UNIQUE INDEX ON {self._table} (number)")
        for way in ("gin (content_tsv)", "gin (fields jsonb_path_ops)", "btree (doc)", "btree (source)"):
            self._run(f"CREATE INDEX ON {self._table} USING {way}")
        self._run(f"CREATE TABLE {self._words} AS {WORD_ROWS.format(table=self._table)} ORDER BY 1, 2")
        self._run(f"ALTER TABLE {self._words} ADD PRIMARY KEY (lexeme, number) INCLUDE (times, words)")
        self._has_indexes = True

    def optimize(self, keep_since: float) -> None:
        """Update the server's statistics for query planning; the server removes replaced rows by itself."""
        self.index_words()
        self._run(f"ANALYZE {self._table}, {self._words}")

    def index_vectors(self) -> dict[str, float] | None:
        """Build the vector index of a large table if it is missing, and return its recall; otherwise None."""
        from pgvector.psycopg import register_vector

        chunks, writing = self.count(), self._database.writing
        if chunks <= neighbours.INDEXED_ABOVE:
            return None
        register_vector(writing)
        with self._database.translating_errors(), writing.cursor(binary=True) as cursor:
            cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [neighbours.index_name(self._table)])
            if cursor.fetchone() == (True,) or not neighbours.can_index(cursor, self._dimension):
                return None
            neighbours.make_index(cursor, self._table, chunks, self._dimension)
            return neighbours.recall_of_index(cursor, self._table, chunks)

    def drop_other_tables(self) -> None:
        """Drop the tables of earlier rebuilds, except the last one, which may still be read; then vacuum."""
        for number in range(1, int(self.name.rpartition("-")[2]) - 1):
            name = f"chunks-{number}"
            for table in (self._database.chunks_of(name), self._database.words_of(name)):
                self._run(f"DROP TABLE IF EXISTS {table}")
        with self._database.translating_errors():
            self._database.writing.commit()
            with closing(self._database.connect()) as connection:
                # without it, a search would visit the row of each word found in the index, or read all rows
                connection.execute(f"VACUUM {self._words}")

    def _create_table(self, dimension: int) -> None:
        """Create the table as PGVectorStore does, in place of one that an interrupted run left."""
        langchain = import_extra("langchain_postgres", extra="postgres", purpose="An index in PostgreSQL")
        from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig
        from psycopg import AsyncConnection
        from sqlalchemy.pool import NullPool

        self._run("CREATE EXTENSION IF NOT EXISTS vector")
        [[schema]] = self._run("SELECT current_schema()")
        with self._database.translating_errors():
            self._database.writing.commit()
            engine = langchain.PGEngine.from_connection_string(
                "postgresql+psycopg://",
                async_creator=lambda: AsyncConnection.connect(self._database.address),
                poolclass=NullPool,
            )
            engine.init_vectorstore_table(
                self._table,
                dimension,
                schema_name=schema or "public",
                metadata_columns=[
                    langchain.Column(name, type_, nullable=name not in REQUIRED)
                    for name, type_ in {**OWN_COLUMNS, "number": "serial"}.items()
                ],
                id_column=langchain.Column("langchain_id", "text", nullable=False),
                overwrite_existing=True,
                hybrid_search_config=HybridSearchConfig(),
            )
        # vectors stored in the row are compared in a tenth of the time of vectors stored outside the table
        self._run(f"ALTER TABLE {self._table} ALTER embedding SET STORAGE MAIN")

    def _add_words(self, ids: Sequence[str]) -> None:
        """Add the words of chunks, by id; for a new table, `index_words` adds all words at once."""
        if self._has_indexes:
            word_rows = WORD_ROWS.format(table=self._table)
            # an id belongs to exactly one text: if the chunk existed before, so did its words
            condition = "langchain_id = ANY(%s) ON CONFLICT DO NOTHING"
            self._run(f"INSERT INTO {self._words} {word_rows} WHERE {condition}", [list(ids)])

    def _write(self, statement: str, rows: Sequence[Any]) -> None:
        with self._database.translating_errors(), self._database.writing.cursor() as cursor:
            cursor.executemany(statement, rows)
        self._version += 1

    def _run(self, statement: str, values: Sequence[Any] | None = None) -> Cursor[Any]:
        with self._database.translating_errors():
            return self._database.writing.execute(statement, values)


def _to_columns(rows: Sequence[TableRow]) -> list[dict[str, Any]]:
    """Return the values of rows by column."""
    from psycopg.types.json import Json, Jsonb

    chunks = [_clean(row.chunk) for row in rows]
    field_values = _field_values(chunks)
    return [
        {
            "langchain_id": chunk["id"],
            "content": chunk["text"],
            "divided": divide(chunk["text"]),
            "embedding": str(row.vector.tolist()),
            "langchain_metadata": Json(chunk["metadata"]),
            "source": chunk["source"],
            "doc": row.doc,
            "page": chunk["page"],
            "section": chunk["section"],
            "start_index": chunk["start"],
            "end_index": chunk["end"],
            "fields": Jsonb(
                {name: [fold(str(value)) for value in values] for name, values in fields.items()}
            ),
            "kinds": Jsonb({name: kind_of(values) for name, values in fields.items()}),
            "views": None if row.views is None else row.views.tobytes(),
            "sentence_spans": row.sentence_spans,
            "sentence_vectors": row.sentence_vectors,
        }
        for row, chunk, fields in zip(rows, chunks, field_values, strict=True)
    ]


def divide(text: str) -> str:
    """Return a text without accents and with blanks for signs, as LanceDB reads it.

    Otherwise PostgreSQL finds "input/output" and addresses only as a whole, and "17" not in "00-17".
    """
    return re.sub(r"[!-/:-@\[-`{-~]", " ", without_accents(text))


def _field_values(chunks: Sequence[Chunk]) -> list[dict[str, list[Any]]]:
    """Return the values of each chunk's fields, except those that depend only on its source."""
    fields = Fields.of_chunks(chunks)
    values_of: list[dict[str, list[Any]]] = [{} for _ in chunks]
    for name in fields.kinds():
        if name not in SOURCE_FIELDS:
            for position, value in fields.known_values(name):
                values_of[position][name] = value if isinstance(value, list) else [value]
    return values_of


def _clean(value: Any) -> Any:
    """Return plain data that PostgreSQL can store: without null characters, lone surrogates or NaN."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_clean(str(name)): _clean(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, int | float | None) else str(value)
