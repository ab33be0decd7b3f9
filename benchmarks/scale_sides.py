"""What `scale` measures of one side in a process of its own: this index, LangChain's and LanceDB's hybrid."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag import AdaptiveRAG
from adaptive_rag.context import Context
from adaptive_rag.index import Index, vectorize
from adaptive_rag.index.disk_cache import DiskCache
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.search.search import POOL, search
from adaptive_rag.state import Query, QueryAnalysis
from adaptive_rag.where import read_where
from benchmarks.scale_corpora import DIMENSION, Array, Corpus, unit

ROOT = Path(__file__).parents[1]
TOP = 10
# Conditions that keep 1, 10 and 50 % of the chunks, from all over the table.
CONDITIONS = {"page = 7": 0.01, "page <= 10": 0.1, "page <= 50": 0.5}
ADDED = 1000
MARK = "qadded"
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
Found = dict[str, Any]


class ReadyMade(Embeddings):
    """Looks vectors up by text."""

    def __init__(self, vectors: Mapping[str, Array], *, embeds: bool = False) -> None:
        self.model = "ready-made"
        self.dimension = DIMENSION
        self._vectors = vectors
        self._embeds = embeds

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question; where it is to take its time, the model embeds it too."""
        made = load_minilm().encode([text])[0] if self._embeds else None
        vector = self._vectors.get(text, made)
        if vector is None:
            raise KeyError(f"No vector was made for {text!r}.")
        return vector.tolist()  # type: ignore[no-any-return]


def measure(ask: Ask, texts: Sequence[str], gold: Sequence[dict[str, int]], warm: int) -> Found:
    """Ask every question once; return milliseconds, also of processor time, and each question's nDCG@10."""
    quality = []

    def judged(pair: tuple[str, dict[str, int]]) -> None:
        quality.append(ndcg(ask(pair[0]), pair[1]))

    for text in texts[:warm]:
        ask(text)
    pairs = list(zip(texts, gold, strict=True))
    for pair in pairs[:warm]:
        judged(pair)
    # A question that was asked to warm the index would be asked a second time.
    return timed(judged, pairs[warm:]) | {"ndcg": quality}


def timed(work: Callable[[Any], object], items: Sequence[Any]) -> Found:
    """Do some work for each item; return the milliseconds at the median and p95, and of the processor."""
    times, used = [], []
    for item in items:
        started, processor = time.perf_counter(), time.process_time()
        work(item)
        times.append(1000 * (time.perf_counter() - started))
        used.append(1000 * (time.process_time() - processor))
    p50, p95 = np.percentile(times, (50, 95))
    return {"p50": float(p50), "p95": float(p95), "cpu": float(np.median(used))}


def ndcg(found: Sequence[str], grades: dict[str, int]) -> float:
    """Return the nDCG@10 of a ranking: gain = grade, discount log2(rank + 1)."""
    discount = 1 / np.log2(np.arange(2, TOP + 2))
    gains = [grades.get(id_, 0) for id_ in found[:TOP]]
    ideal = sorted(grades.values(), reverse=True)[:TOP]
    return float(discount[: len(gains)] @ gains / (discount[: len(ideal)] @ ideal))


