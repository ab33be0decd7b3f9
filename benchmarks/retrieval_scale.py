"""How retrieval time, memory and quality hold as a corpus grows, beside LangChain's own hybrid.

    python -m benchmarks.retrieval_scale --sizes 10000 30000 100000 300000 1000000 --plot latency.png
    python -m benchmarks.retrieval_scale --sizes 10000 100000 --compare --data ../shared/data

Without `--data` the corpus is made up: words drawn by Zipf's law around topics, the commonest of which are
stop words that full-text search drops, vectors in clusters, and for each question one chunk that answers it.
With `--data` it holds the passages of public data sets and is asked their questions; made-up passages fill it
up. Both sides get the same vectors, ready made, so embedding takes no time on either. Each size is asked in
`--runs` fresh processes, of which the one with the median p95 is reported. `--keep` keeps the indexes for the
next time; that of a million chunks takes minutes to make.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.context import Context
from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.index import Index
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import Manifest, Settings
from adaptive_rag.index.table import TableRow, TableWriter
from adaptive_rag.models.embeddings import embedding_name
from adaptive_rag.search.search import POOL, search
from adaptive_rag.state import Chunk, Query, QueryAnalysis
from benchmarks.scale_corpora import DIMENSION, Array, Corpus, made_up, public

ROOT = Path(__file__).parents[1]
TOP = 10
SIDES = ("index", "langchain")
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

Ask = Callable[[str], list[str]]


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


def make_index(folder: Path, corpus: Corpus) -> float:
    """Write the corpus as an index, the way a build does; return the seconds it took."""
    started = time.perf_counter()
    location = open_location(folder)
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(embedding_name(ReadyMade({})), DIMENSION, 1000, 200, sentence_vectors=False)
    manifest = Manifest(settings, "chunks-1").publish(location)
    writer = TableWriter(location.uri, "chunks-1", None, DIMENSION)
    number = 0
    for texts, vectors in corpus.slices():
        writer.add([TableRow(_chunk(number + i, text), "doc", vectors[i]) for i, text in enumerate(texts)])
        number += len(texts)
    writer.index_words()
    writer.optimize(keep_since=time.time())
    recall = writer.index_vectors()
    complete = Manifest(
        manifest.settings, "chunks-1", writer.version, number, recall=recall, generation=manifest.generation
    )
    complete.publish(location)
    return time.perf_counter() - started


def store_questions(corpus: Corpus, file: Path) -> None:
    """Write what a process needs to ask and to judge: texts, vectors, grades, and the nearest chunks."""
    asked = corpus.questions()
    cosines, rows, number = [], [], 0
    for texts, vectors in corpus.slices():
        found = asked.vectors @ vectors.T
        top = np.argpartition(found, -TOP, axis=1)[:, -TOP:]
        cosines.append(np.take_along_axis(found, top, axis=1))
        rows.append(number + top)
        number += len(texts)
    best = np.argsort(-np.concatenate(cosines, axis=1), axis=1)[:, :TOP]
    nearest = np.take_along_axis(np.concatenate(rows, axis=1), best, axis=1)
    gold = json.dumps([list(grades.items()) for grades in asked.gold])
    np.savez(file, texts=asked.texts, vectors=asked.vectors, nearest=nearest, gold=gold)


def measure(ask: Ask, texts: Sequence[str], gold: Sequence[dict[str, int]], warm: int) -> dict[str, Any]:
    """Ask every question once; return milliseconds, also of processor time, and each question's nDCG@10."""
    times, used, quality = [], [], []
    for text in texts[:warm]:
        ask(text)
    for text, grades in zip(texts, gold, strict=True):
        started, processor = time.perf_counter(), time.process_time()
        found = ask(text)
        times.append(1000 * (time.perf_counter() - started))
        used.append(1000 * (time.process_time() - processor))
        quality.append(ndcg(found, grades))
    # A question that was asked to warm the index would be asked a second time.
    p50, p95 = np.percentile(times[warm:], (50, 95))
    return {"p50": float(p50), "p95": float(p95), "cpu": float(np.median(used[warm:])), "ndcg": quality}


