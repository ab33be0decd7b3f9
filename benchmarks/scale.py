"""Measure indexes of growing size: build time, disk, memory, the times of searches and of questions, recall.

    python -m benchmarks.scale --sizes 10000 100000 1000000 [--questions 150] [--filters] [--keep FOLDER]

The corpus is synthetic. Words follow Zipf's law around topics; the most frequent ones are stop words, which
full-text search drops. Vectors lie in clusters. Each question has one chunk that answers it. The vectors are
computed in advance, so that only a whole question embeds its text. Each index is asked in its own process.
`--filters` also measures searches with conditions, each next to the same searches without. `--keep` stores
the indexes for the next run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from adaptive_rag import AdaptiveRAG
from adaptive_rag.context import Context
from adaptive_rag.index import Index
from adaptive_rag.index.files import seal_files
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import Manifest, Settings, SourceRecord, chunk_key, complete_manifest
from adaptive_rag.index.run import ROWS_PER_WRITE
from adaptive_rag.index.table import SENTENCE_DIMENSION, TableRow, TableWriter, pack_sentences
from adaptive_rag.models.embeddings import embedding_name
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.search.search import POOL, search
from adaptive_rag.source import Sentences
from adaptive_rag.state import Query, QueryAnalysis
from adaptive_rag.where import read_where

Array = NDArray[Any]

ROOT = Path(__file__).parents[1]
DIMENSION, CHUNK_WORDS, VOCABULARY, SLICE_SIZE = 384, 90, 50_000, 20_000
CHUNKS_PER_SOURCE, SENTENCES_PER_CHUNK, TOP = 50, 6, 10
# The most frequent words of English text, in order. They make up 44 % of its tokens, as they do here.
STOP_WORDS = """
    the of to and a in you is that for it as on are with be was i by your or have not if this from an at can
    they but will he which their more there his all has
""".split()
# Conditions that keep 1, 10 and 50 % of the chunks, spread over the table -> their first and last page.
CONDITIONS = {"page = 7": (7, 7), "page <= 10": (1, 10), "page <= 50": (1, 50)}

# The analysis of every question; in the search it affects only the weights of the two scores.
ANALYSIS = QueryAnalysis(
    type="factual",
    probabilities={"factual": 1.0, "analytical": 0.0, "opinion": 0.0, "contextual": 0.0},
    intent="factual",
    complexity="intermediate",
    entities=[],
    ontology_terms={},
    domain_relevance=0.5,
    confidence=0.9,
    factors={},
    decided_by="local",
    reason="",
    alternatives=[],
)


class PrecomputedEmbeddings(Embeddings):
    """Embeddings computed in advance; with `embeds`, a text also takes the time of the default model."""

    def __init__(self, vectors: dict[str, Array], embeds: bool = False) -> None:
        self.model, self.dimension = "ready-made", DIMENSION
        self._vectors, self._embeds = vectors, embeds

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        embedded = load_minilm().encode([text])[0] if self._embeds else None
        vector = self._vectors.get(text, embedded)
        if vector is None:
            raise KeyError(f"There is no vector for {text!r}.")
        return vector.tolist()  # type: ignore[no-any-return]


def draw_chunks(size: int) -> Iterator[tuple[Array, Array, Array]]:
    """Yield, for one slice of the chunks after another, their words, unit vectors and topic centres."""
    rng = np.random.default_rng(size)
    centres = normalise(rng.normal(size=(max(50, size // 250), DIMENSION)))
    vocabulary = np.array([*STOP_WORDS, *(f"q{n}x" for n in range(len(STOP_WORDS), VOCABULARY))])
    frequency = np.cumsum(1 / np.arange(1, VOCABULARY + 1) ** 1.05)
    for start in range(0, size, SLICE_SIZE):
        count = min(SLICE_SIZE, size - start)
        topics = rng.integers(0, len(centres), count)
        noise = 0.05 * rng.standard_normal((count, DIMENSION), dtype=np.float32)
        word_numbers = np.searchsorted(frequency, rng.random((count, CHUNK_WORDS)) * frequency[-1])
        # The first 15 words of a chunk come from the 60 words of its topic.
        word_numbers[:, :15] = (topics[:, None] * 37 + word_numbers[:, :15] % 60) % VOCABULARY
        yield vocabulary[word_numbers], normalise(centres[topics] + noise), centres[topics]


def draw_questions(size: int, count: int) -> tuple[list[str], Array, list[int]]:
    """Return the texts and vectors of questions, and the number of the chunk that answers each.

    A question has two words of its chunk and five of another. Its vector lies between the chunk's and the
    centre of its topic, with some noise: its cosine with the chunk is about 0.6, as between real questions
    and their passages, and a little less with other chunks of the topic.
    """
    numbers = np.sort(np.random.default_rng(size + 1).choice(size, size=min(count, size), replace=False))
    rng = np.random.default_rng(size + 2)
    texts, vectors = [], []
    for part, (words, chunk_vectors, centres) in enumerate(draw_chunks(size)):
        for row in numbers[numbers // SLICE_SIZE == part] - part * SLICE_SIZE:
            other_words = words[rng.integers(len(words))]
            texts.append(" ".join([*rng.choice(words[row], 2), *rng.choice(other_words, 5)]))
            noise = rng.normal(scale=0.05, size=DIMENSION)
            vectors.append(0.2 * chunk_vectors[row] + 0.8 * centres[row] + noise)
    order = rng.permutation(len(texts))
    return [texts[i] for i in order], normalise(np.array(vectors)[order]), [int(numbers[i]) for i in order]


def normalise(vectors: Array) -> Array:
    """Return the vectors scaled to length one."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def make_index(folder: Path, size: int) -> dict[str, float]:
    """Write the synthetic chunks as an index, as a build does; return the seconds that each part took."""
    folder.mkdir(parents=True)
    location = open_location(folder)
    settings = Settings(embeddings=embedding_name(PrecomputedEmbeddings({})), dimension=DIMENSION)
    manifest = Manifest(settings, "chunks-1").publish(location)
    writer = TableWriter(location.uri, "chunks-1", None, DIMENSION)
    noise = normalise(np.random.default_rng(0).normal(size=(997, SENTENCE_DIMENSION)))
    number, seconds = 0, {"rows": 0.0}
    for words, vectors, _ in draw_chunks(size):
        texts = [" ".join(row) for row in words]
        rows = [_make_row(number + i, text, vectors[i], noise) for i, text in enumerate(texts)]
        started = time.perf_counter()
        for start in range(0, len(rows), ROWS_PER_WRITE):
            writer.add(rows[start : start + ROWS_PER_WRITE])
        seconds["rows"] += time.perf_counter() - started
        number += len(rows)
    started = time.perf_counter()
    writer.index_words()
    writer.optimize(keep_since=time.time())
    seconds["words"] = time.perf_counter() - started
    started = time.perf_counter()
    recall = writer.index_vectors()
    seconds["vectors"] = time.perf_counter() - started
    counts = {
        f"source-{n // CHUNKS_PER_SOURCE}": min(CHUNKS_PER_SOURCE, size - n)
        for n in range(0, size, CHUNKS_PER_SOURCE)
    }
    replace(
        manifest,
        version=writer.version,
        chunks=size,
        sources={name: SourceRecord("0" * 64, chunk_key(name, "made"), n) for name, n in counts.items()},
        recall=recall,
        committed=time.time(),
        files=seal_files(location, "chunks-1", writer.version, {}),
    ).publish(location)
    return seconds


