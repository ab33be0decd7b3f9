"""How an index grows: time to make, disk, memory, the time of each search and of a question, recall.

    python -m benchmarks.scale --sizes 10000 100000 1000000 [--questions 150] [--filters] [--keep FOLDER]

The corpus is made up: words drawn by Zipf's law around topics, the commonest of which are stop words that
full-text search drops, vectors in clusters, and for each question one chunk that answers it. The vectors are
ready made, so only a whole question embeds its text. Each index is asked in a process of its own. `--filters`
asks under conditions too, in turn with none. `--keep` keeps what was made for the next time.
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
DIMENSION, WORDS, VOCABULARY, SLICE = 384, 90, 50_000, 20_000
PER_SOURCE, SENTENCES, TOP = 50, 6, 10
# The commonest words of English text in their order: 44 % of its tokens, as here.
STOP_WORDS = """
    the of to and a in you is that for it as on are with be was i by your or have not if this from an at can
    they but will he which their more there his all has
""".split()
# Conditions that keep 1, 10 and 50 % of the chunks, from all over the table; the last page that each keeps.
CONDITIONS = {"page = 7": (7, 7), "page <= 10": (1, 10), "page <= 50": (1, 50)}

# What the retrieve step is told of a plain question; it only has a say in how the two scores are weighed.
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


class ReadyMade(Embeddings):
    """Vectors by text; `embeds` has the embedded model take its time for a question too."""

    def __init__(self, vectors: dict[str, Array], embeds: bool = False) -> None:
        self.model, self.dimension = "ready-made", DIMENSION
        self._vectors, self._embeds = vectors, embeds

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        made = load_minilm().encode([text])[0] if self._embeds else None
        vector = self._vectors.get(text, made)
        if vector is None:
            raise KeyError(f"No vector was made for {text!r}.")
        return vector.tolist()  # type: ignore[no-any-return]


def draw_chunks(size: int) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the words of chunks, their unit vectors and the centres of their topics, a slice at a time."""
    generator = np.random.default_rng(size)
    centres = unit(generator.normal(size=(max(50, size // 250), DIMENSION)))
    vocabulary = np.array([*STOP_WORDS, *(f"q{n}x" for n in range(len(STOP_WORDS), VOCABULARY))])
    frequency = np.cumsum(1 / np.arange(1, VOCABULARY + 1) ** 1.05)
    for start in range(0, size, SLICE):
        count = min(SLICE, size - start)
        topics = generator.integers(0, len(centres), count)
        moved = 0.05 * generator.standard_normal((count, DIMENSION), dtype=np.float32)
        drawn = np.searchsorted(frequency, generator.random((count, WORDS)) * frequency[-1])
        drawn[:, :15] = (topics[:, None] * 37 + drawn[:, :15] % 60) % VOCABULARY
        yield vocabulary[drawn], unit(centres[topics] + moved), centres[topics]


def draw_questions(size: int, count: int) -> tuple[list[str], Array, list[int]]:
    """Make questions, each about one chunk: texts, vectors, and the number of the chunk that answers.

    A question has two words of its chunk and five of another. Its vector lies between the chunk's and the
    centre of its topic, and is moved: the cosine with the chunk is about 0.6, as between real questions and
    their passages, and with others of the topic a little less.
    """
    numbers = np.sort(np.random.default_rng(size + 1).choice(size, size=min(count, size), replace=False))
    generator = np.random.default_rng(size + 2)
    texts, vectors = [], []
    for part, (words, rows, centres) in enumerate(draw_chunks(size)):
        for at in numbers[numbers // SLICE == part] - part * SLICE:
            anywhere = words[generator.integers(len(words))]
            texts.append(" ".join([*generator.choice(words[at], 2), *generator.choice(anywhere, 5)]))
            vectors.append(0.2 * rows[at] + 0.8 * centres[at] + generator.normal(scale=0.05, size=DIMENSION))
    order = generator.permutation(len(texts))
    return [texts[i] for i in order], unit(np.array(vectors)[order]), [int(numbers[i]) for i in order]


def unit(vectors: Array) -> Array:
    """Scale rows to length one."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def make_index(folder: Path, size: int) -> dict[str, float]:
    """Write made-up chunks as an index, the way a build does; return the seconds that each part took."""
    folder.mkdir(parents=True)
    location = open_location(folder)
    settings = Settings(embedding_name(ReadyMade({})), DIMENSION, 1000, 200, sentence_vectors=True)
    manifest = Manifest(settings, "chunks-1").publish(location)
    writer = TableWriter(location.uri, "chunks-1", None, DIMENSION)
    moved = unit(np.random.default_rng(0).normal(size=(997, SENTENCE_DIMENSION)))
    number, seconds = 0, {"rows": 0.0}
    for words, vectors, _ in draw_chunks(size):
        texts = [" ".join(row) for row in words]
        rows = [_row(number + i, text, vectors[i], moved) for i, text in enumerate(texts)]
        began = time.perf_counter()
        for start in range(0, len(rows), ROWS_PER_WRITE):
            writer.add(rows[start : start + ROWS_PER_WRITE])
        seconds["rows"] += time.perf_counter() - began
        number += len(rows)
    began = time.perf_counter()
    writer.index_words()
    writer.optimize(keep_since=time.time())
    seconds["words"] = time.perf_counter() - began
    began = time.perf_counter()
    recall = writer.index_vectors()
    seconds["vectors"] = time.perf_counter() - began
    counts = {f"source-{n // PER_SOURCE}": min(PER_SOURCE, size - n) for n in range(0, size, PER_SOURCE)}
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


def _row(number: int, text: str, vector: Array, moved: Array) -> TableRow:
    start, source = number % PER_SOURCE * 800, f"source-{number // PER_SOURCE}"
    ends = [len(text) * part // SENTENCES for part in range(SENTENCES + 1)]
    near = moved[(number * SENTENCES + np.arange(SENTENCES)) % len(moved)]
    packed = pack_sentences(Sentences(np.array([*itertools.pairwise(ends)]), vector + 0.5 * near))
    return TableRow(
        {
            "id": _id_of(number),
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


def _id_of(number: int) -> str:
    return f"{number:016x}"


def find_nearest(size: int, asked: Array, pages: tuple[int, int] = (1, 100)) -> list[set[str]]:
    """Return for each vector the ids of the truly nearest chunks, of those on the pages."""
    cosines, numbers, first = [], [], 0
    for _, vectors, _ in draw_chunks(size):
        number = first + np.arange(len(vectors))
        kept = np.flatnonzero((number % 100 + 1 >= pages[0]) & (number % 100 + 1 <= pages[1]))
        of_slice = asked @ vectors[kept].T
        best = np.argsort(-of_slice, axis=1)[:, :TOP]
        cosines.append(np.take_along_axis(of_slice, best, axis=1))
        numbers.append(number[kept][best])
        first += len(vectors)
    best = np.argsort(-np.concatenate(cosines, axis=1), axis=1)[:, :TOP]
    rows = np.take_along_axis(np.concatenate(numbers, axis=1), best, axis=1)
    return [{_id_of(number) for number in row} for row in rows.tolist()]


def timed(work: Callable[[Any], object], items: Sequence[Any]) -> dict[str, float]:
    """Do some work for each item; return the milliseconds at the median and p95, and of the processor."""
    times, used = [], []
    for item in items:
        started, processor = time.perf_counter(), time.process_time()
        work(item)
        times.append(1000 * (time.perf_counter() - started))
        used.append(1000 * (time.process_time() - processor))
    p50, p95 = np.percentile(times, (50, 95))
    return {"p50": float(p50), "p95": float(p95), "processor": float(np.median(used))}


def recall_at_10(index: Any, texts: Sequence[str], nearest: Sequence[set[str]]) -> float:
    """Return the share of the truly nearest chunks that lead the candidates of a search by vector."""
    shared = []
    for text, truth in zip(texts, nearest, strict=True):
        [candidates] = index.search([text], limit=POOL)
        candidates.sort(key=lambda candidate: -candidate["scores"]["dense"])
        shared.append(len({candidate["id"] for candidate in candidates[:TOP]} & truth) / len(truth))
    return float(np.mean(shared))


def ask_index(folder: Path, size: int, questions: int, filters: bool = False) -> Iterator[dict[str, Any]]:
    """Open an index and yield a row for each way to ask it: what was asked, its times, what it found."""
    texts, vectors, gold = draw_questions(size, questions)
    known = dict(zip(texts, vectors, strict=True))
    context = Context()
    began = time.perf_counter()
    index = Index.open(folder, ReadyMade(known))

    def fused(text: str) -> list[str]:
        candidates, _ = search(index, [Query(text=text)], context, ANALYSIS)
        return [candidate["id"] for candidate in candidates]

    fused(texts[-1])
    yield {"asked": "opened and first answer", "ms": 1000 * (time.perf_counter() - began)}
    for text in texts[: len(texts) // 5]:
        fused(text)
    first = [_id_of(number) in fused(text)[:TOP] for text, number in zip(texts, gold, strict=True)]
    yield {"asked": "fused search", **timed(fused, texts), "answer in 10": np.mean(first), "GB": peak_gb()}
    reader = index.reader()
    recall = recall_at_10(index, texts, find_nearest(size, vectors))
    by_vector = timed(lambda vector: reader.nearest(vector[None], POOL), list(vectors))
    yield {"asked": "by vector", **by_vector, "recall@10": recall}
    yield {"asked": "by words", **timed(lambda text: reader.match(text, POOL), texts)}
    for condition in CONDITIONS if filters else ():
        narrowed = index.where(read_where(condition))
        narrowed.search([texts[0]], limit=POOL)  # reads what the condition names
        plain = timed(lambda text: index.search([text], limit=POOL), texts)
        times = timed(lambda text: narrowed.search([text], limit=POOL), texts)  # noqa: B023
        recall = recall_at_10(narrowed, texts, find_nearest(size, vectors, CONDITIONS[condition]))
        ratio = times["p50"] / plain["p50"]
        yield {"asked": f"where {condition}", **times, "times none": ratio, "recall@10": recall}
    rag = AdaptiveRAG(Index.open(folder, ReadyMade(known, embeds=True)))
    rag.invoke({"question": texts[-1]})
    whole = timed(lambda text: rag.invoke({"question": text}), texts[: max(2, questions // 5)])
    yield {"asked": "whole question", **whole, "GB": peak_gb()}


def peak_gb() -> float:
    """Return the peak resident memory of this process (Linux)."""
    # getrusage would count what the parent held when it made this process
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000], help="chunks")
    parser.add_argument("--questions", type=int, default=150, help="questions asked of each index")
    parser.add_argument("--filters", action="store_true", help="also ask with conditions")
    parser.add_argument("--keep", type=Path, help="keep what is made here, and use what is here already")
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
            made = folder / "made.json"
            if not made.exists():
                seconds = make_index(folder / "kb", size)
                made.write_text(json.dumps(seconds))
            files = complete_manifest(open_location(folder / "kb")).files or {}
            parts = ", ".join(f"{part} {took:.3g} s" for part, took in json.loads(made.read_text()).items())
            disk = sum(seal.size for seal in files.values()) / 1e9
            print(f"{size:,} chunks, made: {parts}; {disk:.3g} GB on disk; load {os.getloadavg()[0]:.1f}")
            command = [sys.executable, "-m", "benchmarks.scale", "--ask", str(folder / "kb")]
            command += ["--sizes", str(size), "--questions", str(arguments.questions)]
            subprocess.run([*command, *["--filters"] * arguments.filters], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
