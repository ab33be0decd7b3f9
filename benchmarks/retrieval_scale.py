"""How retrieval time, memory and quality hold as a corpus grows, beside LangChain's own hybrid.

    python benchmarks/retrieval_scale.py --sizes 10000 100000 --compare
    python benchmarks/retrieval_scale.py --sizes 1000000 --plot latency.png

The corpus is made up: words drawn by Zipf's law around topics, vectors in clusters. A question is a few words
of one chunk and a vector near that chunk's; that chunk is what should be found (nDCG@10 with one relevant
chunk). Both sides get the same vectors, ready made, so embedding takes no time on either. Each size is
searched in a fresh process, whose resident memory is reported.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from adaptive_rag.index import Index
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import Manifest, Settings
from adaptive_rag.index.table import Row, TableWriter
from adaptive_rag.models.embeddings import embedding_name
from adaptive_rag.state import Candidate, Chunk

DIMENSION, WORDS, VOCABULARY, SLICE = 384, 90, 50_000, 20_000
LIMIT, WEIGHT = 30, 0.5

Array = NDArray[Any]


class ReadyMade(Embeddings):
    """Looks vectors up by text."""

    def __init__(self, vectors: dict[str, Array]) -> None:
        self.model = "ready-made"
        self._vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages."""
        return [self._vectors[text].tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self._vectors[text].tolist()  # type: ignore[no-any-return]


def make_corpus(size: int) -> Iterator[tuple[list[str], Array]]:
    """Yield the texts and vectors of the corpus, a slice at a time, the same for every call."""
    generator = np.random.default_rng(size)
    centres = _unit(generator.normal(size=(max(50, size // 250), DIMENSION)))
    vocabulary = np.array([_word(n) for n in range(VOCABULARY)])
    frequency = np.cumsum(1 / np.arange(1, VOCABULARY + 1) ** 1.05)
    for start in range(0, size, SLICE):
        count = min(SLICE, size - start)
        topics = generator.integers(0, len(centres), count)
        vectors = _unit(centres[topics] + generator.normal(scale=0.05, size=(count, DIMENSION)))
        drawn = np.searchsorted(frequency, generator.random((count, WORDS)) * frequency[-1])
        drawn[:, :15] = (topics[:, None] * 37 + drawn[:, :15] % 60) % VOCABULARY
        yield [" ".join(row) for row in vocabulary[drawn]], vectors


def make_questions(size: int, count: int) -> tuple[list[str], Array, list[str]]:
    """Return question texts, their vectors, and the id of the chunk that each is about."""
    generator = np.random.default_rng(size + 1)
    texts, vectors, ids = [], [], []
    wanted = set(generator.choice(size, size=min(count, size), replace=False).tolist())
    for part, (passages, rows) in enumerate(make_corpus(size)):
        for number in sorted(wanted.intersection(range(part * SLICE, part * SLICE + len(passages)))):
            at = number - part * SLICE
            texts.append(" ".join(generator.choice(passages[at].split(), 7)))
            vectors.append(rows[at] + generator.normal(scale=0.03, size=DIMENSION))
            ids.append(_id(number))
    order = generator.permutation(len(texts))
    return [texts[i] for i in order], _unit(np.array(vectors)[order]), [ids[i] for i in order]


def make_index(folder: Path, size: int) -> float:
    """Write the corpus as an index, the way a build does; return the seconds it took."""
    started = time.perf_counter()
    location = open_location(folder)
    folder.mkdir(parents=True)
    settings = Settings(embedding_name(ReadyMade({})), DIMENSION, 1000, 200, sentence_vectors=False)
    manifest = Manifest(settings, "chunks-1").publish(location)
    writer = TableWriter(location.uri, "chunks-1", None, DIMENSION)
    for part, (texts, vectors) in enumerate(make_corpus(size)):
        writer.add([Row(_chunk(part * SLICE + i, texts[i]), "doc", vectors[i]) for i in range(len(texts))])
    writer.index_words()
    writer.optimize(keep_since=time.time())
    recall = writer.index_vectors()
    complete = Manifest(
        manifest.settings, "chunks-1", writer.version, size, recall=recall, generation=manifest.generation
    )
    complete.publish(location)
    return time.perf_counter() - started


def fuse(candidates: list[Candidate]) -> list[str]:
    """Return the ids of the best ten by the weighted sum of normalised scores."""
    total = np.zeros(len(candidates))
    for name, weight in (("dense", WEIGHT), ("sparse", 1 - WEIGHT)):
        values = np.array([candidate["scores"][name] for candidate in candidates])
        total += weight * (values - values.min()) / (np.ptp(values) + 1e-9)
    return [candidates[i]["id"] for i in np.argsort(-total)[:10]]


def measure(
    search: Callable[[str], list[str]], texts: list[str], ids: list[str], warm: int
) -> dict[str, float]:
    """Return median and 95th percentile in milliseconds, and nDCG@10."""
    times, gains = [], []
    for text in texts[:warm]:
        search(text)
    for text, relevant in list(zip(texts, ids, strict=True))[warm:]:
        started = time.perf_counter()
        found = search(text)
        times.append(1000 * (time.perf_counter() - started))
        gains.append(1 / np.log2(found.index(relevant) + 2) if relevant in found else 0.0)
    return {
        "p50": float(np.median(times)),
        "p95": float(np.percentile(times, 95)),
        "ndcg": float(np.mean(gains)),
    }


def search_index(folder: Path) -> dict[str, Any]:
    """Open the index and ask it; runs in a process of its own."""
    stored = np.load(folder.with_suffix(".npz"))
    texts, vectors, ids = stored["texts"].tolist(), stored["vectors"], stored["ids"].tolist()
    opened = time.perf_counter()
    index = Index.open(folder, embeddings=ReadyMade(dict(zip(texts, vectors, strict=True))))
    result: dict[str, Any] = {"open_ms": 1000 * (time.perf_counter() - opened)}
    result |= measure(lambda text: fuse(index.search([text], limit=LIMIT)[0]), texts, ids, warm=10)
    batches = [texts[i : i + 4] for i in range(0, len(texts) - 3, 4)]
    times = []
    for batch in batches:
        started = time.perf_counter()
        index.search(batch, limit=LIMIT)
        times.append(1000 * (time.perf_counter() - started))
    result["batch_of_4_p50"] = float(np.median(times))
    result["recall"] = index.info()["recall"]
    result["resident_gb"] = _resident_gb()
    return result


def search_langchain(size: int, questions: int) -> dict[str, float]:
    """Ask LangChain's EnsembleRetriever over BM25Retriever and InMemoryVectorStore."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    texts, vectors, ids = make_questions(size, questions)
    known = dict(zip(texts, vectors, strict=True))
    documents = []
    for part, (passages, rows) in enumerate(make_corpus(size)):
        known.update(zip(passages, rows, strict=True))
        documents += [
            Document(page_content=text, id=_id(part * SLICE + i), metadata={"id": _id(part * SLICE + i)})
            for i, text in enumerate(passages)
        ]
    store = InMemoryVectorStore.from_documents(documents, ReadyMade(known))
    by_words = BM25Retriever.from_documents(documents, k=LIMIT)
    by_vector = store.as_retriever(search_kwargs={"k": LIMIT})
    hybrid = EnsembleRetriever(retrievers=[by_words, by_vector], weights=[1 - WEIGHT, WEIGHT], id_key="id")
    return measure(lambda text: [d.metadata["id"] for d in hybrid.invoke(text)[:10]], texts, ids, warm=1)


def draw(results: dict[int, dict[str, Any]], path: Path) -> None:
    """Draw latency over corpus size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
    sizes = sorted(results)
    for name in ("p50", "p95"):
        axes.plot(sizes, [results[size]["index"][name] for size in sizes], marker="o", label=f"index, {name}")
    beside = [size for size in sizes if "langchain" in results[size]]
    if beside:
        medians = [results[size]["langchain"]["p50"] for size in beside]
        axes.plot(beside, medians, marker="s", label="LangChain hybrid, p50")
    axes.set(xscale="log", yscale="log", xlabel="chunks", ylabel="milliseconds a question")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000])
    parser.add_argument("--questions", type=int, default=210)
    parser.add_argument("--compare", action="store_true", help="also run LangChain's hybrid")
    parser.add_argument("--compare-questions", type=int, default=12)
    parser.add_argument("--folder", type=Path, default=None, help="where scratch indexes are made")
    parser.add_argument("--plot", type=Path, default=None, help="draw the curve to this file")
    parser.add_argument("--search", type=Path, default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.search is not None:
        print(json.dumps(search_index(arguments.search)))
        return
    results: dict[int, dict[str, Any]] = {}
    for size in arguments.sizes:
        folder = Path(tempfile.mkdtemp(prefix="retrieval-scale-", dir=arguments.folder))
        try:
            made = make_index(folder / "kb", size)
            questions = dict(
                zip(("texts", "vectors", "ids"), make_questions(size, arguments.questions), strict=True)
            )
            np.savez(folder / "kb.npz", **questions)
            command = [sys.executable, __file__, "--search", str(folder / "kb")]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        finally:
            shutil.rmtree(folder)
        results[size] = {"made_s": made, "index": json.loads(output.splitlines()[-1])}
        _report(size, made, results[size]["index"])
        if arguments.compare:
            beside = results[size]["langchain"] = search_langchain(size, arguments.compare_questions)
            print(
                f"  LangChain hybrid: p50 {beside['p50']:.1f} ms, nDCG@10 {beside['ndcg']:.3f}; "
                f"the index is {beside['p50'] / results[size]['index']['p50']:.0f} times faster",
                flush=True,
            )
    if arguments.plot:
        draw(results, arguments.plot)


def _report(size: int, made: float, found: dict[str, Any]) -> None:
    print(f"{size:,} chunks, made in {made:.0f} s, opened in {found['open_ms']:.0f} ms")
    print(
        f"  one question: p50 {found['p50']:.1f} ms, p95 {found['p95']:.1f} ms, nDCG@10 {found['ndcg']:.3f}"
    )
    print(f"  batch of 4: p50 {found['batch_of_4_p50']:.1f} ms")
    print(
        f"  resident memory {found['resident_gb']:.2f} GB, recall of the approximate search {found['recall']}"
    )


def _chunk(number: int, text: str) -> Chunk:
    return {
        "id": _id(number),
        "source": f"source-{number // 50}",
        "page": None,
        "section": None,
        "start": 0,
        "end": len(text),
        "text": text,
        "metadata": {},
    }


def _id(number: int) -> str:
    return f"{number:016x}"


def _word(number: int) -> str:
    letters = "aeioubcdfg"
    return "q" + "".join(letters[int(digit)] for digit in str(number)) + "x"


def _unit(vectors: Array) -> Array:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _resident_gb() -> float:
    """Return the peak resident memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**30 if sys.platform == "darwin" else 2**20)


if __name__ == "__main__":
    main()