def _make_row(number: int, text: str, vector: Array, noise: Array) -> TableRow:
    """Return a row whose sentences have equal lengths, and the chunk's vector with some noise."""
    start, source = number % CHUNKS_PER_SOURCE * 800, f"source-{number // CHUNKS_PER_SOURCE}"
    bounds = [len(text) * part // SENTENCES_PER_CHUNK for part in range(SENTENCES_PER_CHUNK + 1)]
    sentence_noise = noise[(number * SENTENCES_PER_CHUNK + np.arange(SENTENCES_PER_CHUNK)) % len(noise)]
    spans = np.array([*itertools.pairwise(bounds)])
    packed = pack_sentences(Sentences(spans, vector + 0.5 * sentence_noise))
    return TableRow(
        {
            "id": _chunk_id(number),
            "source": source,
            "page": number % 100 + 1,
            "section": None,
            "start": start,
            "end": start + len(text),
            "text": text,
            "metadata": {},
        },
        chunk_key(source, "made"),
        vector,
        None,
        *packed,
    )


def _chunk_id(number: int) -> str:
    return f"{number:016x}"


def find_nearest(size: int, queries: Array, pages: tuple[int, int] = (1, 100)) -> list[set[str]]:
    """Return, for each query vector, the ids of the exactly nearest chunks among those on the pages."""
    cosines, numbers, first = [], [], 0
    for _, vectors, _ in draw_chunks(size):
        slice_numbers = first + np.arange(len(vectors))
        page = slice_numbers % 100 + 1
        rows = np.flatnonzero((page >= pages[0]) & (page <= pages[1]))
        slice_cosines = queries @ vectors[rows].T
        best = np.argsort(-slice_cosines, axis=1)[:, :TOP]
        cosines.append(np.take_along_axis(slice_cosines, best, axis=1))
        numbers.append(slice_numbers[rows][best])
        first += len(vectors)
    best = np.argsort(-np.concatenate(cosines, axis=1), axis=1)[:, :TOP]
    rows = np.take_along_axis(np.concatenate(numbers, axis=1), best, axis=1)
    return [{_chunk_id(number) for number in row} for row in rows.tolist()]


def measure_times(work: Callable[[Any], object], items: Sequence[Any]) -> dict[str, float]:
    """Call `work` with each item; return the milliseconds: median, p95, and median of the processor's."""
    wall_times, processor_times = [], []
    for item in items:
        started, processor_started = time.perf_counter(), time.process_time()
        work(item)
        wall_times.append(1000 * (time.perf_counter() - started))
        processor_times.append(1000 * (time.process_time() - processor_started))
    p50, p95 = np.percentile(wall_times, (50, 95))
    return {"p50": float(p50), "p95": float(p95), "processor": float(np.median(processor_times))}


def recall_at_10(index: Any, texts: Sequence[str], nearest: Sequence[set[str]]) -> float:
    """Return the mean share of the exactly nearest chunks among the first candidates by vector."""
    recalls = []
    for text, expected in zip(texts, nearest, strict=True):
        [candidates] = index.search([text], limit=POOL)
        candidates.sort(key=lambda candidate: -candidate["scores"]["dense"])
        top = {candidate["id"] for candidate in candidates[:TOP]}
        recalls.append(len(top & expected) / len(expected))
    return float(np.mean(recalls))


def ask_index(folder: Path, size: int, questions: int, filters: bool = False) -> Iterator[dict[str, Any]]:
    """Open an index and yield a row for each kind of request: its name, its times, and its recall."""
    texts, vectors, gold = draw_questions(size, questions)
    vector_of = dict(zip(texts, vectors, strict=True))
    context = Context()
    started = time.perf_counter()
    index = Index.open(folder, PrecomputedEmbeddings(vector_of))

    def search_fused(text: str) -> list[str]:
        candidates, _ = search(index, [Query(text=text)], context, ANALYSIS)
        return [candidate["id"] for candidate in candidates]

    search_fused(texts[-1])
    yield {"asked": "opened and first answer", "ms": 1000 * (time.perf_counter() - started)}
    for text in texts[: len(texts) // 5]:  # to warm up
        search_fused(text)
    hits = [_chunk_id(number) in search_fused(text)[:TOP] for text, number in zip(texts, gold, strict=True)]
    times = measure_times(search_fused, texts)
    yield {"asked": "fused search", **times, "answer in 10": np.mean(hits), "GB": peak_memory_gb()}
    reader = index.reader()
    recall = recall_at_10(index, texts, find_nearest(size, vectors))
    by_vector = measure_times(lambda vector: reader.nearest(vector[None], POOL), list(vectors))
    yield {"asked": "by vector", **by_vector, "recall@10": recall}
    yield {"asked": "by words", **measure_times(lambda text: reader.match(text, POOL), texts)}
    for condition in CONDITIONS if filters else ():
        filtered = index.where(read_where(condition))
        filtered.search([texts[0]], limit=POOL)  # loads the fields that the condition names
        plain_times = measure_times(lambda text: index.search([text], limit=POOL), texts)
        times = measure_times(lambda text: filtered.search([text], limit=POOL), texts)  # noqa: B023
        recall = recall_at_10(filtered, texts, find_nearest(size, vectors, CONDITIONS[condition]))
        ratio = times["p50"] / plain_times["p50"]
        yield {"asked": f"where {condition}", **times, "times none": ratio, "recall@10": recall}
    rag = AdaptiveRAG(Index.open(folder, PrecomputedEmbeddings(vector_of, embeds=True)))
    rag.invoke({"question": texts[-1]})
    whole = measure_times(lambda text: rag.invoke({"question": text}), texts[: max(2, questions // 5)])
    yield {"asked": "whole question", **whole, "GB": peak_memory_gb()}


def peak_memory_gb() -> float:
    """Return the peak resident memory of this process (Linux)."""
    # Not by getrusage, which would include the memory of the parent when it started this process.
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000], help="chunks")
    parser.add_argument("--questions", type=int, default=150, help="questions asked of each index")
    parser.add_argument("--filters", action="store_true", help="also ask with conditions")
    parser.add_argument("--keep", type=Path, help="folder that keeps the indexes and is searched for them")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ask:
        [size] = arguments.sizes
        for row in ask_index(arguments.ask, size, arguments.questions, arguments.filters):
            figures = (f"{name} {figure:.3g}" for name, figure in row.items() if name != "asked")
            print(f"  {row['asked']}: {', '.join(figures)}", flush=True)
        return
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
            folder = (arguments.keep or Path(scratch)).resolve() / f"{size}"
            times_file = folder / "made.json"
            if not times_file.exists():
                times_file.write_text(json.dumps(make_index(folder / "kb", size)))
            files = complete_manifest(open_location(folder / "kb")).files or {}
            times = json.loads(times_file.read_text())
            parts = ", ".join(f"{part} {seconds:.3g} s" for part, seconds in times.items())
            disk = sum(seal.size for seal in files.values()) / 1e9
            print(f"{size:,} chunks, made: {parts}; {disk:.3g} GB on disk; load {os.getloadavg()[0]:.1f}")
            command = [sys.executable, "-m", "benchmarks.scale", "--ask", str(folder / "kb")]
            command += ["--sizes", str(size), "--questions", str(arguments.questions)]
            subprocess.run([*command, *["--filters"] * arguments.filters], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
