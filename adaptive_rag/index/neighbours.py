"""Configures and searches the approximate vector index of a large table, and measures its recall."""

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
# Bits per dimension of a code. The best fifty by 3-bit codes miss one in a hundred of the true best ten;
# with 1-bit codes, even the best hundred miss one in ten.
BITS = 3
# COMPARED: how many vectors are compared by their codes. PROBES: the least number of cells searched for them;
# vectors of real text are less clustered than synthetic ones and need more cells. REFINED: how many of the
# best are reordered by their exact vectors, which takes longer than the comparison of codes.
COMPARED = 200_000
PROBES = 150
REFINED = 50
# LanceDB builds up to this many cells in one step, and some of them may be empty. It builds more cells in
# several steps, which fails if too few vectors differ.
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
    # the size of a cell is set, because with a fixed number of cells LanceDB joins cells as rows come in
    cells: dict[str, Any] = {"distance_type": "dot", "target_partition_size": size}
    kind: Any = IvfRq
    return kind(num_bits=BITS, **cells) if dimension % 8 == 0 else IvfSq(**cells)


def _cells(chunks: int) -> int:
    return max(16, math.isqrt(chunks))


def nearest(table: Table, vector: Vectors, limit: int, chunks: int) -> Ids:
    """Return the row ids that the approximate index finds nearest to a vector, best first."""
    search: Any = table.search(vector, vector_column_name=VECTOR)
    cells = _cells(chunks)
    # a search for all chunks searches all cells, of which there are more than `_cells` after many removals
    probes = chunks if limit >= chunks else min(cells, max(PROBES, math.ceil(COMPARED * cells / chunks)))
    search = search.distance_type("dot").nprobes(probes)
    # with a larger limit, the caller reads the exact vectors anyway
    if limit < REFINED:
        search = search.refine_factor(math.ceil(REFINED / limit))
    hits = search.select(["_distance"]).with_row_id(True).limit(limit).to_arrow()
    ids: Ids = hits["_rowid"].to_numpy().astype(np.int64)
    return ids


def near_to(vectors: Vectors) -> Vectors:
    """Return unit vectors near the drawn ones, as a question is near its passage but not equal to it."""
    moved = vectors + np.random.default_rng(0).normal(scale=0.3 / vectors.shape[1] ** 0.5, size=vectors.shape)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def measure_recall(table: Table, chunks: int) -> dict[str, float]:
    """Measure the recall of the approximate index against an exact search.

    The queries are near vectors drawn from the table. The table is read once, in batches. Equal vectors are
    interchangeable.
    """
    generator = np.random.default_rng(0)
    offsets = np.sort(generator.choice(chunks, size=min(RECALL_QUERIES, chunks), replace=False))
    drawn = table.take_offsets(offsets.tolist()).select([VECTOR]).to_arrow()
    queries = near_to(drawn[VECTOR].combine_chunks().flatten().to_numpy().reshape(len(offsets), -1))
    neighbours_of = [nearest(table, query, RECALL_AT, chunks) for query in queries]
    found_scores: list[list[float]] = [[] for _ in queries]
    best_scores: list[Vectors] = []
    stored = table.search().select([VECTOR]).with_row_id(True).limit(chunks)
    for batch in stored.to_batches(ROWS_PER_READ):
        if not batch.num_rows:
            continue
        rows = batch["_rowid"].to_numpy().astype(np.int64)
        scores = queries @ batch[VECTOR].flatten().to_numpy().reshape(len(rows), -1).T
        best_scores.append(-np.partition(-scores, min(RECALL_AT, len(rows)) - 1, axis=1)[:, :RECALL_AT])
        for query_scores, ids, scores_found in zip(scores, neighbours_of, found_scores, strict=True):
            scores_found += query_scores[np.isin(rows, ids)].tolist()
    exact = -np.sort(-np.concatenate(best_scores, axis=1), axis=1)[:, :RECALL_AT]
    shares = [
        np.count_nonzero(np.array(scores_found) >= best[-1] - ROUNDING) / len(best)
        for scores_found, best in zip(found_scores, exact, strict=True)
    ]
    recall = round(float(np.mean(shares)), 4)
    return {"recall_at_10": recall, "queries": len(queries), "chunks": chunks}
