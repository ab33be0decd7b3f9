"""The nearest chunks in PostgreSQL: exactly, or by the approximate index of a large table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptive_rag.index.neighbours import RECALL_AT, RECALL_QUERIES, near_to
from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    from psycopg import Cursor

# HNSW (Malkov and Yashunin, 2018) over numbers of 16 bits, which pgvector links up to this dimension.
LARGEST_DIMENSION = 4000
# A table of more chunks gets the index. The server compares 50,000 vectors in 25 ms of the processor's time.
INDEXED_ABOVE = 20_000
# The first version that goes on through its index until enough rows fulfil a condition.
PGVECTOR = (0, 8)
# Rows that are followed, and rows whose exact vectors are compared then, at least: recall .99 and more.
FOLLOWED, COMPARED = 200, 200
# What making the index may take of the server's memory, and what one row of it takes beside its vector.
MEMORY_KB, ROW_BYTES = 1_000_000, 1000


def index_name(table: str) -> str:
    """Return the name of a table's vector index."""
    return f"{table}_nearest"


def can_index(cursor: Cursor[Any], dimension: int) -> bool:
    """Tell whether the server can make and follow the index."""
    cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    [version] = cursor.fetchone() or ["0"]
    return tuple(map(int, version.split(".")[:2])) >= PGVECTOR and dimension <= LARGEST_DIMENSION


def make_index(cursor: Cursor[Any], table: str, chunks: int, dimension: int) -> None:
    """Make the vector index; it takes in later rows by itself."""
    needed = min(MEMORY_KB, chunks * (2 * dimension + ROW_BYTES) // 1000)
    cursor.execute(
        "SELECT set_config('maintenance_work_mem', %s || 'kB', true) FROM pg_settings "
        "WHERE name = 'maintenance_work_mem' AND setting::bigint < %s",
        [str(needed), needed],
    )
    # processes that make it together do so in shared memory, of which a container has little
    cursor.execute("SET LOCAL max_parallel_maintenance_workers = 0")
    cursor.execute(
        f"CREATE INDEX {index_name(table)} ON {table} "
        f"USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops)"
    )


def nearest_exactly(
    cursor: Cursor[Any],
    table: str,
    vector: Vectors,
    limit: int,
    chosen: str = "true",
    values: Mapping[str, Any] = MappingProxyType({}),
) -> list[int]:
    """Return the numbers of the chunks nearest to a vector among those chosen, best first."""
    asked = {**values, "vector": vector, "limit": limit}
    cursor.execute(
        f"SELECT number FROM {table} WHERE {chosen} ORDER BY embedding <#> %(vector)s LIMIT %(limit)s", asked
    )
    return [number for [number] in cursor]


def nearest_roughly(
    cursor: Cursor[Any],
    table: str,
    vector: Vectors,
    limit: int,
    chosen: str = "true",
    values: Mapping[str, Any] = MappingProxyType({}),
) -> list[int]:
    """Return what `nearest_exactly` does, as the index finds it, ordered by the exact vectors.

    Where so few fulfil the condition that the index gives up, all are compared.
    """
    cursor.execute(
        "SELECT set_config('hnsw.ef_search', %s, true), "
        "set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        [str(FOLLOWED)],
    )
    half, compared = f"::halfvec({len(vector)})", max(COMPARED, 2 * limit)
    cursor.execute(
        f"WITH rough AS MATERIALIZED (SELECT number, embedding FROM {table} WHERE {chosen} "
        f"ORDER BY embedding{half} <#> %(vector)s{half} LIMIT %(compared)s) "
        "SELECT number FROM rough ORDER BY embedding <#> %(vector)s",
        {**values, "vector": vector, "compared": compared},
    )
    found = [number for [number] in cursor]
    if len(found) < compared:
        return nearest_exactly(cursor, table, vector, limit, chosen, values)
    return found[:limit]


def recall_of_index(cursor: Cursor[Any], table: str, chunks: int) -> dict[str, float]:
    """Compare the approximate index with the exact order, over vectors near some that are drawn."""
    cursor.execute(
        f"SELECT embedding FROM {table} ORDER BY md5(langchain_id), langchain_id LIMIT %s", [RECALL_QUERIES]
    )
    queries = near_to(np.array([np.asarray(vector, dtype=np.float32) for [vector] in cursor]))
    both = [
        {*nearest_exactly(cursor, table, query, RECALL_AT)}
        & {*nearest_roughly(cursor, table, query, RECALL_AT)}
        for query in queries
    ]
    recall = round(float(np.mean([len(found) for found in both])) / RECALL_AT, 4)
    return {"recall_at_10": recall, "queries": len(queries), "chunks": chunks}
