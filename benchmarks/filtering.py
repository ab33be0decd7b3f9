"""What a condition costs, and whether it loses anything: `python -m benchmarks.filtering`.

An index of made-up chunks is searched with and without conditions that keep from one chunk to all of them.
The time is the median of a search of the narrowed index divided by that of the whole one, measured in turn in
one run; recall@10 is by vector, against filtering every chunk first and then taking the ten nearest.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from adaptive_rag.index import Index
from adaptive_rag.where import read_where

DIMENSION = 384
LIMIT = 10
WORDS = [f"word{number}" for number in range(20_000)]


class Drawn(Embeddings):
    """A model that costs nothing: a vector drawn by the text's number, near one of some centres."""

    model = "drawn"

    def __init__(self) -> None:
        self.centres = np.random.default_rng(0).normal(size=(500, DIMENSION))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        first = text.split()[0]
        number = int(first) if first.isdigit() else 0  # the index tries the model with a word of its own
        noise = np.random.default_rng(number).normal(size=DIMENSION)
        drawn: list[float] = (self.centres[number % len(self.centres)] + noise).tolist()
        return drawn


def make_documents(chunks: int) -> list[Document]:
    """Return documents of one chunk each, a hundred to a source, numbered from 0 on."""
    draw = np.random.default_rng(1)
    # word frequencies fall as the rank rises, as in real text
    ranks = draw.zipf(1.3, size=(chunks, 30)) % len(WORDS)
    return [
        Document(
            f"{number} " + " ".join(WORDS[rank] for rank in ranks[number]),
            metadata={"source": f"{number // 100}.txt", "number": number},
        )
        for number in range(chunks)
    ]


def measure(index: Index, model: Drawn, chunks: int, queries: int) -> list[tuple[int, float, float]]:
    """Return for each number of chunks kept the ratio of the times, and recall@10."""
    matrix = _units(model.embed_documents([str(number) for number in range(chunks)]))
    # every search has a text of its own, so that none finds what another one looked up
    texts = (f"{number} {WORDS[number % 300]} {WORDS[number % 7001]}" for number in itertools.count(chunks))
    rows = []
    for kept in [1, 10, chunks // 1000, chunks // 100, chunks // 10, chunks // 2, chunks]:
        narrowed = index.where(read_where(f"number < {kept}"))
        narrowed.search([next(texts)], limit=LIMIT)  # the first search reads what the condition names
        ratios, recalls = [], []
        for _ in range(queries):
            text, other = next(texts), next(texts)
            began = time.perf_counter()
            index.search([other], limit=LIMIT)
            between = time.perf_counter()
            [found] = narrowed.search([text], limit=LIMIT)
            ratios.append((time.perf_counter() - between) / (between - began))
            [vector] = _units(model.embed_documents([text]))
            nearest = set(np.argsort(-(matrix[:kept] @ vector))[:LIMIT].tolist())
            recalls.append(len(nearest & {c["metadata"]["number"] for c in found}) / len(nearest))
        rows.append((kept, float(np.median(ratios)), float(np.mean(recalls))))
    return rows


def _units(vectors: list[list[float]]) -> NDArray[np.float32]:
    matrix = np.asarray(vectors, dtype=np.float32)
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), dtype=np.float32)


def main() -> None:
    """Build the index, measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=30)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kb, model = Path(folder) / "kb", Drawn()
        Index.build(make_documents(asked.chunks), kb, embeddings=model, sentence_vectors=False)
        rows = measure(Index.open(kb, model), model, asked.chunks, asked.queries)
    print("| chunks kept | time, against none | recall@10 |\n|--:|--:|--:|")
    for kept, ratio, recall in rows:
        print(f"| {kept:,} of {asked.chunks:,} | {ratio:.2f} | {recall:.3f} |")


if __name__ == "__main__":
    main()
