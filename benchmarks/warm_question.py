"""Measure how long a question on a large, warm index takes, and the share of the graph itself.

    python benchmarks/warm_question.py [--chunks 10000] [--questions 60]

A chunk of the corpus consists of seven random sentences of the sample documents; its vector is the mean of
theirs. The index is written as a build writes it. Each question is new to the process and is embedded within
the measured time; there is no chat model. The script prints the median over all questions and whether it
meets the goal, the medians of each type and of each step, and the processor time. The time of the graph
itself is the total without that of its steps; of parallel steps, only the longest counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import Manifest, Settings
from adaptive_rag.index.table import TableRow, TableWriter, pack_sentences
from adaptive_rag.ingest import discover, extract_text
from adaptive_rag.models.onnx import MINILM, load_minilm
from adaptive_rag.samples import questions_path, samples_path
from adaptive_rag.source import Sentences
from adaptive_rag.state import Chunk, TraceRecord
from adaptive_rag.text.sentences import sentence_spans

SENTENCES_PER_CHUNK, ROWS_PER_WRITE = 7, 2000
GOAL_MS = 120


def make_index(folder: Path, size: int) -> None:
    """Write an index with `size` chunks."""
    texts = [extract_text(file.path).text for file in discover(samples_path())]
    sentences = [" ".join(text[start:end].split()) for text in texts for start, end in sentence_spans(text)]
    sentences = list(dict.fromkeys(sentence for sentence in sentences if len(sentence) > 20))
    model = load_minilm()
    vectors = model.encode(sentences)
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    location = open_location(folder)
    manifest = Manifest(Settings(embeddings=MINILM, dimension=model.dimension), "chunks-1").publish(location)
    writer = TableWriter(location.uri, "chunks-1", None, model.dimension)
    rows = []
    for number in range(size):
        chosen = rng.choice(len(sentences), SENTENCES_PER_CHUNK, replace=False)
        rows.append(_make_row(number, [sentences[i] for i in chosen], vectors[chosen]))
        if len(rows) == ROWS_PER_WRITE or number == size - 1:
            writer.add(rows)
            rows = []
    writer.index_words()
    writer.optimize(keep_since=time.time())
    recall = writer.index_vectors()
    Manifest(
        manifest.settings, "chunks-1", writer.version, size, recall=recall, generation=manifest.generation
    ).publish(location)


def _make_row(number: int, sentences: Sequence[str], vectors: Any) -> TableRow:
    ends = np.cumsum([len(sentence) + 1 for sentence in sentences])
    spans = [
        (int(end) - 1 - len(sentence), int(end) - 1) for end, sentence in zip(ends, sentences, strict=True)
    ]
    text = " ".join(sentences)
    chunk = Chunk(
        id=f"chunk-{number}",
        source=f"made-{number // 100}.txt",
        page=None,
        section=None,
        start=0,
        end=len(text),
        text=text,
        metadata={},
    )
    mean = vectors.mean(axis=0)
    packed = pack_sentences(Sentences(np.array(spans), vectors))
    return TableRow(chunk, "doc", mean / np.linalg.norm(mean), None, *packed)


def critical_path(trace: Sequence[TraceRecord]) -> float:
    """Return the milliseconds of all steps, where only the longest of the parallel searches counts."""
    searches = [record["ms"] for record in trace if record["step"] == "retrieve"]
    return sum(record["ms"] for record in trace if record["step"] != "retrieve") + max(searches, default=0)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=60)
    arguments = parser.parse_args()
    lines = questions_path().read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        make_index(Path(folder) / "kb", arguments.chunks)
        rag = AdaptiveRAG(Path(folder) / "kb")
        total, processor, graph = [], [], []
        steps, types = defaultdict(list), defaultdict(list)
        for number, question in enumerate(questions[: arguments.questions + 5]):
            state = {"question": question["question"], "user_context": question.get("user_context") or ""}
            started, processor_started = time.perf_counter(), time.process_time()
            output = rag.invoke(state)
            elapsed = 1000 * (time.perf_counter() - started)
            processor_elapsed = 1000 * (time.process_time() - processor_started)
            if number < 5:  # these only warm the index and the model
                continue
            total.append(elapsed)
            processor.append(processor_elapsed)
            is_hedged = bool(output["analysis"]["alternatives"])
            types["two at once" if is_hedged else output["query_type"]].append(elapsed)
            for record in output["trace"]:
                steps[record["step"]].append(record["ms"])
            # The steps of two strategies that run in parallel overlap, so the rest is not the graph's time.
            if not is_hedged:
                graph.append(elapsed - critical_path(output["trace"]))
    print(f"{len(total)} questions on {arguments.chunks:,} chunks, milliseconds")
    parts = {"a question": total, "processor": processor, **types, "the graph": graph, **steps}
    for name, times in parts.items():
        print(
            f"{name:14} n {len(times):3}   median {statistics.median(times):6.1f}   "
            f"p95 {np.percentile(times, 95):6.1f}"
        )
    median = statistics.median(total)
    verdict = "meets" if median <= GOAL_MS else "misses"
    print(f"median of all types {median:.1f} ms; {verdict} the goal of {GOAL_MS} ms")


if __name__ == "__main__":
    main()