def ndcg(found: Sequence[str], grades: dict[str, int]) -> float:
    """Return the nDCG@10 of a ranking: gain = grade, discount log2(rank + 1)."""
    discount = 1 / np.log2(np.arange(2, TOP + 2))
    gains = [grades.get(id_, 0) for id_ in found[:TOP]]
    ideal = sorted(grades.values(), reverse=True)[:TOP]
    return float(discount[: len(gains)] @ gains / (discount[: len(ideal)] @ ideal))


def ask_index(folder: Path, questions: int) -> dict[str, Any]:
    """Open the index and ask it, as the retrieve step does."""
    texts, vectors, gold, nearest = _stored(folder, questions)
    before = _resident_gb()
    opened = time.perf_counter()
    index = Index.open(folder / "kb", embeddings=ReadyMade(dict(zip(texts, vectors, strict=True))))
    result: dict[str, Any] = {"open_ms": 1000 * (time.perf_counter() - opened)}
    context = Context()

    def ask(text: str) -> list[str]:
        found, _ = search(index, [Query(text=text)], context, ANALYSIS)
        return [candidate["id"] for candidate in found]

    result |= measure(ask, texts, gold, warm=min(20, len(texts) // 5))
    result |= {"resident_gb": _resident_gb(), "questions_gb": before, "info": index.info()["recall"]}
    result["batch_of_4"] = _median_ms(
        [lambda batch=texts[i : i + 4]: index.search(batch, limit=POOL) for i in range(0, len(texts) - 3, 4)]
    )
    result["recall"] = recall_at_10(index, texts, nearest)
    return result


def recall_at_10(index: Index, texts: Sequence[str], nearest: Sequence[set[str]]) -> float:
    """Return the share of the truly nearest chunks that lead the candidates of a search by vector."""
    shared = []
    for text, truth in zip(texts, nearest, strict=True):
        [found] = index.search([text], limit=POOL)
        found.sort(key=lambda candidate: -candidate["scores"]["dense"])
        shared.append(len({candidate["id"] for candidate in found[:TOP]} & truth) / len(truth))
    return float(np.mean(shared))


def ask_langchain(corpus: Corpus, folder: Path, questions: int) -> dict[str, Any]:
    """Ask LangChain's EnsembleRetriever over BM25Retriever and InMemoryVectorStore.

    BM25Retriever splits at spaces unless it is told otherwise; lower-cased words without punctuation find
    more of public questions (nDCG@10 .71 instead of .63 at 10,000 chunks), so that is what it is told.
    """
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    texts, vectors, gold, _ = _stored(folder, questions)
    known = dict(zip(texts, vectors, strict=True))
    documents: list[Document] = []
    for passages, rows in corpus.slices():
        known.update(zip(passages, rows, strict=True))
        first = len(documents)
        documents += [
            Document(page_content=text, id=_id(first + i), metadata={"id": _id(first + i)})
            for i, text in enumerate(passages)
        ]
    store = InMemoryVectorStore.from_documents(documents, ReadyMade(known))
    by_words = BM25Retriever.from_documents(
        documents, k=POOL, preprocess_func=lambda text: re.findall(r"\w+", text.lower())
    )
    by_vector = store.as_retriever(search_kwargs={"k": POOL})
    hybrid = EnsembleRetriever(retrievers=[by_words, by_vector], weights=[0.5, 0.5], id_key="id")
    result = measure(lambda text: [d.metadata["id"] for d in hybrid.invoke(text)], texts, gold, warm=1)
    return result | {"resident_gb": _resident_gb()}


def draw(results: dict[int, dict[str, Any]], path: Path, subject: str) -> None:
    """Draw latency over corpus size, with the recall of the approximate search beside each point."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    for side, label, colour, marker in (
        ("index", "Adaptive RAG", "tab:blue", "o"),
        ("langchain", "LangChain hybrid", "tab:orange", "s"),
    ):
        sizes = [size for size in sorted(results) if side in results[size]]
        if not sizes:
            continue
        p50, p95 = ([results[size][side][name] for size in sizes] for name in ("p50", "p95"))
        axes.plot(sizes, p95, marker=marker, color=colour, linestyle="--", label=f"{label}, p95")
        axes.plot(sizes, p50, marker=marker, color=colour, label=f"{label}, p50")
        for size, low, high in zip(sizes, p50, p95, strict=True):
            below = {"ha": "center", "fontsize": 8, "color": colour, "textcoords": "offset points"}
            axes.annotate(_short(low), (size, low), (0, -13), va="center", **below)
            axes.annotate(_short(high), (size, high), (0, 11), va="center", **below)
    for size, found in results.items():
        recall = found["index"]["recall"] if found["index"]["info"] else None
        note = "exact" if recall is None else f"recall@10\n{recall:.3f}"
        axes.annotate(
            note, (size, 0.02), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=8
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="chunks",
        ylabel="milliseconds a question",
        title=f"Time of one fused retrieval: {subject}",
    )
    axes.set_xticks(sorted(results), [f"{size:,}" for size in sorted(results)])
    axes.set_xticks([], minor=True)
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2.5, high * 1.3)
    axes.margins(x=0.08)
    axes.grid(alpha=0.3, which="major")
    axes.legend(loc="best", fontsize=8)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _short(ms: float) -> str:
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"


def run(size: int, arguments: argparse.Namespace, folder: Path) -> tuple[str, dict[str, Any]]:
    """Measure one size; what is made stays in the folder."""
    corpus = _corpus(size, arguments)
    folder = folder / f"{corpus.name}-{corpus.size}"
    result: dict[str, Any] = {}
    if not (folder / "questions.npz").exists():
        result["made_s"] = make_index(folder / "kb", corpus)
        store_questions(corpus, folder / "questions.npz")
    runs = [_ask("index", size, arguments, folder) for _ in range(arguments.runs)]
    result["index"] = sorted(runs, key=lambda one: one["p95"])[(len(runs) - 1) // 2]
    result["runs"] = [(one["p50"], one["p95"]) for one in runs]
    if arguments.compare and size <= arguments.compare_up_to:
        result["langchain"] = _ask("langchain", size, arguments, folder)
    return corpus.name, result


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000], help="chunks")
    parser.add_argument("--questions", type=int, default=500, help="questions asked of the index")
    parser.add_argument("--runs", type=int, default=1, help="processes that ask, one after another")
    parser.add_argument("--compare", action="store_true", help="also ask LangChain's hybrid")
    parser.add_argument("--compare-questions", type=int, default=40, help="questions asked of LangChain's")
    parser.add_argument("--compare-up-to", type=int, default=100_000, help="largest size it is asked at")
    parser.add_argument("--data", type=Path, help="a folder of data sets to ask instead of a made-up corpus")
    parser.add_argument("--cache", type=Path, help="where `adaptive-rag eval` keeps its indexes")
    parser.add_argument("--keep", type=Path, help="keep what is made here, and use what is here already")
    parser.add_argument("--plot", type=Path, help="draw the curve to this file")
    parser.add_argument("--ask", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.data is not None and not any(arguments.data.glob("*/corpus.jsonl")):
        sys.exit(f"No data set lies in {str(arguments.data)!r}; expected folders with corpus.jsonl.")
    if arguments.ask == "index":
        print(json.dumps(ask_index(arguments.at, arguments.questions)))
    elif arguments.ask == "langchain":
        corpus = _corpus(arguments.sizes[0], arguments)
        print(json.dumps(ask_langchain(corpus, arguments.at, arguments.compare_questions)))
    else:
        _run_all(arguments)


def _run_all(arguments: argparse.Namespace) -> None:
    results: dict[int, dict[str, Any]] = {}
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory(prefix="retrieval-scale-") as scratch:
            name, results[size] = run(size, arguments, arguments.keep or Path(scratch))
        _report(name, size, results[size])
        if arguments.plot:
            subject = "public questions" if arguments.data else "made-up corpus"
            draw(results, arguments.plot, subject)


def _corpus(size: int, arguments: argparse.Namespace) -> Corpus:
    if arguments.data is None:
        return made_up(size, arguments.questions)
    return public(arguments.data, size, arguments.cache or default_cache())


def _ask(side: str, size: int, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Ask one side in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.retrieval_scale", "--ask", side, "--sizes", str(size)]
    command += ["--at", str(folder.resolve()), "--questions", str(arguments.questions)]
    command += ["--compare-questions", str(arguments.compare_questions)]
    for name in ("data", "cache"):
        if (path := getattr(arguments, name)) is not None:
            command += [f"--{name}", str(path.resolve())]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def _report(name: str, size: int, found: dict[str, Any]) -> None:
    ours, theirs = found["index"], found.get("langchain")
    made = f"made in {found['made_s']:.0f} s" if "made_s" in found else "kept from before"
    load = f", load {os.getloadavg()[0]:.1f} of {os.cpu_count()}" if hasattr(os, "getloadavg") else ""
    print(f"{size:,} chunks ({name}), {made}, opened in {ours['open_ms']:.0f} ms{load}")
    print(
        f"  one question: p50 {ours['p50']:.1f} ms, p95 {ours['p95']:.1f} ms, "
        f"processor {ours['cpu']:.1f} ms, nDCG@10 {np.mean(ours['ndcg']):.3f} of {len(ours['ndcg'])}"
    )
    if len(found["runs"]) > 1:
        print("  each run, p50/p95: " + ", ".join(f"{p50:.1f}/{p95:.1f}" for p50, p95 in found["runs"]))
    print(f"  batch of 4: p50 {ours['batch_of_4']:.1f} ms")
    print(
        f"  resident memory {ours['resident_gb']:.2f} GB; recall@10 of these questions {ours['recall']:.3f}"
    )
    print(f"  recall as `adaptive-rag info` reports it: {ours['info'] or 'searched exactly'}")
    if theirs is not None:
        same = len(theirs["ndcg"])
        print(
            f"  LangChain hybrid: p50 {theirs['p50']:.1f} ms, p95 {theirs['p95']:.1f} ms, "
            f"resident memory {theirs['resident_gb']:.2f} GB\n"
            f"  the same {same} questions, nDCG@10: index {np.mean(ours['ndcg'][:same]):.3f}, "
            f"LangChain hybrid {np.mean(theirs['ndcg']):.3f}\n"
            f"  the index is {theirs['p50'] / ours['p50']:.0f} times faster at the median"
        )
    sys.stdout.flush()


def _stored(folder: Path, count: int) -> tuple[list[str], Array, list[dict[str, int]], list[set[str]]]:
    """Return texts, vectors, grades by id, and the ids of the nearest chunks of the first questions."""
    stored = np.load(folder / "questions.npz")
    gold = [{_id(number): grade for number, grade in grades} for grades in json.loads(str(stored["gold"]))]
    nearest = [{_id(number) for number in row} for row in stored["nearest"].tolist()]
    return stored["texts"][:count].tolist(), stored["vectors"][:count], gold[:count], nearest[:count]


def _median_ms(work: Sequence[Callable[[], object]]) -> float:
    times = []
    for one in work:
        started = time.perf_counter()
        one()
        times.append(1000 * (time.perf_counter() - started))
    return float(np.median(times))


def _chunk(number: int, text: str) -> Chunk:
    start = number % 50 * 800
    return {
        "id": _id(number),
        "source": f"source-{number // 50}",
        "page": None,
        "section": None,
        "start": start,
        "end": start + len(text),
        "text": text,
        "metadata": {},
    }


def _id(number: int) -> str:
    return f"{number:016x}"


def _resident_gb() -> float:
    """Return the peak resident memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would count what the parent held when it made this process
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 2**20
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**30 if sys.platform == "darwin" else 2**20)


if __name__ == "__main__":
    main()
