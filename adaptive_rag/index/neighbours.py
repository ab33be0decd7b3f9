"""The approximate vector index of a large table: configuration, search and recall."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    from lancedb.table import Table

VECTOR = "vector"
# Up to this many chunks, an exact product in memory is as fast.
EXACT_UP_TO = 50_000
# The index is retrained once the table has grown by this factor.
RETRAIN_AT = 2.0
# Bits per dimension of a code. The fifty best by 3-bit codes miss one in a hundred of the true ten best;
# with 1-bit codes, even the hundred best miss one in ten.
BITS = 3
# COMPARED: vectors compared by their code. PROBES: the least number of cells searched for them; vectors of
# real text are less clustered than synthetic ones and need more cells. REFINED: how many of the best are
# reordered by their exact vectors, which costs more than the comparison.
COMPARED = 200_000
PROBES = 150
REFINED = 50
# LanceDB builds more cells than this step by step, which fails if too few vectors differ. It builds up to
# this many at once, and some of them may be empty.
CELLS_AT_ONCE = 256
RECALL_QUERIES = 64
# Two computations of the same product of unit vectors in single precision may differ by this much.
ROUNDING = 1e-6
RECALL_AT = 10
ROWS_PER_READ = 16_384

Ids = NDArray[np.int64]


def index_config(chunks: int, dimension: int, most_cells: int | None = None) -> Any:
    """Return the configuration of the vector index: cells, with a few bits per dimension in each.

    RaBitQ (Gao and Long, SIGMOD 2024; with several bits, SIGMOD 2025) codes each rotated dimension. It
    trains in a fraction of the time of product quantisation and keeps 150 bytes per vector in memory.
    The exact vectors of the best candidates then correct their order.
    """
    from lancedb.index import IvfRq, IvfSq

    size = math.ceil(chunks / min(_cells(chunks), most_cells or chunks))
    # set by size: if the number of cells were given instead, LanceDB would join cells as rows come in
    cells: dict[str, Any] = {"distance_type": "dot", "target_partition_size": size}
    kind: Any = IvfRq
    return kind(num_bits=BITS, **cells) if dimension % 8 == 0 else IvfSq(**cells)


def _cells(chunks: int) -> int:
    return max(16, math.isqrt(chunks))


def nearest(table: Table, vector: Vectors, limit: int, chunks: int) -> Ids:
    """Return the row ids that the approximate index finds nearest to a vector, best first."""
    search: Any = table.search(vector, vector_column_name=VECTOR)
    cells = _cells(chunks)
    # for all chunks, all cells are searched: after many removals there are more of them than `_cells` says
    probes = chunks if limit >= chunks else min(cells, max(PROBES, math.ceil(COMPARED * cells / chunks)))
    search = search.distance_type("dot").nprobes(probes)
    # for larger limits the caller reads the exact vectors anyway
    if limit < REFINED:
        search = search.refine_factor(math.ceil(REFINED / limit))
    hits = search.select(["_distance"]).with_row_id(True).limit(limit).to_arrow()
    ids: Ids = hits["_rowid"].to_numpy().astype(np.int64)
    return ids


def near_to(drawn: Vectors) -> Vectors:
    """Return unit vectors near the drawn ones: a question too is near its passage, not equal to it."""
    moved = drawn + np.random.default_rng(0).normal(scale=0.3 / drawn.shape[1] ** 0.5, size=drawn.shape)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def measure_recall(table: Table, chunks: int) -> dict[str, float]:
    """Measure the recall of the approximate index against the exact product.

    The queries are vectors near some drawn from the table. The table is read once, in batches. Equal
    vectors are interchangeable.
    """
    generator = np.random.default_rng(0)
    offsets = np.sort(generator.choice(chunks, size=min(RECALL_QUERIES, chunks), replace=False))
    taken = table.take_offsets(offsets.tolist()).select([VECTOR]).to_arrow()
    queries = near_to(taken[VECTOR].combine_chunks().flatten().to_numpy().reshape(len(offsets), -1))
    found = [nearest(table, query, RECALL_AT, chunks) for query in queries]
    found_scores: list[list[float]] = [[] for _ in queries]
    best_scores: list[Vectors] = []
    stored = table.search().select([VECTOR]).with_row_id(True).limit(chunks)
    for batch in stored.to_batches(ROWS_PER_READ):
        if not batch.num_rows:
            continue
        rows = batch["_rowid"].to_numpy().astype(np.int64)
        scores = queries @ batch[VECTOR].flatten().to_numpy().reshape(len(rows), -1).T
        best_scores.append(-np.partition(-scores, min(RECALL_AT, len(rows)) - 1, axis=1)[:, :RECALL_AT])
        for of_query, ids, known in zip(scores, found, found_scores, strict=True):
            known += of_query[np.isin(rows, ids)].tolist()
    exact = -np.sort(-np.concatenate(best_scores, axis=1), axis=1)[:, :RECALL_AT]
    shares = [
        np.count_nonzero(np.array(known) >= truth[-1] - ROUNDING) / len(truth)
        for known, truth in zip(found_scores, exact, strict=True)
    ]
    recall = round(float(np.mean(shares)), 4)
    return {"recall_at_10": recall, "queries": len(queries), "chunks": chunks}
