"""The approximate vector index of a large table: how it is made, asked, and measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    from lancedb.table import Table

VECTOR = "vector"
# Up to this many chunks the exact product in memory is as fast.
EXACT_UP_TO = 50_000
# The index is trained anew once the table has grown by this factor.
RETRAIN_AT = 2.0
# Bits of a code for each dimension. Among the fifty best by such codes one in a hundred of the ten best is
# missing; by codes of one bit one in ten even among the hundred best.
BITS = 3
# Vectors compared by their code, in so many cells at least: vectors of real text, which are less clustered
# than made-up ones, need the more cells. So many of the best are ordered anew by their exact vectors, which
# costs more than the comparison.
COMPARED = 200_000
PROBES = 150
REFINED = 50
# LanceDB makes more cells than these step by step, which fails where too few vectors differ. These it makes
# at once, and some may be empty.
CELLS_AT_ONCE = 256
RECALL_QUERIES = 64
# What the product of two unit vectors may differ by, computed twice in single precision.
ROUNDING = 1e-6
RECALL_AT = 10
ROWS_PER_READ = 16_384

Ids = NDArray[np.int64]


def index_config(chunks: int, dimension: int, most_cells: int | None = None) -> Any:
    """Return how the vectors of a table are indexed: cells, and within a cell a few bits a dimension.

    RaBitQ (Gao and Long, SIGMOD 2024; with several bits, SIGMOD 2025) codes each rotated dimension; it
    trains in a fraction of the time of product quantisation, and 150 bytes a vector stay in memory. What
    it loses in order, the exact vectors of the best candidates restore.
    """
    from lancedb.index import IvfRq, IvfSq

    size = math.ceil(chunks / min(_cells(chunks), most_cells or chunks))
    # named by their size: LanceDB would join cells that are named by their number as rows come in
    cells: dict[str, Any] = {"distance_type": "dot", "target_partition_size": size}
    kind: Any = IvfRq
    return kind(num_bits=BITS, **cells) if dimension % 8 == 0 else IvfSq(**cells)


def _cells(chunks: int) -> int:
    return max(16, math.isqrt(chunks))


def nearest(table: Table, vector: Vectors, limit: int, chunks: int) -> Ids:
    """Return the rows nearest to a vector, best first, as the approximate index finds them."""
    search: Any = table.search(vector, vector_column_name=VECTOR)
    cells = _cells(chunks)
    probes = min(cells, max(PROBES, math.ceil(COMPARED * cells / chunks)))
    search = search.distance_type("dot").nprobes(probes)
    # of as many as are asked for, who asks reads the exact vectors anyway
    if limit < REFINED:
        search = search.refine_factor(math.ceil(REFINED / limit))
    hits = search.select(["_distance"]).with_row_id(True).limit(limit).to_arrow()
    ids: Ids = hits["_rowid"].to_numpy().astype(np.int64)
    return ids


def near_to(drawn: Vectors) -> Vectors:
    """Return unit vectors, each a little beside one, as a question stands beside its passage, not on it."""
    moved = drawn + np.random.default_rng(0).normal(scale=0.3 / drawn.shape[1] ** 0.5, size=drawn.shape)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def measure_recall(table: Table, chunks: int) -> dict[str, float]:
    """Compare the approximate index with the exact product, over vectors near some drawn from the table.

    The table is read once, in batches. Of vectors that are equal one is as good as another.
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
