"""Vector search in PostgreSQL: exact, or with the approximate index of a large table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adaptive_rag.index.neighbours import RECALL_AT, RECALL_QUERIES, near_to
from adaptive_rag.index.postgres.database import EVERYTHING, Selection
from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    from psycopg import Cursor

# HNSW (Malkov and Yashunin, 2018) over 16-bit numbers, which pgvector supports up to this dimension.
LARGEST_DIMENSION = 4000
# A table of more chunks gets the index. The server compares 50,000 vectors in 25 ms of processor time.
INDEXED_ABOVE = 20_000
# The first version of pgvector that keeps scanning its index until enough rows meet a condition.
PGVECTOR = (0, 8)
# The number of rows that the index search tracks (hnsw.ef_search), and the least number of rows whose exact
# vectors are then compared. Recall is at least .99.
FOLLOWED, COMPARED = 200, 200
# The most memory of the server for building the index, and the memory of one row in addition to its vector.
MEMORY_KB, ROW_BYTES = 1_000_000, 1000


def index_name(table: str) -> str:
    """Return the name of a table's vector index."""
    return f"{table}_nearest"


def can_index(cursor: Cursor[Any], dimension: int) -> bool:
    """Return whether the server can build and search the index."""
    cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    [version] = cursor.fetchone() or ["0"]
    return tuple(map(int, version.split(".")[:2])) >= PGVECTOR and dimension <= LARGEST_DIMENSION


def make_index(cursor: Cursor[Any], table: str, chunks: int, dimension: int) -> None:
    """Build the vector index; later rows are added to it automatically."""
    needed = min(MEMORY_KB, chunks * (2 * dimension + ROW_BYTES) // 1000)
    cursor.execute(
        "SELECT set_config('maintenance_work_mem', %s || 'kB', true) FROM pg_settings "
        "WHERE name = 'maintenance_work_mem' AND setting::bigint < %s",
        [str(needed), needed],
    )
    # parallel workers would build it in shared memory, of which a container has little
    cursor.execute("SET LOCAL max_parallel_maintenance_workers = 0")
    cursor.execute(
        f"CREATE INDEX {index_name(table)} ON {table} "
        f"USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops)"
    )


def nearest_exactly(
    cursor: Cursor[Any], table: str, vector: Vectors, limit: int, selection: Selection = EVERYTHING
) -> list[int]:
    """Return the numbers of the selected chunks nearest to a vector, best first."""
    condition, values = selection
    cursor.execute(
        f"SELECT number FROM {table} WHERE {condition} ORDER BY embedding <#> %(vector)s LIMIT %(limit)s",
        {**values, "vector": vector, "limit": limit},
    )
    return [number for [number] in cursor]


def nearest_roughly(
    cursor: Cursor[Any], table: str, vector: Vectors, limit: int, selection: Selection = EVERYTHING
) -> list[int]:
    """Do what `nearest_exactly` does with the approximate index, and order the results by exact vectors.

    If the index finds too few chunks that meet the condition, all that meet it are compared.
    """
    condition, values = selection
    cursor.execute(
        "SELECT set_config('hnsw.ef_search', %s, true), "
        "set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        [str(FOLLOWED)],
    )
    cast, compared = f"::halfvec({len(vector)})", max(COMPARED, 2 * limit)
    cursor.execute(
        f"WITH rough AS MATERIALIZED (SELECT number, embedding FROM {table} WHERE {condition} "
        f"ORDER BY embedding{cast} <#> %(vector)s{cast} LIMIT %(compared)s) "
        "SELECT number FROM rough ORDER BY embedding <#> %(vector)s",
        {**values, "vector": vector, "compared": compared},
    )
    numbers = [number for [number] in cursor]
    if len(numbers) < compared:
        return nearest_exactly(cursor, table, vector, limit, selection)
    return numbers[:limit]


def recall_of_index(cursor: Cursor[Any], table: str, chunks: int) -> dict[str, float]:
    """Measure the recall of the approximate index, with queries near vectors drawn from the table."""
    cursor.execute(
        f"SELECT embedding FROM {table} ORDER BY md5(langchain_id), langchain_id LIMIT %s", [RECALL_QUERIES]
    )
    queries = near_to(np.array([np.asarray(vector, dtype=np.float32) for [vector] in cursor]))
    found_by_both = [
        {*nearest_exactly(cursor, table, query, RECALL_AT)}
        & {*nearest_roughly(cursor, table, query, RECALL_AT)}
        for query in queries
    ]
    recall = round(float(np.mean([len(numbers) for numbers in found_by_both])) / RECALL_AT, 4)
    return {"recall_at_10": recall, "queries": len(queries), "chunks": chunks}