def ask_index(
    folder: Path,
    questions: int,
    uri: str | None = None,
    copies: DiskCache | None = None,
    *,
    await_copy: bool = False,
    more: bool = True,
) -> Found:
    """Open the index and ask it, as the retrieve step does; then each search alone, and whole questions."""
    import lancedb  # noqa: F401  # a process that serves has imported it long ago

    texts, vectors, gold, nearest = stored_questions(folder, questions)
    known = dict(zip(texts, vectors, strict=True))
    before, context = resident_gb(), Context()
    began = time.perf_counter()
    index = Index.open(uri or folder / "kb", ReadyMade(known), copies)
    opened = time.perf_counter()

    def ask(text: str) -> list[str]:
        found, _ = search(index, [Query(text=text)], context, ANALYSIS)
        return [candidate["id"] for candidate in found]

    ask(texts[-1])
    result: Found = {"open_ms": 1000 * (opened - began), "cold_ms": 1000 * (time.perf_counter() - began)}
    while await_copy and index.reader().copy is None:
        time.sleep(0.05)
    result["copied_s"] = time.perf_counter() - began if await_copy else None
    warm, asked_from = min(20, len(texts) // 5), time.time()
    result |= measure(ask, texts[:-1], gold[:-1], warm=warm)
    result |= {"asked": warm + len(texts) - 1, "asked_from": asked_from, "asked_until": time.time()}
    result |= {"resident_gb": resident_gb(), "questions_gb": before, "info": index.info()["recall"]}
    if not more:
        return result
    batches = [texts[i : i + 4] for i in range(0, len(texts) - 3, 4)]
    result["batch_of_4"] = timed(lambda batch: index.search(batch, limit=POOL), batches)["p50"]
    result["recall"] = recall_at_10(index, texts, nearest[""])
    reader = index.reader()
    result["vector"] = timed(lambda vector: reader.nearest(vector[None], POOL), list(vectors))
    result["words"] = timed(lambda text: reader.match(text, POOL), texts)
    rag = AdaptiveRAG(Index.open(uri or folder / "kb", ReadyMade(known, embeds=True), copies))
    asked = texts[: max(2, questions // 5)]
    rag.invoke({"question": texts[-1]})
    result["whole"] = timed(lambda text: rag.invoke({"question": text}), asked)
    result["whole_gb"] = resident_gb()
    return result


def ask_filtered(folder: Path, questions: int) -> Found:
    """Ask with a condition and without, in turn; the ratio is that of the medians."""
    texts, vectors, _, nearest = stored_questions(folder, questions)
    index = Index.open(folder / "kb", ReadyMade(dict(zip(texts, vectors, strict=True))))
    for text in texts[:10]:
        index.search([text], limit=POOL)
    found: Found = {}
    for condition, share in CONDITIONS.items():
        narrowed = index.where(read_where(condition))
        # the first search reads what the condition names
        first = timed(lambda text: narrowed.search([text], limit=POOL), texts[:1])["p50"]  # noqa: B023
        times: dict[str, list[float]] = {"whole": [], "narrowed": []}
        used: dict[str, list[float]] = {"whole": [], "narrowed": []}
        shared = []
        for number, (text, truth) in enumerate(zip(texts, nearest[condition], strict=True)):
            sides = [("whole", index), ("narrowed", narrowed)]
            # who comes second finds the processor's caches as the first one left them
            for name, side in sides if number % 2 else sides[::-1]:
                began, processor = time.perf_counter(), time.process_time()
                [hits] = side.search([text], limit=POOL)
                times[name].append(1000 * (time.perf_counter() - began))
                used[name].append(1000 * (time.process_time() - processor))
                if name == "narrowed":
                    hits.sort(key=lambda candidate: -candidate["scores"]["dense"])
                    shared.append(len({hit["id"] for hit in hits[:TOP]} & truth) / len(truth))
        p50, p95 = np.percentile(times["narrowed"], (50, 95))
        whole, whole_p95 = np.percentile(times["whole"], (50, 95))
        found[condition] = {
            "share": share,
            "first_ms": first,
            "p50": float(p50),
            "p95": float(p95),
            "ratio": float(p50 / whole),
            "ratio_p95": float(p95 / whole_p95),
            "cpu": float(np.median(used["narrowed"])),
            "ratio_cpu": float(np.median(used["narrowed"]) / np.median(used["whole"])),
            "recall": float(np.mean(shared)),
        }
    return {"filters": found, "resident_gb": resident_gb()}


def ask_while_added(folder: Path) -> Found:
    """Have another process add chunks to an index, and ask until an index that was open before finds them."""
    added = _added_documents()
    texts, vectors, _, _ = stored_questions(folder, 5)
    known = dict(zip([*texts, MARK], [*vectors, _added_vectors()[0]], strict=True))
    index = Index.open(folder / "kb", ReadyMade(known))
    for text in texts:
        index.search([text], limit=POOL)
    before = len(index)
    command = [sys.executable, "-m", "benchmarks.scale", "--ask", "writer", "--at", str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdout.readline()  # its imports are done, and its model is loaded
        began = time.perf_counter()
        writer.stdin.write("\n")
        writer.stdin.close()
        while True:
            [hits] = index.search([MARK], limit=POOL)
            if any(MARK in hit["text"] for hit in hits):
                break
            if writer.poll() is not None and len(index) == before:
                raise RuntimeError("The writer ended, and what it added is not found.")
            time.sleep(0.02)
        seen = time.perf_counter() - began
        report = json.loads(writer.stdout.read().splitlines()[-1])
    return {"added": len(added), "found_s": seen, **report}


def add_chunks(folder: Path) -> Found:
    """Add chunks to an index as a program does, but for embedding: all vectors are ready made."""
    documents = _added_documents()
    known = dict(zip([d.page_content for d in documents], _added_vectors(), strict=True))
    model = ReadyMade(known | {"dimension": known[documents[0].page_content]})
    # each chunk is one sentence
    vectorize.load_minilm = lambda: model  # type: ignore[assignment, return-value]
    print("ready", flush=True)
    sys.stdin.readline()
    processor = time.process_time()
    report = Index.build(documents, folder / "kb", embeddings=model, prune=False)
    used = time.process_time() - processor
    return {"chunks": report.chunks, "write_s": report.seconds, "processor_s": used}


def _added_documents() -> list[Any]:
    from langchain_core.documents import Document

    draw = np.random.default_rng(7)
    words = [f"qnew{number}" for number in range(5000)]
    return [
        Document(
            f"{MARK} " + " ".join(words[i] for i in draw.zipf(1.3, 80) % len(words)),
            metadata={"source": f"added-{number}.txt"},
        )
        for number in range(ADDED)
    ]


def _added_vectors() -> Array:
    return unit(np.random.default_rng(8).normal(size=(ADDED, DIMENSION)))


def recall_at_10(index: Index, texts: Sequence[str], nearest: Sequence[set[str]]) -> float:
    """Return the share of the truly nearest chunks that lead the candidates of a search by vector."""
    shared = []
    for text, truth in zip(texts, nearest, strict=True):
        [found] = index.search([text], limit=POOL)
        found.sort(key=lambda candidate: -candidate["scores"]["dense"])
        shared.append(len({candidate["id"] for candidate in found[:TOP]} & truth) / len(truth))
    return float(np.mean(shared))


def ask_langchain(corpus: Corpus, folder: Path, questions: int) -> Found:
    """Ask LangChain's EnsembleRetriever over BM25Retriever (rank_bm25) and FAISS.

    BM25Retriever splits at spaces unless it is told otherwise; lower-cased words without punctuation find
    more of public questions (nDCG@10 .71 instead of .63 at 10,000 chunks), so that is what it is told.
    """
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS
    from langchain_core.documents import Document

    texts, vectors, gold, _ = stored_questions(folder, questions)
    known = dict(zip(texts, vectors, strict=True))
    began = time.perf_counter()
    documents: list[Document] = []
    pairs: list[tuple[str, list[float]]] = []
    for passages, rows in corpus.slices():
        pairs += zip(passages, rows.tolist(), strict=True)
        first = len(documents)
        documents += [
            Document(page_content=text, metadata={"id": id_of(first + i)}) for i, text in enumerate(passages)
        ]
    store = FAISS.from_embeddings(pairs, ReadyMade(known), metadatas=[d.metadata for d in documents])
    by_words = BM25Retriever.from_documents(
        documents, k=POOL, preprocess_func=lambda text: re.findall(r"\w+", text.lower())
    )
    by_vector = store.as_retriever(search_kwargs={"k": POOL})
    hybrid = EnsembleRetriever(retrievers=[by_words, by_vector], weights=[0.5, 0.5], id_key="id")
    made_s = time.perf_counter() - began
    result = measure(lambda text: [d.metadata["id"] for d in hybrid.invoke(text)], texts, gold, warm=1)
    return result | {"resident_gb": resident_gb(), "made_s": made_s}


def ask_lancedb(corpus: Corpus, folder: Path, questions: int) -> Found:
    """Ask LanceDB's own hybrid search, with the default indexes and reranker, as its documentation shows."""
    import lancedb
    import pyarrow as pa

    texts, vectors, gold, nearest = stored_questions(folder, questions)
    known = dict(zip(texts, vectors, strict=True))
    database = lancedb.connect(folder / "plain")
    result: Found = {}
    if "chunks" not in database.table_names():
        began, number = time.perf_counter(), 0
        shape = pa.schema(
            [("id", pa.string()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), vectors.shape[1]))]
        )
        table = database.create_table("chunks", schema=shape, mode="overwrite")
        for passages, rows in corpus.slices():
            ids = [id_of(number + i) for i in range(len(passages))]
            flat = pa.array(rows.astype(np.float32).ravel())
            held = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
            table.add(pa.table({"id": ids, "text": passages, "vector": held}, schema=shape))
            number += len(passages)
        table.create_fts_index("text")
        table.create_index(metric="cosine", vector_column_name="vector")
        result["made_s"] = time.perf_counter() - began
    table = database.open_table("chunks")

    def by_vector(text: str) -> list[str]:
        return [row["id"] for row in table.search(known[text]).limit(TOP).to_list()]

    def ask(text: str) -> list[str]:
        query = table.search(query_type="hybrid").vector(known[text]).text(text).limit(POOL)
        return [row["id"] for row in query.to_list()]

    result |= measure(ask, texts, gold, warm=min(10, len(texts) // 5))
    shared = [len(set(by_vector(text)) & truth) / TOP for text, truth in zip(texts, nearest[""], strict=True)]
    return result | {"resident_gb": resident_gb(), "recall": float(np.mean(shared))}


def stored_questions(
    folder: Path, count: int
) -> tuple[list[str], Array, list[dict[str, int]], dict[str, list[set[str]]]]:
    """Return of the first questions: texts, vectors, grades by id, and the nearest ids for each condition."""
    stored = np.load(folder / "questions.npz")
    gold = [{id_of(number): grade for number, grade in grades} for grades in json.loads(str(stored["gold"]))]
    rows = {"": stored["nearest"]} | {name: stored[name] for name in CONDITIONS if name in stored}
    nearest = {
        name: [{id_of(number) for number in row} for row in each[:count].tolist()]
        for name, each in rows.items()
    }
    return stored["texts"][:count].tolist(), stored["vectors"][:count], gold[:count], nearest


def id_of(number: int) -> str:
    """Return the id of a chunk by its number."""
    return f"{number:016x}"


def resident_gb() -> float:
    """Return the peak resident memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would count what the parent held when it made this process
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 2**20
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**30 if sys.platform == "darwin" else 2**20)
