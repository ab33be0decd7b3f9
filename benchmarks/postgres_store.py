"""An index in PostgreSQL beside one in a folder, and beside LangChain's own store in the same database.

    python -m benchmarks.postgres_store --data ../shared/data/factual_squad

All hold the same passages with the same vectors, ready made, so that embedding takes no time on any side, and
each question is asked of all in turn, in one run. Ours are asked as the retrieve step does. PGVectorStore is
asked as its documentation sets up hybrid search, with its own fusion: as its defaults are (4 hits by vector,
4 by words), and with as many hits as ours reads. It is given each question's words anew: left alone it goes
on searching the words of the first (langchain-postgres 0.0.19). The PostgreSQL is the one that the tests
start. Times are ratios to the folder's.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.context import Context
from adaptive_rag.evaluation.corpora import WHOLE_PASSAGE
from adaptive_rag.evaluation.datasets import Dataset, load_dataset
from adaptive_rag.index import Index
from adaptive_rag.index.postgres.source import PostgresIndex
from adaptive_rag.ingest import SourceText
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.search.search import POOL, search
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Query
from benchmarks.scale_sides import ANALYSIS, TOP, ndcg
from tests.postgres_server import empty_database, serving_postgres

Ask = Callable[[str], list[str]]


class Remembering(Embeddings):
    """The embedded model, which embeds each text once."""

    model = "remembering"

    def __init__(self) -> None:
        self._known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, load_minilm().encode(missing).tolist(), strict=True))
        return [self._known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embed_documents([text])[0]


def ask_ours(source: ChunkSource) -> Ask:
    """Return how an index of ours is asked: as the retrieve step does."""
    context = Context()

    def ask(text: str) -> list[str]:
        found, _ = search(source, [Query(text=text)], context, ANALYSIS)
        return [candidate["source"] for candidate in found[:TOP]]

    return ask


def ask_langchain(address: str, model: Embeddings, data: Dataset) -> dict[str, Ask]:
    """Fill LangChain's store, and return how it is asked."""
    from langchain_postgres import PGEngine, PGVectorStore
    from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion
    from psycopg import AsyncConnection

    engine = PGEngine.from_connection_string(
        "postgresql+psycopg://", async_creator=lambda: AsyncConnection.connect(address)
    )
    column = {"tsv_column": "content_tsv"}
    engine.init_vectorstore_table("plain", 384, hybrid_search_config=HybridSearchConfig(**column))
    store = PGVectorStore.create_sync(
        engine, model, "plain", hybrid_search_config=HybridSearchConfig(**column)
    )
    texts = [passage["text"] for passage in data.passages]
    store.add_texts(texts, [{"source": passage["source"]} for passage in data.passages])
    store.apply_hybrid_search_index()

    def asking(**settings: Any) -> Ask:
        def ask(text: str) -> list[str]:
            config = HybridSearchConfig(**column, **settings)
            found = store.similarity_search(text, k=TOP, hybrid_search_config=config)
            return [document.metadata["source"] for document in found]

        return ask

    deep = {"primary_top_k": POOL, "secondary_top_k": POOL}
    return {
        "PGVectorStore, its defaults": asking(),
        "PGVectorStore, weighted sum": asking(**deep),
        "PGVectorStore, reciprocal ranks": asking(**deep, fusion_function=reciprocal_rank_fusion),
    }


def main() -> None:
    """Fill all, ask all, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="a folder in BEIR's layout")
    data, model = load_dataset(parser.parse_args().data), Remembering()
    model.embed_documents([question.text for question in data.questions])
    documents = [SourceText(p["source"], p["text"], p["id"], whole=True) for p in data.passages]
    made: dict[str, Any] = {"embeddings": model, "sentence_vectors": False, "chunk_overlap": 0}
    with tempfile.TemporaryDirectory() as folder, serving_postgres() as server:
        address, seconds = empty_database(server), {}
        for place in (folder + "/kb", address):
            # the first run embeds, and its time says nothing of where the rows go
            report = Index.build(documents, place, chunk_size=WHOLE_PASSAGE, **made)
            seconds[place] = report.seconds - report.embedding_seconds
        sides = {
            "folder": ask_ours(Index.open(folder + "/kb", model)),
            "PostgreSQL": ask_ours(PostgresIndex.open(address, model)),
            **ask_langchain(address, model, data),
        }
        times: dict[str, list[float]] = {name: [] for name in sides}
        quality: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        order = list(sides)
        # no side stores vectors of sentences: whoever asks first would embed them for all
        first = ask_ours(Index.open(folder + "/kb", model))
        for question in data.questions:
            first(question.text)
            order = order[1:] + order[:1]
            for name in order:
                began = time.perf_counter()
                found = sides[name](question.text)
                times[name].append(time.perf_counter() - began)
                share = len(question.gold.keys() & set(found)) / len(question.gold)
                quality[name].append((ndcg(found, question.gold), share))
    print(f"{data.name}: {len(data.passages):,} passages, {len(data.questions)} questions")
    ratio = seconds[address] / seconds[folder + "/kb"]
    print(f"Writing into PostgreSQL took {ratio:.1f} times as long as into a folder.\n")
    print(f"The folder's median is {1000 * np.median(times['folder'][20:]):.1f} ms.\n")
    print("| | nDCG@10 | recall@10 | time, median | time, 95 % |\n|---|--:|--:|--:|--:|")
    # the first questions read what later ones find in memory
    base = np.percentile(times["folder"][20:], (50, 95))
    for name in sides:
        p50, p95 = np.percentile(times[name][20:], (50, 95)) / base
        found_, share = np.mean(quality[name], axis=0)
        print(f"| {name} | {found_:.3f} | {share:.3f} | {p50:.2f} | {p95:.2f} |")


if __name__ == "__main__":
    main()
