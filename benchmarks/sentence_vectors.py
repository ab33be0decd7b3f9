"""Measures the vectors of sentences: none, embedded apart, or pooled from the run of their chunk.

    python -m benchmarks.sentence_vectors DATA/factual_squad DATA/mixed_mtrag

Of each data set a sample of the questions is asked by the default settings, of an index of the passages
judged for them filled up with others to `--passages`. The three indexes grow in turns of `--block` passages,
so that whatever else the machine does falls on all alike. Prints nDCG@10 (and the share of aspects, where
the data know them), what pooled differs from apart by, with its 95 % interval and the p of a paired
permutation test, and the processor time of indexing over that of the index without. An index without
sentence vectors embeds the sentences of a question's first 20 candidates when it is asked.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from langchain_core.documents import Document

from adaptive_rag.context import make_context
from adaptive_rag.evaluation.corpora import WHOLE_PASSAGE, as_documents
from adaptive_rag.evaluation.datasets import Dataset, limited, load_dataset
from adaptive_rag.evaluation.metrics import ranked_ids, score_ranking
from adaptive_rag.evaluation.statistics import compare_all
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.index import Index
from adaptive_rag.source import SentenceVectors

WAYS: tuple[SentenceVectors, ...] = get_args(SentenceVectors)
METRICS = ("ndcg@10", "aspects@10")


def cut(dataset: Dataset, questions: int, passages: int) -> Dataset:
    """Keep a sample of the questions, the passages that are judged for them, and others drawn by chance."""
    asked = limited(dataset, questions, 0)
    judged = {name for question in asked.questions for name in (*question.gold, *question.aspects)}
    others = [passage["id"] for passage in dataset.passages if passage["id"] not in judged]
    drawn = random.Random(0).sample(others, min(len(others), max(0, passages - len(judged))))
    kept = judged.union(drawn)
    return replace(asked, passages=tuple(passage for passage in dataset.passages if passage["id"] in kept))


def build(dataset: Dataset, folder: Path, block: int) -> Counter[str]:
    """Build an index in each way, in turns, and return the processor time that each took, in seconds."""
    documents, spent = as_documents(dataset.passages), Counter[str]()
    for number, start in enumerate(range(0, len(documents), block)):
        # who is first in a turn is last in the next
        for way in WAYS if number % 2 else reversed(WAYS):
            before = time.process_time()
            Index.build(
                documents[start : start + block],
                folder / way,
                chunk_size=WHOLE_PASSAGE,
                chunk_overlap=0,
                sentence_vectors=way,
            )
            spent[way] += time.process_time() - before
    return spent


def ask(dataset: Dataset, index: Index, graph: Any) -> dict[str, list[float]]:
    """Return the scores of every question, by metric."""
    context, found = make_context(index=index, k=10), defaultdict[str, list[float]](list)
    for question in dataset.questions:
        state = {
            "question": question.text,
            "user_context": question.user_context,
            "history": list(question.history),
        }
        ranking = ranked_ids(graph.invoke(state, context=context)["documents"])
        scores = score_ranking(question, ranking, 10)
        for metric in METRICS:
            if metric in scores:
                found[metric].append(scores[metric])
    return found


def measure(dataset: Dataset, folder: Path, block: int, graph: Any) -> list[str]:
    """Index and ask a data set in all ways, and return a row for each metric."""
    spent = build(dataset, folder, block)
    scores = {way: ask(dataset, Index.open(folder / way), graph) for way in WAYS}
    times = [f"{spent[way] / spent['none']:.2f}" for way in ("apart", "pooled")]
    rows = []
    for metric in scores["apart"]:
        values = {way: scores[way][metric] for way in WAYS}
        [by] = compare_all([(values["pooled"], values["apart"])])
        means = [f"{np.mean(values[way]):.3f}" for way in ("none", "apart", "pooled")]
        difference = f"{by.mean:+.3f} [{by.low:+.3f}, {by.high:+.3f}]"
        cells = [f"{by.n}", f"{len(dataset.passages):,}", *means, difference, f"{by.p:.3f}", *times]
        rows.append(f"| {dataset.name}, {metric} | " + " | ".join(cells) + " |")
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="+", help="folders of data sets")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--passages", type=int, default=1000)
    parser.add_argument("--block", type=int, default=250)
    asked = parser.parse_args(arguments)
    graph = build_retrieval_graph().compile()
    with tempfile.TemporaryDirectory() as folder:  # what is loaded once is loaded before the clock starts
        Index.build(Document("The first run loads the model and the store."), Path(folder) / "kb")
    columns = ("data", "n", "passages", "none", "apart", "pooled", "pooled - apart", "p")
    columns += ("time, apart", "time, pooled")
    sys.stdout.write(f"| {' | '.join(columns)} |\n|---|{'--:|' * (len(columns) - 1)}\n")
    for path in asked.data:
        dataset = cut(load_dataset(path), asked.questions, asked.passages)
        with tempfile.TemporaryDirectory() as folder:
            for row in measure(dataset, Path(folder), asked.block, graph):
                sys.stdout.write(f"{row}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
